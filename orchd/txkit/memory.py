"""Returns free memory to the operating system."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

#: Bytes by which idle memory has grown, and that are free, when free memory is returned. A return takes some
#: 10 ms per 100 MB, during which other threads may wait for blocks.
_STEP: Final = 64 << 20
_RESIDENT: Final = Path("/proc/self/statm")


def _library() -> ctypes.CDLL | None:
    """The GNU C library, None if there is another."""
    try:
        library = ctypes.CDLL(None)
        library.mallinfo2.restype = _Usage
        if library.malloc_trim:
            return library
    except (OSError, AttributeError):
        pass
    return None


class _Usage(ctypes.Structure):
    """`struct mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    )


_libc = _library()


def release_free_memory() -> bool:
    """Return free pages of the C library's heap to the operating system. False if the C library does not support it.

    Takes some 10 ms per 100 MB.
    """
    if _libc is None:
        return False
    _libc.malloc_trim(0)
    return True


def resident_memory() -> int:
    """Resident bytes of this process. Raises OSError where the system does not tell."""
    return int(_RESIDENT.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class FreeMemory:
    """Returns free memory whenever the process has grown and much of it is free, which the C library keeps for later:
    the bytes of many bodies or responses.

    To have it map large blocks one by one, so that they are returned at once, makes each list cost half as much again.
    """

    def __init__(self, in_thread: Callable[[Callable[[], None]], object]) -> None:
        """`in_thread` calls a function in another thread."""
        self._in_thread = in_thread
        #: The least idle memory since the last return: resident without being a block in use. It includes what does not
        #: belong to the C library, such as small objects.
        self._least = 0
        self._running = False

    def check(self) -> None:
        """Return free memory in another thread if there is much. To be called every few seconds. Already to look for it
        takes 2 ms where a hundred thousand blocks are free."""
        if _libc is not None and not self._running:
            self._running = True
            self._in_thread(self._look)

    def _look(self) -> None:
        # A system that does not tell is asked again.
        with suppress(OSError):
            usage, idle = _idle_now()
            self._least = min(self._least or idle, idle)
            if idle - self._least >= _STEP and usage.fordblks >= _STEP:
                release_free_memory()
                _, self._least = _idle_now()
        self._running = False


def _idle_now() -> tuple[_Usage, int]:
    """What the C library says, and the resident bytes that are not in blocks in use. Raises OSError as
    `resident_memory`."""
    assert _libc is not None, "checked before"
    usage: _Usage = _libc.mallinfo2()
    return usage, resident_memory() - usage.uordblks - usage.hblkhd
