"""``metadata.managedFields`` as owners, and back.

An `Owner` is one entry: a manager with one operation, version and subresource, and the fields it owns. Owners are
kept by identity: appliers without the version, so that applying in another version replaces what was applied before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from orchd.kinds.patch.fieldset import FieldSet, FieldSetError, ordered, parse_root, union
from orchd.kinds.patch.gotext import quoted

APPLY: Final = "Apply"
UPDATE: Final = "Update"
#: How many entries of updates an object keeps; older ones are thrown together.
MAX_UPDATERS: Final = 10
#: The manager of updates that were thrown together.
ANCIENT: Final = "ancient-changes"

#: Members of an entry that are text.
_TEXTS: Final = ("manager", "operation", "apiVersion", "time", "fieldsType", "subresource")

#: (manager, operation, apiVersion or "" for appliers, subresource)
Identity: TypeAlias = tuple[str, str, str, str]


class ManagedFieldsError(ValueError):
    """Entries that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One entry. `time` is RFC 3339 to the second, "" when it has none. `entry` is the JSON it was read from, as long
    as it says the same."""

    identity: Identity
    version: str
    fields: FieldSet
    time: str = ""
    entry: dict[str, Any] | None = None

    @property
    def applied(self) -> bool:
        return self.identity[1] == APPLY

    def with_fields(self, fields: FieldSet) -> Owner:
        """The same owner with other fields; itself when they are the same."""
        if fields is self.fields:
            return self
        return Owner(identity=self.identity, version=self.version, fields=fields, time=self.time)

    def at(self, moment: str) -> Owner:
        """The same owner, changed at `moment`."""
        return Owner(identity=self.identity, version=self.version, fields=self.fields, time=moment)


#: Owners by identity.
Owners: TypeAlias = dict[Identity, Owner]


def identity(manager: str, operation: str, version: str, subresource: str) -> Identity:
    return manager, operation, "" if operation == APPLY else version, subresource


def decode(entries: Any, *, trusted: bool = False) -> Owners:
    """Owners from stored entries. `trusted` entries were written by `encode`: their sets are taken as they are.

    Raises `ManagedFieldsError` with the reference's text.
    """
    out: Owners = {}
    if entries is None:
        return out
    if not isinstance(entries, list):
        raise ManagedFieldsError("managedFields must be a list")
    for position, entry in enumerate(entries):
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name) or "", str) for name in _TEXTS):
            raise ManagedFieldsError(f"entry {position} is malformed")
        operation = entry.get("operation")
        if operation not in (APPLY, UPDATE):
            raise ManagedFieldsError("operation must be `Apply` or `Update`")
        version = entry.get("apiVersion")
        if not version:
            raise ManagedFieldsError("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            given = entry.get("fieldsType") or ""
            raise ManagedFieldsError(
                f"invalid fieldsType {quoted(str(given))} in managed fields entry {position}"
                if given
                else f"missing fieldsType in managed fields entry {position}"
            )
        fields = entry.get("fieldsV1") or {}
        if not trusted or not isinstance(fields, dict):
            try:
                fields = parse_root(fields)
            except FieldSetError as error:
                raise ManagedFieldsError(f"error decoding set: {error}") from None
        key = identity(entry.get("manager") or "", operation, version, entry.get("subresource") or "")
        out[key] = Owner(
            identity=key, version=version, fields=fields, time=entry.get("time") or "", entry=entry if trusted else None
        )
    return out


def encode(owners: Owners) -> list[dict[str, Any]]:
    """The entries to store: appliers first, then by time, manager, version and subresource; sets in stored order."""
    return [_encoded(o) for o in sorted(owners.values(), key=_place)]


def _place(owner: Owner) -> tuple[str, ...]:
    manager, operation, _, subresource = owner.identity
    return operation, owner.time, manager, owner.version, subresource


def _encoded(owner: Owner) -> dict[str, Any]:
    if owner.entry is not None:
        return owner.entry
    manager, operation, _, subresource = owner.identity
    out: dict[str, Any] = {}
    if manager:
        out["manager"] = manager
    out["operation"] = operation
    out["apiVersion"] = owner.version
    if owner.time:
        out["time"] = owner.time
    out["fieldsType"] = "FieldsV1"
    out["fieldsV1"] = ordered(owner.fields)
    if subresource:
        out["subresource"] = subresource
    return out


def is_reset(entries: Any) -> bool:
    """Does a client ask to forget all owners: an empty list, or a list of one empty entry?"""
    return isinstance(entries, list) and (not entries or entries == [{}])


def identity_text(key: Identity) -> str:
    """The order of owners in messages is that of these texts."""
    manager, operation, version, subresource = key
    named = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return json.dumps({k: v for k, v in named.items() if v}, separators=(",", ":"), ensure_ascii=False)


def show(key: Identity) -> str:
    """An owner as conflicts name it: ``"x" with subresource "scale" using apps/v1``."""
    manager, operation, version, subresource = key
    text = quoted(manager)
    if subresource:
        text += f" with subresource {quoted(subresource)}"
    if operation == UPDATE:
        text += f" using {version}"
    return text


def merge_oldest_updaters(owners: Owners) -> Owners:
    """At most `MAX_UPDATERS` owners by update: the oldest of one version go together into one called `ANCIENT`."""
    updaters = [o for o in owners.values() if not o.applied]
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return owners
    out = dict(owners)
    first: dict[str, Identity] = {}
    for owner in sorted(updaters, key=lambda o: (o.time, identity_text(o.identity))):
        if excess <= 0:
            break
        version = owner.version
        if version not in first:
            first[version] = owner.identity
            continue
        key = identity(ANCIENT, UPDATE, version, "")
        bucket = out.get(key)
        if bucket is None:
            bucket = out.pop(first[version])
        if owner.identity != key:
            out.pop(owner.identity)
        out[key] = Owner(
            identity=key, version=version, fields=union(owner.fields, bucket.fields), time=owner.time or bucket.time
        )
        excess -= 1
    return out
