"""Memory that is returned to the operating system, in processes of their own."""

from __future__ import annotations

import ctypes
import subprocess
import sys

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
    and neither does one of memory in use. What is freed afterwards is returned as well, though the process has not grown."""
    program = """
calls = []
free = memory.FreeMemory(calls.append)
free.check()
filled = blocks(20_000, 100_000_000)
later = blocks(20_000, 100_000_000)
full = memory.resident_memory()
free.check()
print(len(calls))
del filled
free.check()
free.check()
print(len(calls))
calls.pop()()
print(full - memory.resident_memory())
free.check()
print(len(calls))
del later
free.check()
print(len(calls))
"""
    in_use, much_free, returned, again, more = _run(program)
    assert (in_use, much_free, again, more) == (0, 1, 0, 1)
    assert returned > 60_000_000


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the GNU C library, or where a process cannot read its memory, nothing is done."""
    from orchd.txkit import memory

    free = memory.FreeMemory(lambda function: pytest.fail("called"))
    monkeypatch.setattr(memory, "resident_memory", _fail)
    free.check()
    monkeypatch.setattr(memory, "_libc", None)
    free.check()
    assert not memory.release_free_memory()


def _fail() -> int:
    raise OSError("no such file")
