"""Objects whose bytes are being written, so that the cache need not decode what this process has just encoded."""

from __future__ import annotations

from typing import Any


class Announced:
    """Bytes and decoded objects of the writes in progress, by store key. Shared by all caches of a server.

    A writer calls `announce` before the write and `withdraw` after it, also if the write failed. Of concurrent writes
    of one key, the last announced one is kept. Objects must not be modified."""

    def __init__(self) -> None:
        self._writes: dict[str, tuple[bytes, dict[str, Any]]] = {}

    def __len__(self) -> int:
        return len(self._writes)

    def announce(self, key: str, value: bytes, obj: dict[str, Any]) -> None:
        """`value`, the encoded `obj`, is about to be written under `key`."""
        self._writes[key] = value, obj

    def withdraw(self, key: str, value: bytes) -> None:
        """The write has ended."""
        if key in self._writes and self._writes[key][0] is value:
            del self._writes[key]

    def find(self, key: str, value: bytes) -> dict[str, Any] | None:
        """The object that `value` encodes, if it was announced under `key`; None for all other bytes."""
        write = self._writes.get(key)
        return write[1] if write is not None and write[0] == value else None
