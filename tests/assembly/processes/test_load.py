"""Connections are divided among processes by their numbers."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock

from orchd.assembly.processes.load import FairPort, Load


class Port:
    """A listening port with connections to accept."""

    def __init__(self) -> None:
        self.connected = True
        self.reading = True
        self.accepted = 0
        self.closed: list[Any] = []

    def doRead(self) -> None:
        self.accepted += 1

    def connectionLost(self, reason: Any) -> None:
        self.connected = False
        self.closed.append(reason)

    def stopReading(self) -> None:
        self.reading = False

    def startReading(self) -> None:
        self.reading = True


def fair(load: Load, process: int, connections: int, clock: Clock) -> tuple[Any, FairPort]:
    """The port of a process with so many connections."""
    port: Any = Port()
    fair_port = FairPort(port, load, process, clock)
    fair_port.changed(connections)
    return port, fair_port


def test_connection_is_left_to_a_process_with_fewer() -> None:
    """A process with more connections than another waits, and then accepts what the other has left."""
    clock, load = Clock(), Load.of(3)
    one, one_fair = fair(load, 1, 2, clock)
    two, _ = fair(load, 2, 1, clock)
    two.doRead()
    one.doRead()
    assert (one.accepted, two.accepted) == (0, 1)
    assert not one.reading
    clock.advance(0.005)
    assert one.reading
    one.doRead()
    assert one.accepted == 1
    clock.advance(0.006)
    one.doRead()
    assert one.accepted == 1
    clock.advance(0.005)
    one_fair.changed(-1)
    clock.advance(0.006)
    one.doRead()
    assert one.accepted == 2


def test_processes_that_do_not_accept_do_not_count() -> None:
    """A process that has not begun, or has closed its port, gets no connections."""
    clock, load = Clock(), Load.of(2)
    one, _ = fair(load, 1, 5, clock)
    one.doRead()
    assert one.accepted == 1
    two, two_fair = fair(load, 2, 0, clock)
    one.doRead()
    assert one.accepted == 1
    two.connectionLost("closed")
    two_fair.changed(1)
    assert two.closed == ["closed"]
    clock.advance(0.02)
    one.doRead()
    assert one.accepted == 2


def test_closed_port_does_not_read_again() -> None:
    """A port that is closed while it waits stays closed."""
    clock, load = Clock(), Load.of(2)
    one, _ = fair(load, 1, 1, clock)
    fair(load, 2, 0, clock)
    one.doRead()
    one.connectionLost("closed")
    clock.advance(0.005)
    assert not one.reading
