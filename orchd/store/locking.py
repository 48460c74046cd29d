"""The exclusive right to a store."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from orchd.store.open_errors import StoreLockedError


class FileLock:
    """Held in a file beside the store and on the database file itself, so that it holds also when the file beside it is
    unlinked; given up by the kernel however a process ends.

    The lock on the database file is one of `flock`, which SQLite's own ones (`fcntl`) do not meet. But closing a
    descriptor of that file drops SQLite's locks in this process: `release` comes after all connections are closed.
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
        # The number is for the message of whoever comes second; a full disk must not keep the first one out.
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    def cover(self) -> None:
        """Lock the database file too; to be called again when it has just been made."""
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
    """Does a process hold the FileLock of the store `path`?"""
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
