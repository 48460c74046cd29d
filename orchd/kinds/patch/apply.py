"""Server-side apply (specification, "Server-Side Apply") in release 1.23: merge a configuration, detect conflicts,
prune what its manager no longer applies. Pure."""

from __future__ import annotations

from typing import Final

from orchd.errors import bad_request
from orchd.kinds import fields
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object, without_managed_fields
from orchd.kinds.objects import shape
from orchd.kinds.patch import managed, prune, typed
from orchd.kinds.patch.conflicts import raise_conflicts, without_excused
from orchd.kinds.patch.fieldset import FieldSet, difference, intersection, json_text, recursive_difference, union
from orchd.kinds.patch.json_patch import equal
from orchd.kinds.patch.managed import APPLY, Identity, Owner, Owners
from orchd.kinds.patch.ownership import (
    NEVER_OWNED,
    NO_FIELDS,
    OwnershipTarget,
    UnfitVersionError,
    VersionComparisons,
    entries_of,
    owners_after_update,
    reconcile_owners,
    same_owners,
    without_lost_fields,
)
from orchd.kinds.patch.patch_errors import describe, group_kind, server_error
from orchd.kinds.patch.typed import TypedError
from orchd.kinds.times import timestamp

#: Owner of the fields of an object without managedFields before its first apply.
BEFORE_FIRST_APPLY: Final = "before-first-apply"
_PRUNING: Final = "failed to prune fields: "
#: Maximum total size of annotations in bytes.
MAX_ANNOTATIONS: Final = 256 * 1024


def on_apply(
    target: OwnershipTarget, live: Object | None, config: Object, *, manager: str, force: bool = False, now: float
) -> Object:
    """Apply `config` to `live` (None: create). Returns the new object with managedFields, before defaulting; `live`
    itself if nothing changes.

    Raises ApiError: 400 for another apiVersion or managedFields in `config`, 409 with a cause for every field and
    manager in conflict unless `force`, 500 for what does not fit the type.
    """
    stored = _stored_strictly(live)
    owners = stored
    base = without_managed_fields(live) if live is not None else {"apiVersion": target.api_version, "kind": target.kind}
    key = managed.identity(manager or "unknown", APPLY, target.api_version, target.subresource)
    tool = manager == target.dialect("{short}ctl")
    if not owners and live is not None:
        try:
            owners = owners_after_update(target, None, base, {}, BEFORE_FIRST_APPLY, now)
        except TypedError as error:
            raise server_error(
                "failed to create manager for existing fields: failed to convert new object "
                f"({describe(target.api_version, base)}) to smd typed: {_explain(target, base, error)}"
            ) from None
    target.release.choose(_CHECKS)(target, config)
    try:
        typed.validate(config, target.type)
    except TypedError as error:
        raise server_error(
            f"failed to create typed patch object ({describe(target.api_version, config)}): {error}"
        ) from None
    try:
        merged, after, conflicts = _merge_and_prune(target, base, config, owners, key)
        if conflicts and not force:
            raise_conflicts(without_excused(target, base, conflicts) if tool else conflicts, target.release)
    except UnfitVersionError as error:
        raise server_error(str(error)) from None
    except TypedError as error:
        why = _explain(target, base, error)
        raise server_error(
            f"failed to create typed live object ({describe(target.api_version, base)}): {why}"
        ) from None
    if tool:
        merged = _with_last_applied(target, merged, config)
    same = equal(merged, base)
    mine = after.get(key)
    if mine is not None:
        after[key] = target.release.choose(_DATED)(mine, stored.get(key), same, now)
    if same and live is not None and same_owners(after, stored):
        return live
    entries = managed.encode(after)
    metadata = dict(merged.get("metadata") or {})
    if entries:
        metadata["managedFields"] = entries
    return {**merged, "metadata": metadata}


