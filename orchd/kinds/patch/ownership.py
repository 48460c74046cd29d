"""How writes and applies change who owns what: the merge rules of server-side apply (specification, "Server-Side
Apply"), with the edges of release 1.23.

`on_write` gives the managedFields after create, update or patch; `on_apply` the new object of an apply. Both are pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.errors import ApiError, Cause, bad_request
from orchd.kinds.catalog import split_group_version
from orchd.kinds.ir import Type
from orchd.kinds.objects import shape
from orchd.kinds.objects.scalars import timestamp
from orchd.kinds.patch import managed, nodes, prune, typed
from orchd.kinds.patch.fieldset import (
    FieldSet,
    difference,
    intersection,
    json_text,
    of_paths,
    paths,
    recursive_difference,
    union,
)
from orchd.kinds.patch.fieldset import show as show_path
from orchd.kinds.patch.json_patch import equal
from orchd.kinds.patch.managed import APPLY, UPDATE, Identity, Owner, Owners
from orchd.kinds.patch.patch_errors import server_error
from orchd.kinds.patch.syntax import SyntaxProblem, decode
from orchd.kinds.patch.typed import TypedError

Object = dict[str, Any]

#: Owner of what an object held when it was first applied to and nobody was known to own anything.
BEFORE_FIRST_APPLY: Final = "before-first-apply"
#: Annotations may hold this much altogether, in bytes.
MAX_ANNOTATIONS: Final = 256 * 1024

#: Fields that nobody owns.
_NEVER_OWNED: Final = of_paths(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
_EMPTY: Final[FieldSet] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipTarget:
    """What is written, and through which endpoint.

    `reset` holds the fields that this endpoint takes back to their stored value (status on the main one): they are
    neither owned nor compared. `convert` gives an object in another apiVersion, None when that is not served any more;
    `types` the type of the kind in an apiVersion, `kinds` that of another kind in this one. Objects handed in are in `api_version`.
    """

    dialect: Dialect
    type: Type
    kind: str
    api_version: str
    subresource: str = ""
    reset: FieldSet = field(default_factory=dict)
    convert: Callable[[Object, str], Object | None] = lambda obj, version: None
    types: Callable[[str], Type | None] = lambda version: None
    kinds: Callable[[str], Type | None] = lambda kind: None

    def type_in(self, version: str) -> Type | None:
        return self.type if version == self.api_version else self.types(version)

    def object_in(self, obj: Object, version: str) -> Object | None:
        return obj if version == self.api_version else self.convert(obj, version)


class _Versions:
    """Comparisons of one pair of objects in each version that owners used, made when first asked for."""

    def __init__(self, target: OwnershipTarget, old: Object, new: Object) -> None:
        self._target, self._old, self._new = target, old, new
        self._known: dict[str, tuple[FieldSet, FieldSet] | None] = {}

    def changes(self, version: str) -> tuple[FieldSet, FieldSet] | None:
        """Fields set and removed, as `version` sees it; None when that version is not served any more."""
        if version not in self._known:
            self._known[version] = self._compare(version)
        return self._known[version]

    def _compare(self, version: str) -> tuple[FieldSet, FieldSet] | None:
        target = self._target
        type = target.type_in(version)
        old, new = target.object_in(self._old, version), target.object_in(self._new, version)
        if type is None or old is None or new is None:
            return None
        added, modified, removed = typed.compare_nodes(nodes.root(type), old, new)
        set_ = union(added or _EMPTY, modified or _EMPTY)
        gone = removed or _EMPTY
        if target.reset:
            set_, gone = recursive_difference(set_, target.reset), recursive_difference(gone, target.reset)
        return set_, gone


# -- create, update, patch --------------------------------------------------------------------------------------------


def on_write(target: OwnershipTarget, live: Object | None, new: Object, *, manager: str, now: float) -> list[dict[str, Any]]:
    """``metadata.managedFields`` for `new`, written over `live` (None: created) by `manager`; [] for none at all.

    `new` is the object after patching and defaults and before admission, and may carry managedFields of the client's:
    valid ones are honoured, an empty list or entry forgets all owners, anything else leaves those of `live`.
    """
    owners, trusted = _live_or_new(target, live, new)
    if not owners and live is not None:
        # Nobody ever asked for tracking, or the client switched it off.
        return []
    before = dict(owners)
    try:
        owners = _updated(target, live, new, owners, manager or "unknown", now)
    except TypedError:
        # Not an object of this type (duplicate keys, say). Validation has the word; if it lets that pass, nobody can be
        # said to own anything.
        return []
    if trusted and live is not None and _same(owners, before):
        entries: list[dict[str, Any]] = live["metadata"]["managedFields"]
        return entries
    return managed.encode(owners)


def _same(owners: Owners, before: Owners) -> bool:
    return len(owners) == len(before) and all(before.get(k) is o for k, o in owners.items())


def _entries(obj: Object | None) -> Any:
    return None if obj is None else (obj.get("metadata") or {}).get("managedFields")


def _live_or_new(target: OwnershipTarget, live: Object | None, new: Object) -> tuple[Owners, bool]:
    """The owners to start from, and whether they are those of the live object."""
    kept, given = _entries(live), _entries(new)
    if target.subresource or given is kept or given is None or (live is not None and given == kept):
        return _stored(kept), True
    if managed.is_reset(given):
        return {}, False
    try:
        owners = managed.decode(given)
    except managed.ManagedFieldsError:
        owners = {}
    return (owners, False) if owners else (_stored(kept), True)


def _stored(entries: Any) -> Owners:
    try:
        return managed.decode(entries, trusted=True)
    except managed.ManagedFieldsError:
        # Written by something else than this module: start over, as the reference does.
        return {}


def _updated(target: OwnershipTarget, live: Object | None, new: Object, owners: Owners, manager: str, now: float) -> Owners:
    """Owners after an update: what changed belongs to `manager` alone, what went belongs to nobody."""
    old = _unmanaged(live) if live is not None else _blank(target)
    new = _unmanaged(new)
    known = owners
    owners = _reconciled(target, old, owners)
    versions = _Versions(target, old, new)
    found = versions.changes(target.api_version)
    assert found is not None
    owners = _without_lost(owners, versions, None)
    mine = difference(recursive_difference(difference(*found), target.reset), _NEVER_OWNED)
    if mine:
        key = managed.identity(manager, UPDATE, target.api_version, target.subresource)
        previous, former = owners.get(key), known.get(key)
        fields = union(previous.fields, mine) if previous else mine
        if former is not None and former.fields == fields:
            # Other values in the fields that were owned already: the entry stays, its time included.
            owners[key] = former
        else:
            owners[key] = Owner(identity=key, version=target.api_version, fields=fields, time=timestamp(now))
    return managed.merge_oldest_updaters(owners)


def _without_lost(owners: Owners, versions: _Versions, keep: Identity | None) -> Owners:
    """Owners without what somebody else changed and what is gone; those with nothing left or of a version that is not
    served are dropped. `keep` is not touched."""
    out: Owners = {}
    for key, owner in owners.items():
        if key == keep:
            if owner.fields:
                out[key] = owner
            continue
        found = versions.changes(owner.version)
        if found is None:
            continue
        changed, gone = found
        fields = difference(difference(owner.fields, changed), gone)
        if fields:
            out[key] = owner.with_fields(fields)
    return out


def _reconciled(target: OwnershipTarget, live: Object, owners: Owners) -> Owners:
    """Owners under the schemas of today."""
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


def _blank(target: OwnershipTarget) -> Object:
    """The object before a create: what is always written is there, so creating takes no ownership of it."""
    type = target.type
    if type.name and type.constraints is None:
        blank: Object = shape.zero(type)
        return blank
    return {"apiVersion": target.api_version, "kind": target.kind}


def _unmanaged(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


# -- apply ------------------------------------------------------------------------------------------------------------


def on_apply(
    target: OwnershipTarget, live: Object | None, config: Object, *, manager: str, force: bool = False, now: float
) -> Object:
    """The object after applying `config` to `live` (None: creates it), managedFields included; `live` itself when that
    changes nothing. Defaults are still to be filled in.

    ApiError: 400 for another apiVersion or managedFields in `config`, 409 with a cause for every field and manager in
    conflict unless `force`, 500 for what does not fit the type.
    """
    stored = _stored_strictly(live)
    owners = stored
    base = _unmanaged(live) if live is not None else {"apiVersion": target.api_version, "kind": target.kind}
    key = managed.identity(manager or "unknown", APPLY, target.api_version, target.subresource)
    tool = manager == target.dialect("{short}ctl")
    if not owners and live is not None:
        try:
            owners = _updated(target, None, base, {}, BEFORE_FIRST_APPLY, now)
        except TypedError as error:
            raise server_error(
                "failed to create manager for existing fields: failed to convert new object "
                f"({_named(target, base)}) to smd typed: {_explained(target, base, error)}"
            ) from None
    _check_config(target, config)
    try:
        typed.validate(config, target.type)
    except TypedError as error:
        raise server_error(f"failed to create typed patch object ({_named(target, config)}): {error}") from None
    try:
        merged, after, conflicts = _applied(target, base, config, owners, key)
        if conflicts and not force:
            _refuse(_not_excused(target, base, conflicts) if tool else conflicts)
    except TypedError as error:
        why = _explained(target, base, error)
        raise server_error(f"failed to create typed live object ({_named(target, base)}): {why}") from None
    if tool:
        merged = _with_last_applied(target, merged, config)
    same = equal(merged, base)
    mine = after.get(key)
    if mine is not None:
        before = stored.get(key)
        if same and before is not None and before.version == mine.version and before.fields == mine.fields:
            after[key] = before
        else:
            after[key] = mine.at(timestamp(now))
    if same and live is not None and _same(after, stored):
        return live
    entries = managed.encode(after)
    metadata = dict(merged.get("metadata") or {})
    if entries:
        metadata["managedFields"] = entries
    return {**merged, "metadata": metadata}


def _explained(target: OwnershipTarget, obj: Object, error: TypedError) -> str:
    """What is wrong with an object of which some algorithm found out that it does not fit its type: everything, with
    paths."""
    try:
        typed.validate(obj, target.type)
    except TypedError as whole:
        return str(whole)
    return str(error)


def _check_config(target: OwnershipTarget, config: Object) -> None:
    version = config.get("apiVersion")
    if not isinstance(version, str) or version.count("/") > 1:
        version = ""
    if version != target.api_version:
        raise bad_request(
            f"Incorrect version specified in apply patch. Specified patch version: {version}, expected: {target.api_version}"
        )
    metadata = config.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
        raise bad_request("metadata.managedFields must be nil")
    kind = config.get("kind")
    if kind == target.kind:
        return
    if not isinstance(kind, str) or target.kinds(kind) is None:
        group, name = split_group_version(target.api_version)[0], kind if isinstance(kind, str) else ""
        sort = f"{group}/{split_group_version(target.api_version)[1]}, Kind={name}"
        raise server_error(
            f"failed to create typed patch object ({_named(target, config)}): no corresponding type for {sort}"
        )
    raise server_error(f"failed to merge config: expected objects of the same type, but got {{{target.kind}}} and {{{kind}}}")


def _named(target: OwnershipTarget, obj: Object) -> str:
    """An object as errors of apply name it: ``namespace/name; group/version, Kind=Kind``."""
    metadata = obj.get("metadata")
    texts = (metadata.get(name) if isinstance(metadata, dict) else None for name in ("namespace", "name"))
    namespace, name = (text if isinstance(text, str) else "" for text in texts)
    group, version = split_group_version(target.api_version)
    kind = obj.get("kind")
    return f"{namespace}/{name}; {group}/{version}, Kind={kind if isinstance(kind, str) else ''}"


def _stored_strictly(live: Object | None) -> Owners:
    try:
        return managed.decode(_entries(live), trusted=True)
    except managed.ManagedFieldsError as error:
        raise server_error(f"failed to decode managed fields: {error}") from None


def _applied(
    target: OwnershipTarget, live: Object, config: Object, owners: Owners, key: Identity
) -> tuple[Object, Owners, dict[Identity, FieldSet]]:
    """The merged and pruned object, the owners if it is taken, and who would lose what by that."""
    owners = _reconciled(target, live, owners)
    merged: Object = typed.merge(live, config, target.type)
    last = owners.get(key)
    fields = typed.fields_of(config, target.type)
    if target.reset:
        fields = recursive_difference(fields, target.reset)
    owners[key] = Owner(identity=key, version=target.api_version, fields=fields)
    if last is not None:
        merged = _empty_as_said(_pruned(target, merged, owners, key, last), config)
    versions = _Versions(target, live, merged)
    if versions.changes(target.api_version) == (_EMPTY, _EMPTY):
        # Another order of items, or values in fields that this endpoint takes back, is no change.
        merged = live
    conflicts: dict[Identity, FieldSet] = {}
    for other, owner in owners.items():
        found = None if other == key else versions.changes(owner.version)
        if found is not None and found[0]:
            lost = intersection(owner.fields, found[0])
            if lost:
                conflicts[other] = lost
    after = _without_lost(owners, versions, key)
    mine = difference(fields, _NEVER_OWNED)
    if mine:
        after[key] = owners[key].with_fields(mine)
    else:
        after.pop(key, None)
    return merged, after, conflicts


def _empty_as_said(value: Any, said: Any) -> Any:
    """`value` after pruning, where what lost all its parts is null or gone, with empty objects and lists back where the
    configuration `said` so. The reference leaves them out, and would add them when the same is applied again."""
    if not isinstance(value, dict):
        return value
    out = value
    for name, item in said.items():
        before = value.get(name)
        after = before
        if item in ({}, []) and before is None:
            after = item
        elif isinstance(item, dict) and item and before:
            after = _empty_as_said(before, item)
        if after is not before:
            out = {**out, name: after}
    return out


def _pruned(target: OwnershipTarget, merged: Object, owners: Owners, key: Identity, last: Owner) -> Object:
    """`merged` without what the applier gave up and nobody else owns.

    Three steps as in the reference: take out everything applied last time, put back what any owner has, put back what
    the applier never had (defaults inside an item that stays, for instance)."""
    if not difference(last.fields, owners[key].fields) and last.version == target.api_version:
        return merged
    type, whole = target.type_in(last.version), target.object_in(merged, last.version)
    if type is None or whole is None:
        return merged
    given = prune.with_named_members(last.fields, type)
    rest: Object = prune.remove(whole, given, type)
    by_version: dict[str, FieldSet] = {}
    for owner in owners.values():
        by_version[owner.version] = union(by_version.get(owner.version, _EMPTY), owner.fields)
    for version in sorted(by_version, key=lambda v: v != last.version):
        back = _put_back(target, whole, rest, by_version[version], version, last.version)
        rest = rest if back is None else back
    gone = intersection(difference(_members(whole, type), _members(rest, type)), given)
    kept: Object = prune.remove(whole, gone, type)
    if last.version == target.api_version:
        return kept
    back = target.convert(kept, target.api_version)
    return merged if back is None else back


def _put_back(target: OwnershipTarget, whole: Object, rest: Object, held: FieldSet, version: str, home: str) -> Object | None:
    """`rest` of `whole` plus what `held` (in `version`) names; both objects are in version `home`."""
    type = target.type_in(version)
    there, left = (whole, rest) if version == home else (target.convert(whole, version), target.convert(rest, version))
    if type is None or there is None or left is None:
        return None
    stays = union(_members(left, type), prune.with_named_members(held, type))
    out: Object = prune.remove(there, difference(_members(there, type), stays), type)
    return out if version == home else target.convert(out, home)


def _members(obj: Object, type: Type) -> FieldSet:
    return prune.with_named_members(typed.fields_of(obj, type), type)


# -- conflicts --------------------------------------------------------------------------------------------------------


def _refuse(conflicts: dict[Identity, FieldSet]) -> None:
    """Raise 409 unless there are no conflicts."""
    lines: list[tuple[str, list[str]]] = []
    for key in sorted(conflicts, key=managed.identity_text):
        lines.append((managed.show(key), [show_path(p) for p in paths(conflicts[key])]))
    count = sum(len(fields) for _, fields in lines)
    if not count:
        return
    if count == 1:
        text = f"1 conflict: conflict with {lines[0][0]}: {lines[0][1][0]}"
    else:
        blocks = ("\n".join([f"conflicts with {who}:", *(f"- {f}" for f in fields)]) for who, fields in lines)
        text = f"{count} conflicts: " + "\n".join(blocks)
    causes = [
        Cause("FieldManagerConflict", f"conflict with {who}", f).as_json() for who, fields in lines for f in fields
    ]
    raise ApiError(409, "Conflict", f"Apply failed with {text}", details={"causes": causes})


def _not_excused(target: OwnershipTarget, live: Object, conflicts: dict[Identity, FieldSet]) -> dict[Identity, FieldSet]:
    """Conflicts without those over fields that the same tool applied from the client's side before: what the
    last-applied annotation says, where the live object still has it so."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(target.dialect.last_applied)
    if not text:
        return conflicts
    try:
        last = decode(text)
        if not isinstance(last, dict) or last.get("apiVersion") != target.api_version or not last.get("kind"):
            return conflicts
        fields = typed.fields_of(last, target.type)
        for changed in typed.compare(live, last, target.type):
            fields = difference(fields, changed)
    except (SyntaxProblem, TypedError):
        return conflicts
    return {key: rest for key, lost in conflicts.items() if (rest := difference(lost, fields))}


