"""Field ownership of writes (specification, "Server-Side Apply") in release 1.23: the rules that updates and applies
share, and updates.

`on_write` computes the managedFields after create, update or patch. Everything is pure. Applies are in `apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.fields import metadata
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object, without_managed_fields
from orchd.kinds.objects import shape
from orchd.kinds.patch import managed, nodes, prune, typed
from orchd.kinds.patch.fieldset import FieldSet, difference, of_paths, recursive_difference, union
from orchd.kinds.patch.json_patch import equal
from orchd.kinds.patch.managed import UPDATE, Identity, Owner, Owners
from orchd.kinds.patch.typed import TypedError
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.times import timestamp

#: Fields without ownership.
NEVER_OWNED: Final = of_paths(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in tuple(
            "name namespace creationTimestamp selfLink uid clusterName generation managedFields resourceVersion".split()
        )
    ),
)
NO_FIELDS: Final[FieldSet] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipTarget:
    """The object written to, and its endpoint.

    `reset` holds the fields that this endpoint takes back to their stored value (status on the main one): they are
    neither owned nor compared. With `resets_all_versions` false that is known for `api_version` only, as in the
    reference for custom kinds: what is sent for such a field takes it from managers that used another version.
    `convert` gives an object in another apiVersion, None when that is not served any more; `types` the type of the kind
    in an apiVersion, `kinds` that of another kind in this one. Objects handed in are in `api_version`.
    """

    dialect: Dialect
    type: Type
    kind: str
    api_version: str
    subresource: str = ""
    reset: FieldSet = field(default_factory=dict)
    resets_all_versions: bool = True
    convert: Callable[[Object, str], Object | None] = lambda obj, version: None
    types: Callable[[str], Type | None] = lambda version: None
    kinds: Callable[[str], Type | None] = lambda kind: None
    release: Release = SPECIFICATION

    def type_in(self, version: str) -> Type | None:
        return self.type if version == self.api_version else self.types(version)

    def object_in(self, obj: Object, version: str, purpose: str = "") -> Object | None:
        """`obj` in `version`, None if that is not served. Raises UnfitVersionError, whose text begins with `purpose`,
        if a custom kind's version does not declare what the object has."""
        if version == (obj.get("apiVersion") or self.api_version):
            return obj
        type, converted = self.type_in(version), self.convert(obj, version)
        if type is not None and converted is not None and type.constraints is not None:
            try:
                typed.validate(converted, type)
            except TypedError as error:
                raise UnfitVersionError(purpose + str(error)) from None
        return converted


class UnfitVersionError(TypedError):
    """An object that does not fit another version of its kind, in which a manager owns fields."""


class VersionComparisons:
    """Comparisons of a pair of objects in the versions of its owners, computed at their first use."""

    def __init__(self, target: OwnershipTarget, old: Object, new: Object) -> None:
        self._target, self._old, self._new = target, old, new
        self._cache: dict[str, tuple[FieldSet, FieldSet] | None] = {}
        self.api_version = target.api_version

    def changes(self, version: str) -> tuple[FieldSet, FieldSet] | None:
        """Fields set and removed, in terms of `version`; None if that version is no longer served."""
        if version not in self._cache:
            self._cache[version] = self._compare(version)
        return self._cache[version]

    def _compare(self, version: str) -> tuple[FieldSet, FieldSet] | None:
        target = self._target
        type = target.type_in(version)
        old = target.object_in(self._old, version, "failed to convert old object: ")
        new = target.object_in(self._new, version, "failed to convert new object: ")
        if type is None or old is None or new is None:
            return None
        added, modified, removed = typed.compare_nodes(nodes.root(type), old, new)
        set_ = union(added or NO_FIELDS, modified or NO_FIELDS)
        gone = removed or NO_FIELDS
        if target.reset and (target.resets_all_versions or version == target.api_version):
            set_, gone = recursive_difference(set_, target.reset), recursive_difference(gone, target.reset)
        return set_, gone


# -- what updates and applies share
# --------------------------------------------------------------------------------------


def same_owners(owners: Owners, before: Owners) -> bool:
    """True if the owners are the very same values."""
    return len(owners) == len(before) and all(before.get(k) is o for k, o in owners.items())


def entries_of(obj: Object | None) -> Any:
    """The managedFields of an object, None without any. They may be malformed."""
    return None if obj is None else metadata(obj).get("managedFields")


def reconcile_owners(target: OwnershipTarget, live: Object, owners: Owners) -> Owners:
    """Owners after changes of the schemas; those of versions that are not served are dropped."""
    out: Owners = {}
    objects: dict[str, Object | None] = {}
    for key, owner in owners.items():
        version = owner.version
        if version not in objects:
            objects[version] = target.object_in(live, version)
        type, obj = target.type_in(version), objects[version]
        if type is not None and obj is not None:
            out[key] = owner.with_fields(prune.reconcile(owner.fields, type))
    return out


def without_lost_fields(owners: Owners, versions: VersionComparisons, keep: Identity | None) -> Owners:
    """Remove changed and deleted fields from all owners except `keep`. Owners without fields, and of versions that are
    not served, are dropped."""
    out: Owners = {}
    for key, owner in owners.items():
        if key == keep:
            if owner.fields:
                out[key] = owner
            continue
        change = versions.changes(owner.version)
        if change is None:
            continue
        changed, gone = change
        fields = difference(difference(owner.fields, changed), gone)
        if fields:
            out[key] = owner.with_fields(fields)
    return out


