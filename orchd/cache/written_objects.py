"""Objects whose bytes are being written, so that the cache need not decode what this process has just encoded."""

from __future__ import annotations

from typing import Any


class Announced:
    """Decoded objects of the writes in progress, by store key and bytes. Shared by all caches of a server.

    A writer calls `announce` before the write and `withdraw` after it, also if the write failed. Objects must not be
    modified."""

    def __init__(self) -> None:
        self._writes: dict[tuple[str, bytes], dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._writes)

    def announce(self, key: str, value: bytes, obj: dict[str, Any]) -> None:
        """`value`, the encoded `obj`, is about to be written under `key`."""
        self._writes[key, value] = obj

    def withdraw(self, key: str, value: bytes) -> None:
        """The write has ended."""
        self._writes.pop((key, value), None)

    def find(self, key: str, value: bytes) -> dict[str, Any] | None:
        """The object that `value` encodes, if it was announced under `key`; None for all other bytes."""
        return self._writes.get((key, value))