def _with_last_applied(target: OwnershipTarget, obj: Object, config: Object) -> Object:
    """The last-applied annotation brought up to date, where there is one, so that going back to client-side apply works."""
    name = target.dialect.last_applied
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if target.subresource or not annotations.get(name):
        return obj
    sent = _unmanaged(config)
    told = (sent.get("metadata") or {}).get("annotations") or {}
    if name in told:
        sent = {**sent, "metadata": {**sent["metadata"], "annotations": {k: v for k, v in told.items() if k != name}}}
    text = json_text(sent) + "\n"
    if text == annotations[name]:
        return obj
    annotations = {**annotations, name: text}
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > MAX_ANNOTATIONS:
        del annotations[name]
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


def keep_times(new: Object, live: Object) -> Object:
    """`live` when `new` differs from it only in times of managedFields, so that nothing is written; else `new`.

    For the end of a write: what looked like a change may have been undone by defaults or the endpoint."""
    mine, theirs = _entries(new), _entries(live)
    if mine is theirs or not mine or not theirs or len(mine) != len(theirs):
        return new
    for left, right in zip(_timeless(mine), _timeless(theirs), strict=True):
        if left != right:
            return new
    return live if equal(_unmanaged(new), _unmanaged(live)) else new


def after_admission(obj: Object, before: Object) -> Object:
    """`obj` as mutating admission left it, with entries in stored form if it changed those of `before`; with those of
    `before` if it made them unreadable."""
    mine, theirs = _entries(obj), _entries(before)
    if mine is theirs or mine == theirs:
        return obj
    try:
        entries = managed.encode(managed.decode(mine))
    except managed.ManagedFieldsError:
        entries = theirs
    bare = _unmanaged(obj)
    return {**bare, "metadata": {**(bare.get("metadata") or {}), "managedFields": entries}} if entries else bare


def _timeless(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = [{k: v for k, v in entry.items() if k != "time"} for entry in entries]
    # Clients write entries too, and need not say who the manager is.
    out.sort(key=lambda e: tuple(e.get(name) or "" for name in ("operation", "manager", "apiVersion", "subresource")))
    return out
