"""Memory that is returned to the operating system, in processes of their own."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs the GNU C library")

#: Defines `blocks(size, total)`: memory of that size in blocks, between which others are in use.
_BLOCKS = """
from orchd.txkit import memory
kept = []
def blocks(size, total):
    filled = []
    for _ in range(total // size):
        filled.append(b"x" * size)
        kept.append(bytes(1000))
    return filled
"""


def _run(program: str) -> list[int]:
    result = subprocess.run([sys.executable, "-c", _BLOCKS + program], capture_output=True, text=True, check=True)
    return [int(word) for word in result.stdout.split()]


def test_free_memory_is_returned_when_there_is_much() -> None:
    """Small blocks are returned, in another thread, once the process has grown by them; a second check does nothing,
    and neither does one of memory in use. What is freed afterwards is returned as well, though the process has not
    grown."""
    program = """
calls = []
free = memory.FreeMemory(calls.append)
free.check()
calls.pop()()
filled = blocks(20_000, 100_000_000)
later = blocks(20_000, 100_000_000)
def returned():
    before = memory.resident_memory()
    free.check()
    free.check()
    (look,) = calls
    calls.clear()
    unchanged = memory.resident_memory()
    look()
    print(before - unchanged, before - memory.resident_memory())
returned()
del filled
returned()
returned()
del later
returned()
"""
    at_once, in_use, at_once_2, much_free, at_once_3, again, at_once_4, more = _run(program)
    assert max(at_once, at_once_2, at_once_3, at_once_4, in_use, again) < 1_000_000
    assert min(much_free, more) > 60_000_000


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the GNU C library, or where a process cannot read its memory, nothing is done."""
    from orchd.txkit import memory

    looks: list[Callable[[], None]] = []
    free = memory.FreeMemory(looks.append)
    monkeypatch.setattr(memory, "resident_memory", _fail)
    for _ in range(2):
        free.check()
        looks.pop()()
    monkeypatch.setattr(memory, "_libc", None)
    free.check()
    assert not looks
    assert not memory.release_free_memory()


def _fail() -> int:
    raise OSError("no such file")
