"""Notifications to the service manager: readiness, shutdown, watchdog.

Protocol of sd_notify(3): datagrams of ``NAME=value`` lines to the socket named in the environment.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, MutableMapping
from typing import Any

from twisted.application.service import Service
from twisted.internet.task import LoopingCall

from orchd.txkit.log import Logger


class Notifier(Service):
    """Notifies the service manager. Does nothing without one (`send` None).

    `send` takes one datagram. `watchdog` is the watchdog timeout of the manager in seconds, None to disable it:
    keep-alives are sent from the reactor at half of this interval, so that a blocked reactor is detected.
    """

    _log = Logger()

    def __init__(self, clock: Any, send: Callable[[bytes], object] | None, *, watchdog: float | None = None) -> None:
        self._send = send
        self._every = None if watchdog is None or send is None else watchdog / 2
        self._alive = LoopingCall(self._notify, "WATCHDOG=1")
        self._alive.clock = clock

    @classmethod
    def from_environment(cls, clock: Any, environment: MutableMapping[str, str], pid: int) -> Notifier:
        """Create a notifier from the manager's variables, and remove them from `environment`: children must not use
        them."""
        address = environment.pop("NOTIFY_SOCKET", "")
        microseconds = environment.pop("WATCHDOG_USEC", "")
        owner = environment.pop("WATCHDOG_PID", str(pid))
        watchdog = int(microseconds) / 1e6 if microseconds.isdigit() and owner == str(pid) else None
        return cls(clock, _datagrams(address) if address else None, watchdog=watchdog or None)

    def startService(self) -> None:
        """Start to send keep-alives."""
        Service.startService(self)
        if self._every is not None:
            self._alive.start(self._every)

    def ready(self, status: str) -> None:
        """Report that the service is ready. `status` is a human-readable line."""
        self._notify(f"READY=1\nSTATUS={status}")

    def stopService(self) -> None:
        """Report that shutdown has begun. Keep-alives continue, so that the manager does not kill a slow shutdown."""
        Service.stopService(self)
        self._notify("STOPPING=1")

    def _notify(self, text: str) -> None:
        if self._send is None:
            return
        try:
            self._send(text.encode())
        except OSError as error:
            # An absent or busy manager is not fatal; missing keep-alives make it act.
            self._log.warn("cannot notify the service manager of {text!r}: {error}", text=text, error=error)


def _datagrams(address: str) -> Callable[[bytes], object]:
    """A function that sends datagrams to a Unix socket. A leading ``@`` denotes the abstract namespace."""
    target = "\0" + address[1:] if address.startswith("@") else address

    def send(data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)
            sender.sendto(data, target)

    return send