def _date_changes(mine: Owner, before: Owner | None, same: bool, now: float) -> Owner:
    """The entry of an applier gets a new time if the object or what it owns changes."""
    if same and before is not None and before.version == mine.version and before.fields == mine.fields:
        return before
    return mine.at(timestamp(now))


def _date_changed_objects(mine: Owner, before: Owner | None, same: bool, now: float) -> Owner:
    """The entry of an applier gets a new time if the object changes: it has none if the object never did."""
    return mine.at((before.time if before is not None else "") if same else timestamp(now))


#: When entries of appliers get a new time, from a release on.
_DATED: Final = (("", _date_changes), ("1.24", _date_changed_objects))


def _explain(target: OwnershipTarget, obj: Object, error: TypedError) -> str:
    """The complete error of an object that does not fit its type, with all paths."""
    try:
        typed.validate(obj, target.type)
    except TypedError as whole:
        return str(whole)
    return str(error)


def _check_type(target: OwnershipTarget, config: Object) -> None:
    """The configuration must be of the target's apiVersion and kind. Raises ApiError 400."""
    version, kind = _version_of(config), config.get("kind")
    if version != target.api_version or kind != target.kind:
        raise bad_request(f"invalid object type: {group_kind(version, kind if isinstance(kind, str) else '')}")
    _check_entries(target, config)


def _version_of(config: Object) -> str:
    version = config.get("apiVersion")
    return version if isinstance(version, str) and version.count("/") <= 1 else ""


def _check_entries(target: OwnershipTarget, config: Object) -> None:
    """A configuration must not have managedFields. Those that cannot be decoded count as none here, as in the
    reference."""
    metadata = config.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if isinstance(entries, list) and shape.fits({"metadata": {"managedFields": entries}}, target.type):
        raise bad_request("metadata.managedFields must be nil")


def _check_config(target: OwnershipTarget, config: Object) -> None:
    """The configuration must be of the target's apiVersion; another kind is an error of the server. Raises ApiError 400
    or 500."""
    version = _version_of(config)
    if version != target.api_version:
        raise bad_request(
            f"Incorrect version specified in apply patch. Specified patch version: {version}, expected: "
            f"{target.api_version}"
        )
    _check_entries(target, config)
    kind = config.get("kind")
    if kind == target.kind:
        return
    if not isinstance(kind, str) or target.kinds(kind) is None:
        sort = group_kind(target.api_version, kind if isinstance(kind, str) else "")
        raise server_error(
            f"failed to create typed patch object ({describe(target.api_version, config)}): no corresponding type "
            f"for {sort}"
        )
    raise server_error(
        f"failed to merge config: expected objects of the same type, but got {{{target.kind}}} and {{{kind}}}"
    )


#: Checks of a configuration, by release.
_CHECKS = (("", _check_config), ("1.25", _check_type))


def _stored_strictly(live: Object | None) -> Owners:
    try:
        return managed.decode(entries_of(live), trusted=True)
    except managed.ManagedFieldsError as error:
        raise server_error(f"failed to decode managed fields: {error}") from None


def _merge_and_prune(
    target: OwnershipTarget, live: Object, config: Object, owners: Owners, key: Identity
) -> tuple[Object, Owners, dict[Identity, FieldSet]]:
    """The merged and pruned object, its owners, and the conflicts with other owners."""
    owners = reconcile_owners(target, live, owners)
    merged: Object = typed.merge(live, config, target.type)
    last = owners.get(key)
    fields = typed.fields_of(config, target.type)
    if target.reset:
        fields = recursive_difference(fields, target.reset)
    owners[key] = Owner(identity=key, version=target.api_version, fields=fields)
    if last is not None:
        merged = _prune(target, merged, owners, key, last)
    versions = VersionComparisons(target, live, merged)
    if target.release.choose(_NO_CHANGE)(versions, live, merged):
        merged = live
    conflicts: dict[Identity, FieldSet] = {}
    for other, owner in owners.items():
        change = None if other == key else versions.changes(owner.version)
        if change is not None and change[0]:
            lost = intersection(owner.fields, change[0])
            if lost:
                conflicts[other] = lost
    after = without_lost_fields(owners, versions, key)
    mine = difference(fields, NEVER_OWNED)
    if mine:
        after[key] = owners[key].with_fields(mine)
    else:
        after.pop(key, None)
    return merged, after, conflicts


