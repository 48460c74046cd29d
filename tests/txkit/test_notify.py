"""Notifications of the service manager."""

from __future__ import annotations

import socket
from pathlib import Path

from twisted.internet.task import Clock

from orchd.txkit.notify import Notifier


def test_watchdog_messages_come_twice_per_interval() -> None:
    """Watchdog messages are sent while the reactor runs, twice per interval of the manager."""
    clock, sent = Clock(), list[bytes]()
    notifier = Notifier(clock, sent.append, watchdog=10)
    notifier.startService()
    clock.pump([5, 5])
    assert sent == [b"WATCHDOG=1"] * 3


def test_ready_and_stopping_are_sent_once() -> None:
    """READY carries a status line; STOPPING is sent at the begin of the stop, and watchdog messages continue."""
    clock, sent = Clock(), list[bytes]()
    notifier = Notifier(clock, sent.append, watchdog=10)
    notifier.ready("serving at x")
    assert sent == [b"READY=1\nSTATUS=serving at x"]
    notifier.startService()
    notifier.stopService()
    clock.advance(5)
    assert sent[1:] == [b"WATCHDOG=1", b"STOPPING=1", b"WATCHDOG=1"]


def test_without_a_manager_nothing_is_sent() -> None:
    """Without a socket in the environment there are no datagrams and no delayed calls."""
    clock = Clock()
    notifier = Notifier.from_environment(clock, {"WATCHDOG_USEC": "1000000"}, 7)
    notifier.startService()
    notifier.ready("x")
    notifier.stopService()
    assert not clock.getDelayedCalls()


def test_watchdog_of_another_process_is_ignored() -> None:
    """A WATCHDOG_PID of another process disables the watchdog; the variables are removed from the environment."""
    clock = Clock()
    environment = {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "8", "HOME": "/"}
    Notifier.from_environment(clock, environment, 7).startService()
    assert not clock.getDelayedCalls()
    assert environment == {"HOME": "/"}


def test_messages_are_datagrams(tmp_path: Path) -> None:
    """Messages are datagrams on the socket of the environment; a missing socket is not an error."""
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        notifier = Notifier.from_environment(Clock(), {"NOTIFY_SOCKET": str(path)}, 7)
        notifier.ready("x")
        assert manager.recv(100) == b"READY=1\nSTATUS=x"
    path.unlink()
    notifier.stopService()
