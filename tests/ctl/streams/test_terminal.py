"""The user's terminal: raw mode, the size of its window, and input in pieces."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.ctl.streams import terminal


class Stream:
    """A standard stream with a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def fileno(self) -> int:
        return self.descriptor

    def isatty(self) -> bool:
        return os.isatty(self.descriptor)


class Reactor:
    """Keeps what other threads want to be run."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = SimpleQueue()

    def callFromThread(self, function: Callable[..., object], *arguments: Any) -> None:
        self.calls.put((function, arguments))

    def run_next(self) -> None:
        """Wait for a call and run it."""
        function, arguments = self.calls.get()
        function(*arguments)


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Standard input and output are a terminal; its descriptor."""
    other, own = os.openpty()
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stdin=Stream(own), stdout=Stream(own)))
    yield own
    os.close(other)
    os.close(own)


def _cooks(descriptor: int) -> bool:
    """True if the terminal echoes and hands on whole lines."""
    return bool(termios.tcgetattr(descriptor)[3] & (termios.ECHO | termios.ICANON))


def test_raw_mode_ends_with_the_block(tty: int) -> None:
    """Keys are passed on as they are pressed during the block; afterwards the terminal is as before, also after an
    error."""
    before = termios.tcgetattr(tty)
    with terminal.raw_mode():
        assert not _cooks(tty)
    assert _cooks(tty) and termios.tcgetattr(tty) == before
    with pytest.raises(KeyError), terminal.raw_mode():
        raise KeyError
    assert termios.tcgetattr(tty) == before


def test_size_of_the_window_is_told_now_and_when_it_changes(tty: int) -> None:
    """Columns and rows, until the end of the block."""

    def resize(columns: int, rows: int) -> None:
        fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    reactor, sizes = Reactor(), list[tuple[int, int]]()
    before = signal.getsignal(signal.SIGWINCH)
    resize(80, 24)
    with terminal.watched_size(reactor, lambda columns, rows: sizes.append((columns, rows))):
        assert sizes == [(80, 24)]
        resize(120, 40)
        signal.raise_signal(signal.SIGWINCH)
        reactor.run_next()
        assert sizes == [(80, 24), (120, 40)]
    assert signal.getsignal(signal.SIGWINCH) is before


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_terminal_is_both_input_and_output(tty: int, stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Input from, or output to a pipe is no terminal."""
    assert terminal.is_terminal()
    ends = os.pipe()
    streams = {"stdin": Stream(tty), "stdout": Stream(tty), stream: Stream(ends[0])}
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(**streams))
    assert not terminal.is_terminal()
    for end in ends:
        os.close(end)


def test_input_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece is what is there, at most 32 KiB; the end, and input that cannot be read, is an empty one."""
    out, into = os.pipe()
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stdin=Stream(out)))
    reactor, pieces = Reactor(), list[bytes]()

    def read() -> bytes:
        terminal.read_input(reactor).addCallback(pieces.append)
        reactor.run_next()
        return pieces[-1]

    os.write(into, b"a" * 40_000)
    assert read() == b"a" * 32 * 1024
    assert read() == b"a" * (40_000 - 32 * 1024)
    os.close(into)
    assert read() == b""
    os.close(out)
    assert read() == b""
