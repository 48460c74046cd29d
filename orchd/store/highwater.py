"""The high-water mark of a store: a small file beside it with the last acknowledged revision.

It is written after each commit and never synced. So it is never ahead of the store, and behind it only after a power
failure. A store that ends before it has lost acknowledged writes: its database is missing, empty or truncated, its
journal is missing or garbled, or an older copy was put in its place.
"""

from __future__ import annotations

import os
from contextlib import suppress
from zlib import crc32


def highwater_file(path: str) -> str:
    """The file for the store `path`. Its name differs from the database's, so that it is not deleted along with it."""
    return os.path.splitext(path)[0] + ".revision"


def read_highwater(path: str) -> int | None:
    """The last revision that the store `path` is known to have had. None without the file: the store is new, or from an
    older release; 0 when the file is unreadable."""
    try:
        with open(highwater_file(path), "rb") as file:
            data = file.read(64)
    except FileNotFoundError:
        return None
    except OSError:
        return 0
    revision, _, check = data.strip().partition(b" ")
    if revision.isdigit() and check == _check(revision):
        return int(revision)
    return 0


def _check(revision: bytes) -> bytes:
    return b"%08x" % crc32(revision)


class HighWater:
    """The file, open for writing. Raises OSError when it cannot be created."""

    def __init__(self, path: str) -> None:
        name = highwater_file(path)
        is_new = not os.path.exists(name)
        self._fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if is_new:
            folder = os.open(os.path.dirname(name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def write(self, revision: int) -> None:
        """Record that `revision` is durable. Failures are ignored: the mark is then behind, which is harmless."""
        digits = b"%020d" % revision
        with suppress(OSError):
            os.pwrite(self._fd, b"%b %b\n" % (digits, _check(digits)), 0)

    def close(self) -> None:
        os.close(self._fd)


def set_highwater(path: str, revision: int) -> None:
    """Reset the mark: a store that ends at `revision` was put at `path`. Raises OSError."""
    mark = HighWater(path)
    try:
        mark.write(revision)
    finally:
        mark.close()
