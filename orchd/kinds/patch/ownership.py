"""Field ownership of writes and applies: the rules of server-side apply (specification, "Server-Side Apply") in release 1.23.

`on_write` computes the managedFields after create, update or patch; `on_apply` the new object of an apply. Both are pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.errors import ApiError, Cause, bad_request
from orchd.kinds.catalog import split_group_version
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
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

#: Owner of the fields of an object without managedFields before its first apply.
BEFORE_FIRST_APPLY: Final = "before-first-apply"
#: Maximum total size of annotations in bytes.
MAX_ANNOTATIONS: Final = 256 * 1024

#: Fields without ownership.
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
    """The object written to, and its endpoint.

    `reset` holds the fields that this endpoint takes back to their stored value (status on the main one): they are
    neither owned nor compared. With `resets_all_versions` false that is known for `api_version` only, as in the reference for
    custom kinds: what is sent for such a field takes it from managers that used another version. `convert` gives an object in
    another apiVersion, None when that is not served any more; `types` the type of the kind in an apiVersion, `kinds` that of
    another kind in this one. Objects handed in are in `api_version`.
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

    def type_in(self, version: str) -> Type | None:
        return self.type if version == self.api_version else self.types(version)

    def object_in(self, obj: Object, version: str) -> Object | None:
        return obj if version == self.api_version else self.convert(obj, version)


class _Versions:
    """Comparisons of a pair of objects in the versions of its owners, computed at their first use."""

    def __init__(self, target: OwnershipTarget, old: Object, new: Object) -> None:
        self._target, self._old, self._new = target, old, new
        self._known: dict[str, tuple[FieldSet, FieldSet] | None] = {}

    def changes(self, version: str) -> tuple[FieldSet, FieldSet] | None:
        """Fields set and removed, in terms of `version`; None if that version is no longer served."""
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
        if target.reset and (target.resets_all_versions or version == target.api_version):
            set_, gone = recursive_difference(set_, target.reset), recursive_difference(gone, target.reset)
        return set_, gone


# -- create, update, patch --------------------------------------------------------------------------------------------


def on_write(target: OwnershipTarget, live: Object | None, new: Object, *, manager: str, now: float) -> list[dict[str, Any]]:
    """``metadata.managedFields`` for `new`, written over `live` (None: created) by `manager`; [] for none at all.

    `new` is the object after patching and defaulting and before admission, and may have managedFields of the client: valid ones
    are used, an empty list or entry removes all owners, otherwise those of `live` are used.
    """
    owners, trusted = _live_or_new(target, live, new)
    if not owners and live is not None:
        # Ownership is not tracked, or the client has disabled it.
        return []
    before = dict(owners)
    try:
        owners = _owners_after_update(target, live, new, owners, manager or "unknown", now)
    except TypedError:
        # The object does not fit its type (duplicate keys, for example). If validation accepts it, ownership cannot be
        # computed.
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
    """The initial owners, and whether they are those of the live object."""
    kept, given = _entries(live), _entries(new)
    if target.subresource or given is kept or given is None or (live is not None and given == kept):
        return _omit_empty(kept), True
    if managed.is_reset(given):
        return {}, False
    try:
        owners = managed.decode(given)
    except managed.ManagedFieldsError:
        owners = {}
    return (owners, False) if owners else (_omit_empty(kept), True)


def _omit_empty(entries: Any) -> Owners:
    try:
        return managed.decode(entries, trusted=True)
    except managed.ManagedFieldsError:
        # Malformed stored entries are discarded, as in the reference.
        return {}


def _owners_after_update(target: OwnershipTarget, live: Object | None, new: Object, owners: Owners, manager: str, now: float) -> Owners:
    """Owners after an update: changed fields belong to `manager` alone, removed fields to no manager."""
    old = _without_managed_fields(live) if live is not None else _blank(target)
    new = _without_managed_fields(new)
    known = owners
    owners = _reconcile(target, old, owners)
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
            # Only values of owned fields changed: the entry and its time remain.
            owners[key] = former
        else:
            owners[key] = Owner(identity=key, version=target.api_version, fields=fields, time=timestamp(now))
    return managed.merge_oldest_updaters(owners)


def _without_lost(owners: Owners, versions: _Versions, keep: Identity | None) -> Owners:
    """Remove changed and deleted fields from all owners except `keep`. Owners without fields, and of versions that are not
    served, are dropped."""
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


def _reconcile(target: OwnershipTarget, live: Object, owners: Owners) -> Owners:
    """Reconcile owners with the current schemas."""
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
    """The base of a create: members that are always written are present, so that creating does not take ownership of them."""
    type = target.type
    if type.name and type.constraints is None:
        blank: Object = shape.zero(type)
        return blank
    return {"apiVersion": target.api_version, "kind": target.kind}


