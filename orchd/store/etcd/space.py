"""Maps the store's keys to etcd keys with a prefix, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchd.store.etcd import messages
from orchd.store.interfaces import Event, EventType, KeyValue
from orchd.store.keys import check_key, prefix_end

#: The range of all keys of etcd.
EVERYTHING = (b"\0", b"\0")


class LostValueError(Exception):
    """etcd has compacted the value that an event replaced, before the watch read it."""


class Space:
    """Keys under `prefix`: ``/pods/default/a`` is ``/registry/pods/default/a``; ``/registry.meta/`` holds metadata: the
    dialect, and the claims with the keys that hold them.

    The metadata range sorts before the first and is not part of it.
    """

    def __init__(self, prefix: str) -> None:
        stripped = prefix.strip("/")
        self._root = f"/{stripped}" if stripped else ""
        self._cut = len(self._root)
        self._low = f"{self._root}/".encode()
        self.dialect_key = f"{self._root}.meta/dialect".encode()
        #: Key of the filler writes that raise etcd's revision.
        self.filling_key = f"{self._root}.meta/filling".encode()
        self._claims = f"{self._root}.meta/claims/"

    @property
    def prefix(self) -> str:
        return self._root or "/"

    def key(self, key: str) -> bytes:
        """Raises ValueError for an invalid key."""
        check_key(key)
        if key[0] != "/":
            raise ValueError(f"a key must begin with a slash: {key!r}")
        return (self._root + key).encode()

    def claim(self, claim: str) -> bytes:
        """The etcd key of a claim."""
        return (self._claims + claim).encode()

    def span(self, prefix: str, start: str = "") -> tuple[bytes, bytes]:
        """The range of keys that begin with `prefix`, from `start` on."""
        prefix = prefix or "/"
        end = prefix_end(self._root + prefix)
        assert end is not None, "every prefix has a slash, so there is a key after it"
        return (self._root + max(prefix, start)).encode(), end.encode()

    def item(self, kv: Any) -> KeyValue:
        key: bytes = kv.key
        return KeyValue(key.decode("utf-8", "replace")[self._cut :], kv.value, kv.mod_revision, kv.create_revision)

    def events(self, raw: Iterable[Any]) -> list[Event]:
        """The events of this store. Raises LostValueError."""
        low, cut = self._low, self._cut
        events: list[Event] = []
        for each in raw:
            kv = each.kv
            if not kv.key.startswith(low):
                continue
            key = kv.key.decode("utf-8", "replace")[cut:]
            revision, created = kv.mod_revision, kv.create_revision
            previous = None
            if each.HasField("prev_kv"):
                before = each.prev_kv
                previous = KeyValue(key, before.value, before.mod_revision, before.create_revision)
            elif each.type == messages.DELETED or created != revision:
                raise LostValueError
            if each.type == messages.DELETED:
                assert previous is not None
                events.append(Event(EventType.DELETE, key, b"", revision, previous.created, previous))
            else:
                events.append(Event(EventType.PUT, key, kv.value, revision, created, previous))
        return events