def _no_fields(versions: VersionComparisons, live: Object, merged: Object) -> bool:
    """Neither another order of items nor changes of fields that the endpoint resets count."""
    return versions.changes(versions.api_version) == (NO_FIELDS, NO_FIELDS)


def _no_values(versions: VersionComparisons, live: Object, merged: Object) -> bool:
    return typed.same(live, merged)


#: Whether the merged object is the live one, from a release on.
_NO_CHANGE: Final = (("", _no_fields), ("1.29", _no_values))


def _prune(target: OwnershipTarget, merged: Object, owners: Owners, key: Identity, last: Owner) -> Object:
    """Prune fields from `merged` that the applier no longer applies and no other manager owns.

    Three steps as in the reference: remove all fields of the last apply, restore fields that any manager owns, restore
    fields that the applier never owned (for example defaults inside a remaining item).
    """
    if not difference(last.fields, owners[key].fields) and last.version == target.api_version:
        return merged
    type = target.type_in(last.version)
    whole = target.object_in(
        merged, last.version, _PRUNING + "failed to convert merged object to last applied version: "
    )
    if type is None or whole is None:
        return merged
    applied = prune.with_named_members(last.fields, type)
    rest: Object = prune.remove(whole, applied, type)
    by_version: dict[str, FieldSet] = {}
    for owner in owners.values():
        by_version[owner.version] = union(by_version.get(owner.version, NO_FIELDS), owner.fields)
    for version in sorted(by_version, key=lambda v: v != last.version):
        back = _put_back(target, whole, rest, by_version[version], version, last.version)
        rest = rest if back is None else back
    gone = intersection(difference(_members(whole, type), _members(rest, type)), applied)
    kept: Object = prune.remove(whole, gone, type)
    if last.version == target.api_version:
        return kept
    back = target.object_in(kept, target.api_version, _PRUNING)
    return merged if back is None else back


def _put_back(
    target: OwnershipTarget, whole: Object, rest: Object, held: FieldSet, version: str, home: str
) -> Object | None:
    """Restore the fields `held` (of `version`) of `whole` in `rest`; both objects have the version `home`."""
    type = target.type_in(version)
    purpose = _PRUNING + "failed add back owned items: failed to convert {} object at version " + f"{version}: "
    there = target.object_in(whole, version, purpose.format("merged"))
    left = target.object_in(rest, version, purpose.format("pruned"))
    if type is None or there is None or left is None:
        return None
    stays = union(_members(left, type), prune.with_named_members(held, type))
    out: Object = prune.remove(there, difference(_members(there, type), stays), type)
    return target.object_in(out, home, _PRUNING)


def _members(obj: Object, type: Type) -> FieldSet:
    return prune.with_named_members(typed.fields_of(obj, type), type)


def _with_last_applied(target: OwnershipTarget, obj: Object, config: Object) -> Object:
    """Update an existing last-applied annotation, so that clients can return to client-side apply."""
    name = target.dialect.last_applied
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if target.subresource or not annotations.get(name):
        return obj
    sent = without_managed_fields(config)
    if name in fields.annotations_of(sent):
        kept = {k: v for k, v in fields.annotations_of(sent).items() if k != name}
        sent = fields.with_metadata(sent, annotations=kept)
    text = json_text(sent) + "\n"
    if text == annotations[name]:
        return obj
    annotations = {**annotations, name: text}
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > MAX_ANNOTATIONS:
        del annotations[name]
    return {**obj, "metadata": {**metadata, "annotations": annotations}}
