"""Connections are divided among processes by their numbers."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock

from orchd.assembly.processes.load import FairPort, Load
from orchd.txkit.turns import shared_budget


class Port:
    """A listening port with `waiting` connections to accept."""

    def __init__(self) -> None:
        self.connected = True
        self.reading = True
        self.numberAccepts = 1
        self.waiting = self.accepted = 0
        self.closed: list[Any] = []

    def doRead(self) -> None:
        accepted = min(self.waiting, self.numberAccepts)
        self.accepted += accepted
        self.waiting -= accepted
        # As Twisted's, which takes more after a turn that was full.
        self.numberAccepts += 20

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


def arrive(*ports: Any) -> None:
    """A connection arrives, of which each of the processes learns."""
    for port in ports:
        port.waiting = 1
    for port in ports:
        if port.reading:
            port.doRead()
        if port.waiting == 0:
            for other in ports:
                other.waiting = 0


def test_connection_is_left_to_a_process_with_fewer() -> None:
    """A process with more connections than another takes none that the other takes."""
    clock, load = Clock(), Load.of(3)
    one, one_fair = fair(load, 1, 2, clock)
    two, _ = fair(load, 2, 1, clock)
    arrive(one, two)
    assert (one.accepted, two.accepted) == (0, 1)
    assert not one.reading
    clock.advance(0.02)
    assert one.reading
    one_fair.changed(-1)
    arrive(one, two)
    assert (one.accepted, two.accepted) == (1, 1)


def test_connection_that_the_others_leave_is_accepted_after_a_while() -> None:
    """It waits for 20 ms, and so does the one after it."""
    clock, load = Clock(), Load.of(2)
    one, _ = fair(load, 1, 2, clock)
    fair(load, 2, 1, clock)
    for accepted in (1, 2):
        arrive(one)
        clock.advance(0.0199)
        assert (one.accepted, one.reading) == (accepted - 1, False)
        clock.advance(0.0002)
        assert (one.accepted, one.reading) == (accepted, True)


def test_owner_takes_a_connection_when_another_process_has_two() -> None:
    """The work of the owner counts as two connections."""
    clock, load = Clock(), Load.of(1)
    owner, _ = fair(load, 0, 0, clock)
    other, other_fair = fair(load, 1, 0, clock)
    for connections in (0, 1):
        arrive(owner)
        assert (owner.accepted, owner.reading) == (0, False), connections
        owner.waiting = 0
        clock.advance(0.02)
        other_fair.changed(1)
    arrive(owner)
    assert (owner.accepted, other.accepted) == (1, 0)


def test_owner_serves_a_third_of_the_connections_beside_one_process() -> None:
    """Each connection of the owner counts as two."""
    clock, load = Clock(), Load.of(1)
    owner, owner_fair = fair(load, 0, 0, clock)
    other, other_fair = fair(load, 1, 0, clock)
    for _ in range(30):
        before = owner.accepted
        arrive(other, owner)
        (owner_fair if owner.accepted > before else other_fair).changed(1)
        clock.advance(0.02)
    assert (owner.accepted, other.accepted) == (9, 21)


def test_process_with_work_of_its_own_leaves_connections_to_others() -> None:
    """One whose controllers take more than a quarter of a second takes none, however few it has, until they take less."""
    clock, others, load = Clock(), Clock(), Load.of(2)
    busy, _ = fair(load, 1, 0, clock)
    other, _ = fair(load, 2, 5, others)
    for more, accepted in ((0.24, (1, 0)), (0.26, (1, 1)), (0.24, (2, 1))):
        shared_budget(clock).worked += more
        clock.advance(1)
        others.advance(1)
        arrive(busy, other)
        assert (busy.accepted, other.accepted) == accepted, more
        busy.waiting = other.waiting = 0


def test_busy_processes_share_connections_by_their_numbers() -> None:
    """If all are busy, the one with fewer connections takes the next."""
    clock, load = Clock(), Load.of(2)
    one, one_fair = fair(load, 1, 1, clock)
    two, _ = fair(load, 2, 2, clock)
    shared_budget(clock).worked += 1
    clock.advance(1)
    arrive(two, one)
    assert (one.accepted, two.accepted) == (1, 0)
    one_fair.changed(2)
    clock.advance(0.02)
    arrive(one, two)
    assert (one.accepted, two.accepted) == (1, 1)


def test_turn_accepts_one_connection() -> None:
    """Of many that wait, each turn of the reactor takes one, so that other processes take theirs."""
    one, _ = fair(Load.of(1), 1, 0, Clock())
    one.waiting = 5
    for accepted in (1, 2, 3):
        one.doRead()
        assert one.accepted == accepted


def test_processes_that_do_not_accept_do_not_count() -> None:
    """A process that has not begun, or has closed its port, gets no connections."""
    clock, load = Clock(), Load.of(2)
    one, _ = fair(load, 1, 5, clock)
    arrive(one)
    assert one.accepted == 1
    two, two_fair = fair(load, 2, 0, clock)
    arrive(one)
    assert one.accepted == 1
    two.connectionLost("closed")
    two_fair.changed(1)
    assert two.closed == ["closed"]
    clock.advance(0.02)
    arrive(one)
    assert one.accepted == 3


def test_closed_port_does_not_read_again() -> None:
    """A port that is closed while it waits stays closed."""
    clock, load = Clock(), Load.of(2)
    one, _ = fair(load, 1, 1, clock)
    fair(load, 2, 0, clock)
    one.doRead()
    one.connectionLost("closed")
    clock.advance(1.02)
    assert not one.reading
    assert not load.is_least(1)
