"""State of one definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from twisted.python.failure import Failure

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

    def read(self, entry: Entry, types: TypeTable, dialect: Dialect) -> Reading:
        """What a change makes of the definition; `take` applies it. Pure. Raises for a definition that cannot be
        read."""
        definition: Object = orjson.loads(entry.json)
        metadata = definition["metadata"]
        schema = (metadata.get("uid"), metadata.get("generation"))
        signature: Any = (schema, accepted_names(definition), condition(definition, TERMINATING))
        kind, since, failure = self.kind, self.since, None
        if not is_established(definition):
            kind = signature = None
        elif signature != self._signature:
            if self._signature is None or self._signature[0] != schema:
                since = entry.revision
            try:
                kind = custom_kind(definition, partial(orjson.loads, entry.json), types, dialect, len(entry.json))
            except Exception:  # of a definition that current validation would reject
                kind, failure = None, Failure()
        return Reading(
            entry=entry,
            group=definition["spec"]["group"],
            key=key_of(definition),
            accepted=fields.status(definition).get("acceptedNames") or {},
            kind=kind,
            since=since,
            signature=signature,
            failure=failure,
        )

    def take(self, reading: Reading) -> bool:
        """Apply a change; True if the served API changed."""
        changed = reading.kind is not self.kind
        self._json, self.revision = reading.entry.json, reading.entry.revision
        self.group, self.key, self.accepted = reading.group, reading.key, reading.accepted
        self.kind, self.since, self._signature = reading.kind, reading.since, reading.signature
        return changed

    def withdraw(self, entry: Entry) -> bool:
        """Serve nothing after a change that cannot be read; True if the served API changed."""
        changed = self.kind is not None
        self._json, self.revision, self.kind = entry.json, entry.revision, None
        return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a change makes of a definition. `failure` is that of a kind that cannot be served."""

    entry: Entry
    group: str
    key: str
    accepted: Mapping[str, Any]
    kind: CustomKind | None
    since: int
    signature: Any
    failure: Failure | None
