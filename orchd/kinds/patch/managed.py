"""Conversion of ``metadata.managedFields`` to owners and back.

An `Owner` is one entry: a manager with an operation, version and subresource, and the fields it owns. Owners are
identified by these; appliers without the version, so that an apply in another version replaces the previous one.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

from orchd.kinds.gotext.values import quote
from orchd.kinds.patch.fieldset import FieldSet, FieldSetError, parse_root, union_all
from orchd.values import value_class

APPLY: Final = "Apply"
UPDATE: Final = "Update"
#: Maximum number of update entries of an object; older ones are merged.
MAX_UPDATERS: Final = 10
#: Manager of the merged update entry.
ANCIENT: Final = "ancient-changes"

#: String members of an entry.
_TEXTS: Final = ("manager", "operation", "apiVersion", "time", "fieldsType", "subresource")

#: (manager, operation, apiVersion or "" for appliers, subresource)
Identity: TypeAlias = tuple[str, str, str, str]


class ManagedFieldsError(ValueError):
    """Malformed entries."""


@value_class(kw_only=True)
class Owner:
    """One entry. `time` is RFC 3339 with seconds, "" if absent. `entry` is the JSON that it was decoded from, if
    unchanged."""

    identity: Identity
    version: str
    fields: FieldSet
    time: str = ""
    entry: dict[str, Any] | None = None

    @property
    def applied(self) -> bool:
        return self.identity[1] == APPLY

    def with_fields(self, fields: FieldSet) -> Owner:
        """A copy with other fields; the owner itself if they are equal."""
        if fields is self.fields:
            return self
        return Owner(identity=self.identity, version=self.version, fields=fields, time=self.time)

    def at(self, moment: str) -> Owner:
        """A copy with the time `moment`."""
        return Owner(identity=self.identity, version=self.version, fields=self.fields, time=moment)


#: Owners by identity.
Owners: TypeAlias = dict[Identity, Owner]


def identity(manager: str, operation: str, version: str, subresource: str) -> Identity:
    return manager, operation, "" if operation == APPLY else version, subresource


def decode(entries: Any, *, trusted: bool = False) -> Owners:
    """Decode entries. `trusted` entries were written by `encode`, and their sets are used without parsing.

    Raises `ManagedFieldsError` with the reference's message.
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
            fields_type = entry.get("fieldsType") or ""
            raise ManagedFieldsError(
                f"invalid fieldsType {quote(str(fields_type))} in managed fields entry {position}"
                if fields_type
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
    """Encode owners to entries, sorted with appliers first, then by time, manager, version and subresource."""
    return [_encode(o) for o in sorted(owners.values(), key=_place)]


def _place(owner: Owner) -> tuple[str, ...]:
    manager, operation, _, subresource = owner.identity
    return operation, owner.time, manager, owner.version, subresource


def _encode(owner: Owner) -> dict[str, Any]:
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
    out["fieldsV1"] = owner.fields
    if subresource:
        out["subresource"] = subresource
    return out


def is_reset(entries: Any) -> bool:
    """True if a client requests the removal of all owners, with an empty list or a list of one empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])


def identity_text(key: Identity) -> str:
    """Sort key of owners in messages."""
    manager, operation, version, subresource = key
    named = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return json.dumps({k: v for k, v in named.items() if v}, separators=(",", ":"), ensure_ascii=False)


def show(key: Identity) -> str:
    """Format an owner for conflict messages: ``"x" with subresource "scale" using apps/v1``."""
    manager, operation, version, subresource = key
    text = quote(manager)
    if subresource:
        text += f" with subresource {quote(subresource)}"
    if operation == UPDATE:
        text += f" using {version}"
    return text


def merge_oldest_updaters(owners: Owners) -> Owners:
    """Limit update entries to `MAX_UPDATERS`: merge the oldest, per version, into an entry of the manager `ANCIENT`."""
    updaters = [o for o in owners.values() if not o.applied]
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return owners
    out = dict(owners)
    first: dict[str, Identity] = {}
    #: The sets of the merged entries: united at the end, so that the time is linear in their total size.
    parts: dict[Identity, list[FieldSet]] = {}
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
        parts.setdefault(key, [bucket.fields]).append(owner.fields)
        out[key] = Owner(identity=key, version=version, fields=bucket.fields, time=owner.time or bucket.time)
        excess -= 1
    for key, sets in parts.items():
        out[key] = out[key].with_fields(union_all(sets))
    return out
