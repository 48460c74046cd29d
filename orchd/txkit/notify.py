"""What a service manager is told: readiness, the end, and that the reactor still turns.

The protocol of sd_notify(3): datagrams of ``NAME=value`` lines to the socket that the environment names.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, MutableMapping
from typing import Any

from twisted.application.service import Service
from twisted.internet.task import LoopingCall
from twisted.logger import Logger


class Notifier(Service):
    """Tells the service manager; every call does nothing when there is none.

    `send` takes one datagram. `watchdog` is how long, in seconds, the manager waits for a sign of life before it ends
    the process; signs are sent at half of that, from the reactor, so that a reactor that hangs sends none.
    """

    _log = Logger()

    def __init__(self, clock: Any, send: Callable[[bytes], object] | None, *, watchdog: float | None = None) -> None:
        self._send = send
        self._every = None if watchdog is None or send is None else watchdog / 2
        self._alive = LoopingCall(self._tell, "WATCHDOG=1")
        self._alive.clock = clock

    @classmethod
    def from_environment(cls, clock: Any, environment: MutableMapping[str, str], pid: int) -> Notifier:
        """Take the manager's variables out of `environment`: they are for this process, not for its children."""
        address = environment.pop("NOTIFY_SOCKET", "")
        microseconds = environment.pop("WATCHDOG_USEC", "")
        owner = environment.pop("WATCHDOG_PID", str(pid))
        watchdog = int(microseconds) / 1e6 if microseconds.isdigit() and owner == str(pid) else None
        return cls(clock, _datagrams(address) if address else None, watchdog=watchdog or None)

    def startService(self) -> None:
        """Begin with the signs of life."""
        Service.startService(self)
        if self._every is not None:
            self._alive.start(self._every)

    def ready(self, status: str) -> None:
        """The service is up; `status` is one line for people."""
        self._tell(f"READY=1\nSTATUS={status}")

    def stopService(self) -> None:
        """Say that the end has begun. Signs of life go on, since what takes long at the end must not be shot."""
        Service.stopService(self)
        self._tell("STOPPING=1")

    def _tell(self, text: str) -> None:
        if self._send is None:
            return
        try:
            self._send(text.encode())
        except OSError as error:
            # A manager that is away, or busy, is no reason to end; without signs of life it will say so itself.
            self._log.warn("the service manager was not told {text!r}: {error}", text=text, error=error)


def _datagrams(address: str) -> Callable[[bytes], object]:
    """A function that sends to a Unix datagram socket; ``@`` begins a name in the abstract namespace."""
    target = "\0" + address[1:] if address.startswith("@") else address

    def send(data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)
            sender.sendto(data, target)

    return send