def _without_managed_fields(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


# -- apply ------------------------------------------------------------------------------------------------------------


def on_apply(
    target: OwnershipTarget, live: Object | None, config: Object, *, manager: str, force: bool = False, now: float
) -> Object:
    """Apply `config` to `live` (None: create). Returns the new object with managedFields, before defaulting; `live` itself if
    nothing changes.

    Raises ApiError: 400 for another apiVersion or managedFields in `config`, 409 with a cause for every field and manager in
    conflict unless `force`, 500 for what does not fit the type.
    """
    stored = _stored_strictly(live)
    owners = stored
    base = _without_managed_fields(live) if live is not None else {"apiVersion": target.api_version, "kind": target.kind}
    key = managed.identity(manager or "unknown", APPLY, target.api_version, target.subresource)
    tool = manager == target.dialect("{short}ctl")
    if not owners and live is not None:
        try:
            owners = _owners_after_update(target, None, base, {}, BEFORE_FIRST_APPLY, now)
        except TypedError as error:
            raise server_error(
                "failed to create manager for existing fields: failed to convert new object "
                f"({_describe(target, base)}) to smd typed: {_explain(target, base, error)}"
            ) from None
    _check_config(target, config)
    try:
        typed.validate(config, target.type)
    except TypedError as error:
        raise server_error(f"failed to create typed patch object ({_describe(target, config)}): {error}") from None
    try:
        merged, after, conflicts = _merge_and_prune(target, base, config, owners, key)
        if conflicts and not force:
            _refuse(_not_excused(target, base, conflicts) if tool else conflicts)
    except TypedError as error:
        why = _explain(target, base, error)
        raise server_error(f"failed to create typed live object ({_describe(target, base)}): {why}") from None
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


def _explain(target: OwnershipTarget, obj: Object, error: TypedError) -> str:
    """The complete error of an object that does not fit its type, with all paths."""
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
            f"failed to create typed patch object ({_describe(target, config)}): no corresponding type for {sort}"
        )
    raise server_error(f"failed to merge config: expected objects of the same type, but got {{{target.kind}}} and {{{kind}}}")


def _describe(target: OwnershipTarget, obj: Object) -> str:
    """Format an object for errors of apply: ``namespace/name; group/version, Kind=Kind``."""
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


def _merge_and_prune(
    target: OwnershipTarget, live: Object, config: Object, owners: Owners, key: Identity
) -> tuple[Object, Owners, dict[Identity, FieldSet]]:
    """The merged and pruned object, its owners, and the conflicts with other owners."""
    owners = _reconcile(target, live, owners)
    merged: Object = typed.merge(live, config, target.type)
    last = owners.get(key)
    fields = typed.fields_of(config, target.type)
    if target.reset:
        fields = recursive_difference(fields, target.reset)
    owners[key] = Owner(identity=key, version=target.api_version, fields=fields)
    if last is not None:
        merged = _restore_empty(_prune(target, merged, owners, key, last), config)
    versions = _Versions(target, live, merged)
    if versions.changes(target.api_version) == (_EMPTY, _EMPTY):
        # A different order of items, or changes of fields that the endpoint resets, do not count as changes.
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


def _restore_empty(value: Any, said: Any) -> Any:
    """Restore empty objects and lists of the configuration `said` that pruning reduced to null or removed.

    The reference omits them here, and adds them when the same configuration is applied again.
    """
    if not isinstance(value, dict):
        return value
    out = value
    for name, item in said.items():
        before = value.get(name)
        after = before
        if item in ({}, []) and before is None:
            after = item
        elif isinstance(item, dict) and item and before:
            after = _restore_empty(before, item)
        if after is not before:
            out = {**out, name: after}
    return out


def _prune(target: OwnershipTarget, merged: Object, owners: Owners, key: Identity, last: Owner) -> Object:
    """Prune fields from `merged` that the applier no longer applies and no other manager owns.

    Three steps as in the reference: remove all fields of the last apply, restore fields that any manager owns, restore fields
    that the applier never owned (for example defaults inside a remaining item).
    """
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
    """Restore the fields `held` (of `version`) of `whole` in `rest`; both objects have the version `home`."""
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
    """Raise ApiError 409 if there are conflicts."""
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
    """Conflicts except those on fields that client-side apply set: fields of the last-applied annotation with unchanged
    values."""
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
    """Update an existing last-applied annotation, so that clients can return to client-side apply."""
    name = target.dialect.last_applied
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if target.subresource or not annotations.get(name):
        return obj
    sent = _without_managed_fields(config)
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
    """`live` if `new` differs from it only in times of managedFields, so that nothing is written; else `new`.

    For the end of a write, because defaults or the endpoint may have undone a change.
    """
    mine, theirs = _entries(new), _entries(live)
    if mine is theirs or not mine or not theirs or len(mine) != len(theirs):
        return new
    for left, right in zip(_timeless(mine), _timeless(theirs), strict=True):
        if left != right:
            return new
    return live if equal(_without_managed_fields(new), _without_managed_fields(live)) else new


def after_admission(obj: Object, before: Object) -> Object:
    """Normalize the managedFields of `obj` after mutating admission. Malformed ones are replaced by those of `before`."""
    mine, theirs = _entries(obj), _entries(before)
    if mine is theirs or mine == theirs:
        return obj
    try:
        entries = managed.encode(managed.decode(mine))
    except managed.ManagedFieldsError:
        entries = theirs
    bare = _without_managed_fields(obj)
    return {**bare, "metadata": {**(bare.get("metadata") or {}), "managedFields": entries}} if entries else bare


def _timeless(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = [{k: v for k, v in entry.items() if k != "time"} for entry in entries]
    # Clients may write entries without a manager.
    out.sort(key=lambda e: tuple(e.get(name) or "" for name in ("operation", "manager", "apiVersion", "subresource")))
    return out