# -- create, update, patch --------------------------------------------------------------------------------------------


def on_write(
    target: OwnershipTarget, live: Object | None, new: Object, *, manager: str, now: float
) -> list[dict[str, Any]]:
    """``metadata.managedFields`` for `new`, written over `live` (None: created) by `manager`; [] for none at all.

    `new` is the object after patching and defaulting and before admission, and may have managedFields of the client:
    valid ones are used, an empty list or entry removes all owners, otherwise those of `live` are used.
    """
    owners, trusted = _live_or_new(target, live, new)
    if not owners and live is not None:
        # Ownership is not tracked, or the client has disabled it.
        return []
    before = dict(owners)
    try:
        owners = owners_after_update(target, live, new, owners, manager or "unknown", now)
    except TypedError:
        # The object does not fit its type (duplicate keys, for example). If validation accepts it, ownership cannot be
        # computed.
        return []
    if trusted and live is not None and same_owners(owners, before):
        entries: list[dict[str, Any]] = entries_of(live)
        # Of two entries of one owner, which the scale endpoint writes, the last one counts.
        if len(entries) == len(owners):
            return entries
    return managed.encode(owners)


def _live_or_new(target: OwnershipTarget, live: Object | None, new: Object) -> tuple[Owners, bool]:
    """The initial owners, and whether they are those of the live object."""
    kept, entries = entries_of(live), entries_of(new)
    if target.subresource or entries is kept or entries is None or (live is not None and entries == kept):
        return _omit_empty(kept), True
    if managed.is_reset(entries):
        return {}, False
    try:
        owners = managed.decode(entries)
    except managed.ManagedFieldsError:
        owners = {}
    return (owners, False) if owners else (_omit_empty(kept), True)


def _omit_empty(entries: Any) -> Owners:
    try:
        return managed.decode(entries, trusted=True)
    except managed.ManagedFieldsError:
        # Malformed stored entries are discarded, as in the reference.
        return {}


def owners_after_update(
    target: OwnershipTarget, live: Object | None, new: Object, owners: Owners, manager: str, now: float
) -> Owners:
    """Owners after an update: changed fields belong to `manager` alone, removed fields to no manager. Raises TypedError
    for an object that does not fit its type."""
    old = without_managed_fields(live) if live is not None else _blank(target)
    new = without_managed_fields(new)
    if nodes.conceals_identities(target.type):
        typed.validate(old, target.type)
        typed.validate(new, target.type)
    elif target.type.constraints is not None:
        # What the endpoint takes back is not validated later, unlike the rest of a custom object.
        for name, item in new.items():
            if f"f:{name}" in target.reset and name in target.type.fields:
                typed.validate(item, target.type.fields[name].type)
    owners_before = owners
    owners = reconcile_owners(target, old, owners)
    versions = VersionComparisons(target, old, new)
    change = versions.changes(target.api_version)
    assert change is not None
    owners = without_lost_fields(owners, versions, None)
    mine = difference(recursive_difference(change[0], target.reset), NEVER_OWNED)
    if mine:
        key = managed.identity(manager, UPDATE, target.api_version, target.subresource)
        previous, former = owners.get(key), owners_before.get(key)
        fields = union(previous.fields, mine) if previous else mine
        if former is not None and former.fields == fields:
            # Only values of owned fields changed: the entry and its time remain.
            owners[key] = former
        else:
            owners[key] = Owner(identity=key, version=target.api_version, fields=fields, time=timestamp(now))
    return managed.merge_oldest_updaters(owners)


def _blank(target: OwnershipTarget) -> Object:
    """The base of a create: members that are always written are present, so that creating does not take ownership of
    them."""
    type, named = target.type, {"apiVersion": target.api_version, "kind": target.kind}
    return {**shape.zero(type), **named} if type.name and type.constraints is None else named


def keep_times(new: Object, live: Object) -> Object:
    """`live` if `new` differs from it only in times of managedFields, so that nothing is written; else `new`.

    For the end of a write, because defaults or the endpoint may have undone a change.
    """
    mine, theirs = entries_of(new), entries_of(live)
    if mine is theirs or not mine or not theirs or len(mine) != len(theirs):
        return new
    for left, right in zip(_timeless(mine), _timeless(theirs), strict=True):
        if left != right:
            return new
    return live if equal(without_managed_fields(new), without_managed_fields(live)) else new


def after_admission(obj: Object, before: Object) -> Object:
    """Normalize the managedFields of `obj` after mutating admission. Malformed ones are replaced by those of
    `before`."""
    mine, theirs = entries_of(obj), entries_of(before)
    if mine is theirs or mine == theirs:
        return obj
    try:
        entries = managed.encode(managed.decode(mine))
    except managed.ManagedFieldsError:
        entries = theirs
    bare = without_managed_fields(obj)
    return {**bare, "metadata": {**metadata(bare), "managedFields": entries}} if entries else bare


def _timeless(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = [{k: v for k, v in entry.items() if k != "time"} for entry in entries]
    # Clients may write entries without a manager.
    out.sort(key=lambda e: tuple(e.get(name) or "" for name in ("operation", "manager", "apiVersion", "subresource")))
    return out
