"""The user's terminal: standard input in pieces, raw mode, and the size of the window."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from twisted.internet.defer import Deferred

_PIECE = 32 * 1024


def read_input(reactor: Any) -> Deferred[bytes]:
    """The next piece of standard input, b"" at its end. It is read in a thread that does not keep the program from
    ending."""
    done: Deferred[bytes] = Deferred()
    descriptor = sys.stdin.fileno()

    def read() -> None:
        try:
            data = os.read(descriptor, _PIECE)
        except OSError:
            data = b""
        reactor.callFromThread(done.callback, data)

    threading.Thread(target=read, daemon=True, name="standard input").start()
    return done


def is_terminal() -> bool:
    """True if standard input and output are terminals."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@contextmanager
def raw_mode() -> Iterator[None]:
    """Put the terminal into raw mode until the end of the block: every key is passed on as it is pressed."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def watched_size(reactor: Any, changed: Callable[[int, int], object]) -> Iterator[None]:
    """Tell of the window's columns and rows, now and whenever they change, until the end of the block."""

    def tell() -> None:
        size = os.get_terminal_size(sys.stdout.fileno())
        changed(size.columns, size.lines)

    before = signal.signal(signal.SIGWINCH, lambda *_: reactor.callFromThread(tell))
    try:
        tell()
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
