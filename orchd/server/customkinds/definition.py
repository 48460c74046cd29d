"""State of one definition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from orchd.cache.entries import Entry
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.crd.conditions import TERMINATING, condition, is_established
from orchd.kinds.crd.resources import CustomKind, accepted_names, custom_kind, key_of
from orchd.kinds.ir import TypeTable
from orchd.kinds.jsonvalues import Object


class Definition:
    """A definition as of its last change. Holds its bytes, shared with the cache, and the values needed for serving.

    `kind` is None while the definition is not established. `since` is the revision from which objects are stored under
    the current schema; older ones are upgraded when read.
    """

    __slots__ = ("_json", "_signature", "accepted", "finalizing", "group", "key", "kind", "name", "revision", "since")

    def __init__(self, entry: Entry) -> None:
        self.name = entry.path
        self.group = ""
        self.key = ""
        self.accepted: Mapping[str, Any] = {}
        self.kind: CustomKind | None = None
        self.since = 0
        self.revision = 0
        #: True while its instances are being deleted.
        self.finalizing = False
        self._json = b""
        self._signature: Any = None

    @property
    def size(self) -> int:
        """Bytes of the definition."""
        return len(self._json)

    def load(self) -> Object:
        """Decode the whole definition."""
        obj: Object = orjson.loads(self._json)
        return obj

    def update(self, entry: Entry, types: TypeTable, dialect: Dialect) -> bool:
        """Apply a change; True if the served API changed."""
        self._json = entry.json
        self.revision = entry.revision
        definition = self.load()
        self.group = definition["spec"]["group"]
        self.key = key_of(definition)
        self.accepted = fields.status(definition).get("acceptedNames") or {}
        if not is_established(definition):
            changed = self.kind is not None
            self.kind = self._signature = None
            return changed
        metadata = definition["metadata"]
        schema = (metadata.get("uid"), metadata.get("generation"))
        signature = (schema, accepted_names(definition), condition(definition, TERMINATING))
        if signature == self._signature:
            return False
        if self._signature is None or self._signature[0] != schema:
            self.since = entry.revision
        self._signature = signature
        self.kind = custom_kind(definition, partial(orjson.loads, entry.json), types, dialect, self.size)
        return True
