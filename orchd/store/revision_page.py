"""The newest revision of a served store in memory that its clients on the same machine share: a mapped file beside its
socket.

The store writes it before it acknowledges a write, so that a client that reads it knows every acknowledged write. The
file is kept across restarts of the store; it names the process that writes it, and a client takes it from the process
that its connection leads to and from no other.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from contextlib import suppress
from typing import Any, Final

_SIZE: Final = 4096
_MAGIC: Final = b"revpage1"
#: Magic, process id (0: none writes), revision, and the complement of the revision.
_LAYOUT: Final = struct.Struct("=8sQQQ")
_PROCESS: Final = struct.Struct("=Q")
_REVISION: Final = struct.Struct("=QQ")
_PROCESS_AT, _REVISION_AT = 8, 16
_ALL: Final = 0xFFFFFFFFFFFFFFFF
#: Reads of a page that is being written. Each takes less than a microsecond, and a write two.
_ATTEMPTS: Final = 100


def page_file(socket_path: str) -> str:
    """The file for the socket of a store."""
    return f"{socket_path}.revision"


class RevisionPage:
    """The page of the store that listens on `socket_path`, which no other process serves. Raises OSError."""

    def __init__(self, socket_path: str, revision: int) -> None:
        fd = os.open(page_file(socket_path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Never shorter: processes that have it mapped would be killed.
            if os.fstat(fd).st_size < _SIZE:
                os.ftruncate(fd, _SIZE)
            self._map = mmap.mmap(fd, _SIZE)
        finally:
            os.close(fd)
        _PROCESS.pack_into(self._map, _PROCESS_AT, 0)
        self.write(revision)
        self._map[:8] = _MAGIC
        _PROCESS.pack_into(self._map, _PROCESS_AT, os.getpid())

    def write(self, revision: int) -> None:
        """Announce a durable revision."""
        _REVISION.pack_into(self._map, _REVISION_AT, revision, revision ^ _ALL)

    def close(self) -> None:
        """From now on clients ask."""
        _PROCESS.pack_into(self._map, _PROCESS_AT, 0)
        self._map.close()


class RevisionReader:
    """The page of the store behind a connection, read only."""

    def __init__(self, mapped: mmap.mmap, process: int) -> None:
        self._map = mapped
        self._process = process

    def read(self) -> int | None:
        """The newest acknowledged revision, or a newer durable one. None if the page does not say: ask the store."""
        for _ in range(_ATTEMPTS):
            magic, process, revision, complement = _LAYOUT.unpack_from(self._map)
            if process != self._process or magic != _MAGIC:
                return None
            if revision ^ complement == _ALL:
                return int(revision)
        return None

    def close(self) -> None:
        self._map.close()


def read_page(socket_path: str, transport: Any) -> RevisionReader | None:
    """The page of the store that `transport`, a connection to its socket, leads to; None if it has none."""
    process = _peer(transport)
    if not process:
        return None
    with suppress(OSError, ValueError):
        fd = os.open(page_file(socket_path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            # ValueError: the file is shorter.
            return RevisionReader(mmap.mmap(fd, _SIZE, access=mmap.ACCESS_READ), process)
        finally:
            os.close(fd)
    return None


def _peer(transport: Any) -> int:
    """The process that listens at the other end of a Unix socket; 0 where the system does not tell (unix(7),
    SO_PEERCRED)."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return 0
    with suppress(OSError):
        process, _, _ = struct.unpack("=iII", transport.getHandle().getsockopt(socket.SOL_SOCKET, option, 12))
        return max(0, int(process))
    return 0
