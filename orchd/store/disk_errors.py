"""Reasons of failed reads and writes, for the operator."""

from __future__ import annotations

import os
import sqlite3
from typing import Final

#: What SQLite says of a damaged file, and of an intact one after the disk failed under an open connection.
_MALFORMED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_malformed(error: BaseException) -> bool:
    """True for errors that say that the contents of the database are wrong, which they need not be."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _MALFORMED


def reason(path: str, error: BaseException) -> str:
    """The text of an error of SQLite or the system at the database `path`, with the state of the disk. Reads from the
    disk."""
    state = _disk_state(path)
    if is_malformed(error):
        return (
            f"the disk failed: {state}"
            if state
            else f"{error}, or the disk failed before: orchd-store check says which"
        )
    return f"{error} ({state})" if state and state not in str(error) else str(error)


def _disk_state(path: str) -> str:
    """Why the disk cannot be used; "" if nothing is known."""
    try:
        disk = os.statvfs(os.path.dirname(path))
        if disk.f_bavail == 0:
            return "no space is left on the disk"
        with open(path, "rb") as file:
            file.read(1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    return ""
