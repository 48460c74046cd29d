"""Exclusive lock on an embedded store."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from orchd.store.open_errors import StoreLockedError


class FileLock:
    """Locks a file beside the store and the database file itself, so that it holds even if the former is unlinked; the
    kernel releases it when the process ends.

    The lock on the database file uses `flock`, which does not conflict with SQLite's own (`fcntl`). But closing a
    descriptor of that file drops SQLite's locks in this process: call `release` after all connections are closed.
    Raises StoreLockedError, OSError.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._database: int | None = None
        self._fd = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 20).decode("ascii", "replace").strip()
            os.close(self._fd)
            raise StoreLockedError(path, holder) from None
        try:
            self.cover()
        except BaseException:
            os.close(self._fd)
            raise
        # The process id is for error messages of other processes; a full disk must not prevent the start.
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    def cover(self) -> None:
        """Lock the database file too; call again after creating it."""
        if self._database is not None:
            return
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise StoreLockedError(self._path, "") from None
        self._database = fd

    def release(self) -> None:
        if self._database is not None:
            os.close(self._database)
        os.close(self._fd)


def is_locked(path: str) -> bool:
    """True if a process holds the FileLock of the store `path`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
