"""What the template of serving processes is told about its forks."""

from __future__ import annotations

import socket

from orchd.assembly.processes.forks import _forks
from orchd.assembly.processes.load import Load
from orchd.assembly.processes.template import NUMBER, Template


def test_killed_process_is_not_waited_for() -> None:
    """The connections of a fork that was killed no longer count: others accept what they left to it."""
    load = Load(2)
    load.set(1, 5)
    load.set(2, 0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(NUMBER.pack(2))
        ours.shutdown(socket.SHUT_WR)
        assert not load.is_least(1)
        assert _forks(theirs, load) is None
    assert load.is_least(1)


def test_template_is_told_of_ended_forks() -> None:
    """A running template gets the number; one that has ended, or never began, is not asked."""
    template = Template(None, None, 0)  # type: ignore[arg-type]  # starts nothing
    template.forget(2)
    ours, theirs = socket.socketpair()
    running = _Running(ours)
    template._running = running  # type: ignore[assignment]  # has what is called
    with theirs:
        template.forget(2)
        assert theirs.recv(16) == NUMBER.pack(2)
        running.ended = True
        template.forget(1)
        theirs.setblocking(False)
        ours.close()
        assert theirs.recv(16) == b""


class _Running:
    """A template process that takes requests at this socket."""

    def __init__(self, requests: socket.socket) -> None:
        self.requests = requests
        self.ended = False
