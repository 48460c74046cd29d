"""One run of a serving process as its owner sees it."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.assembly.processes.running import Running


class Reactor(Clock):
    """Keeps the connections that it adopts."""

    def __init__(self) -> None:
        super().__init__()
        self.adopted: list[socket.socket] = []
        self.protocols: list[Any] = []

    def adoptStreamConnection(self, descriptor: int, family: int, factory: Any) -> None:
        self.adopted.append(socket.socket(fileno=socket.dup(descriptor)))
        self.protocols.append(factory.buildProtocol(None))


class SilentTemplate:
    """Takes requests, which have no effect."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.requests: list[tuple[int, int, int]] = []
        self.drops = 0
        self._refuses = refuses

    def fork(self, number: int, calls: socket.socket, log: socket.socket) -> None:
        if self._refuses:
            raise OSError("no more processes")
        self.requests.append((number, socket.dup(calls.fileno()), socket.dup(log.fileno())))

    def drop(self) -> None:
        self.drops += 1
        for _, *descriptors in self.requests:
            for each in descriptors:
                socket.close(each)
        self.requests.clear()


def test_fork_that_does_not_begin_drops_the_template() -> None:
    """A template that does not fork in time is ended, which ends the run."""
    reactor, template = Reactor(), SilentTemplate()
    ended: list[str] = []
    running = Running("3", {}, reactor, ended.append)
    running.start(template, reactor)  # type: ignore[arg-type]  # has what is called
    assert [number for number, *_ in template.requests] == [3]
    reactor.advance(119)
    assert template.drops == 0
    reactor.advance(1)
    assert template.drops == 1
    for connection, protocol in zip(reactor.adopted, reactor.protocols, strict=True):
        assert connection.recv(1) == b""
        assert ended == []
        protocol.connectionLost()
        connection.close()
    assert ended == ["has ended"]
    assert reactor.getDelayedCalls() == []


def test_refused_fork_leaves_nothing_open() -> None:
    """When a fork cannot be asked for, the caller learns it, and nothing is left of the run."""
    reactor = Reactor()
    ended: list[str] = []
    running = Running("1", {}, reactor, ended.append)
    with pytest.raises(OSError, match="no more processes"):
        running.start(SilentTemplate(refuses=True), reactor)  # type: ignore[arg-type]  # has what is called
    assert (ended, reactor.adopted, reactor.getDelayedCalls()) == ([], [], [])
