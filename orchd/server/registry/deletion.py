"""DELETE: preconditions, grace, finalizers and propagation (specification, "Resource deletion").

An object with finalizers, or with a grace period, is only marked; it is removed with its last finalizer, or by a second
delete without grace period.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchd import errors
from orchd.cache.entries import Damaged, Entry
from orchd.kinds.catalog import Resource
from orchd.kinds.fields import with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp
from orchd.server.registry.interfaces import Context, Deleted, IAdmission, IStrategy, StrategyOf
from orchd.server.registry.object_store import ObjectStore, path_of
from orchd.server.registry.operations import Delete
from orchd.server.registry.writing import store_failure
from orchd.store.interfaces import RevisionConflictError, StoreError
from orchd.txkit.compute_thread import ComputeThread

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_ATTEMPTS = 100


class _OvertakenError(RevisionConflictError):
    """Another client changed or removed an object between its marking and its removal; `deleted` is the marked
    object."""

    def __init__(self, deleted: Deleted, error: RevisionConflictError) -> None:
        super().__init__(error.key, error.current)
        self.deleted = deleted


class Deleter:
    """Deletes objects of every kind."""

    def __init__(
        self, access: ObjectStore, strategies: StrategyOf, admission: IAdmission, compute: ComputeThread
    ) -> None:
        self._access = access
        self._compute = compute
        self._strategy = strategies
        self._admission = admission
        self._removed = access.settings.release.choose((("", _as_stored), ("1.27", _at_removal)))

    async def delete(self, context: Context, operation: Delete) -> Deleted:
        """Delete the object or mark it for deletion. Raises ApiError."""
        resource, name, options = context.resource, operation.name, operation.options
        path = path_of(resource, context.namespace, name)
        kept = self._strategy(resource).deletion_error(name)
        if kept:
            raise errors.forbidden(resource.group, resource.plural, name, kept)
        cache = self._access.cache(resource)
        overtaken: Deleted | None = None
        for _ in range(_ATTEMPTS):
            await cache.fresh()
            entry = cache.get(path)
            damaged = cache.damaged(path)
            if (
                overtaken is not None
                and damaged is None
                and (entry is None or not self._is_same(entry, overtaken.object))
            ):
                # A client that removes an object after this request marked it, such as a kubelet, completes this
                # request.
                return overtaken
            if entry is None and damaged is None:
                raise errors.not_found(resource.group, resource.plural, name)
            try:
                if damaged is not None:
                    return await self._delete_unreadable(context, name, damaged, options)
                assert entry is not None
                try:
                    old = entry.fresh
                    if old is None:
                        old = await self._compute(len(entry.json), self._access.decode, entry)
                except ValueError as error:
                    unreadable = Damaged(self._access.key(resource, path), entry.revision, str(error))
                    return await self._delete_unreadable(context, name, unreadable, options)
                context = replace(context, size=len(entry.json))
                return replace(await self._attempt(context, operation, entry.revision, old), size=context.size)
            except _OvertakenError as error:
                overtaken = replace(error.deleted, size=context.size)
            except RevisionConflictError:
                if (options.get("preconditions") or {}).get("resourceVersion"):
                    raise errors.conflict(resource.group, resource.plural, name, errors.MODIFIED) from None
            except StoreError as error:
                raise store_failure(error) from error
        raise errors.conflict(resource.group, resource.plural, name, errors.MODIFIED)

    async def _delete_unreadable(
        self, context: Context, name: str, damaged: Damaged, options: Mapping[str, Any]
    ) -> Deleted:
        """Remove a value that cannot be decoded. Finalizers, grace period and admission are skipped, since they need
        the object. A uid cannot be compared, so a uid precondition is rejected."""
        resource, preconditions = context.resource, options.get("preconditions") or {}
        if preconditions.get("uid") is not None:
            raise damaged.error()
        if preconditions.get("resourceVersion") not in (None, str(damaged.revision)):
            raise errors.conflict(resource.group, resource.plural, name, errors.MODIFIED)
        revision = damaged.revision
        if not context.dry_run:
            revision = await self._access.store.delete(damaged.key, expected=revision)
        metadata = {"name": name, **({"namespace": context.namespace} if resource.namespaced else {})}
        obj: Object = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return Deleted(object=obj, revision=revision, gone=True)

    async def _attempt(self, context: Context, operation: Delete, current: int, old: Object) -> Deleted:
        """Delete or mark the object, whose revision is `current`."""
        resource, name, options = context.resource, operation.name, operation.options
        strategy: IStrategy = self._strategy(resource)
        key = self._access.key(resource, path_of(resource, context.namespace, name))
        _check_preconditions(strategy, resource, name, old, options.get("preconditions") or {})
        if operation.announce is not None and not context.dry_run:
            announced = operation.announce(old)
            if announced != old:
                old = await self._update(context, strategy, key, current, old, announced)
                current = int(old["metadata"]["resourceVersion"])
        if _is_pending(strategy, old, options):
            return Deleted(object=old, revision=current, gone=False)
        if operation.reviewed:
            review = self._admission.review(context, "DELETE", old, name=operation.reviewed_name)
            await review.mutate(None)
            await review.validate(None)
        marked, gone = mark(context, strategy, old, options)
        if gone:
            return await self._remove(context, strategy, key, current, old, marked)
        if marked == old:
            return Deleted(object=old, revision=current, gone=False)
        if context.dry_run:
            return Deleted(object=marked, revision=current, gone=False)
        final = await self._update(context, strategy, key, current, old, marked)
        return Deleted(object=final, revision=int(final["metadata"]["resourceVersion"]), gone=False)

    async def _update(
        self, context: Context, strategy: IStrategy, key: str, revision: int, old: Object, obj: Object
    ) -> Object:
        """Store `obj` in the place of `old`, and return it with its new resourceVersion. Raises StoreError."""
        arranged, value = await self._compute(context.size, self._access.arrange, context.resource, obj)
        revision = await self._access.writer_for(strategy).update(key, obj, old, arranged, value, expected=revision)
        return with_metadata(obj, resourceVersion=str(revision))

    async def _remove(
        self, context: Context, strategy: IStrategy, key: str, revision: int, old: Object, marked: Object
    ) -> Deleted:
        """Delete immediately. Objects with graceful deletion are marked first, so that watchers see time and grace
        period."""
        writer = self._access.writer_for(strategy)
        two_steps = strategy.graceful_deletion and marked != old
        if not two_steps:
            marked = old
        elif not context.dry_run:
            marked = await self._update(context, strategy, key, revision, old, marked)
            revision = int(marked["metadata"]["resourceVersion"])
        if not context.dry_run:
            try:
                revision = await writer.delete(key, old, expected=revision)
            except RevisionConflictError as error:
                if not two_steps:
                    raise
                raise _OvertakenError(Deleted(object=marked, revision=revision, gone=True), error) from error
            marked = self._removed(marked, revision)
        return Deleted(object=marked, revision=revision, gone=True)

    def _is_same(self, entry: Entry, obj: Object) -> bool:
        return bool(self._access.decode(entry)["metadata"].get("uid") == obj["metadata"].get("uid"))


def _as_stored(obj: Object, revision: int) -> Object:
    """The removed object as it was stored last."""
    return obj


def _at_removal(obj: Object, revision: int) -> Object:
    """The removed object with the revision of its removal."""
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


def _check_preconditions(
    strategy: IStrategy, resource: Resource, name: str, old: Object, preconditions: Mapping[str, Any]
) -> None:
    metadata = old["metadata"]
    uid, version = preconditions.get("uid"), preconditions.get("resourceVersion")
    if strategy.two_phase_deletion:
        for what, expected, has in (
            ("UID", uid, metadata.get("uid")),
            ("ResourceVersion", version, metadata.get("resourceVersion")),
        ):
            if expected is not None and expected != has:
                why = f"Precondition failed: {what} in precondition: {expected}, {what} in object meta: {has}"
                raise errors.conflict(resource.group, resource.plural, name, why)
    if uid is not None and uid != metadata.get("uid"):
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({metadata.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource.error_group, resource.kind, name, why)
    if version is not None and version != metadata.get("resourceVersion"):
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({metadata.get('resourceVersion')}). The object might have been modified"
        )
        raise errors.conflict(resource.error_group, resource.kind, name, why)


def _is_pending(strategy: IStrategy, old: Object, options: Mapping[str, Any]) -> bool:
    """True if the object waits for its grace period, which these options do not shorten, or for its contents. It is
    then returned unchanged."""
    if strategy.waits_for_content and old["metadata"].get("deletionTimestamp") and strategy.blocks_deletion(old):
        return True
    period = old["metadata"].get("deletionGracePeriodSeconds") or 0
    if not strategy.graceful_deletion or not old["metadata"].get("deletionTimestamp") or period <= 0:
        return False
    asked = options.get("gracePeriodSeconds")
    return asked is None or _seconds(asked) >= period


def _seconds(asked: int) -> int:
    """Requested grace period in seconds: negative values become one second."""
    return 1 if asked < 0 else asked


def mark(context: Context, strategy: IStrategy, old: Object, options: Mapping[str, Any]) -> tuple[Object, bool]:
    """The object after this delete, and whether it is removed immediately."""
    metadata = dict(old["metadata"])
    finalizers = finalizers_after(strategy, metadata.pop("finalizers", None) or [], options)
    if finalizers:
        metadata["finalizers"] = finalizers
    held = bool(finalizers) or strategy.blocks_deletion(old)
    first = not metadata.get("deletionTimestamp")
    seconds = _grace(strategy, old, options)
    if strategy.graceful_deletion:
        _set_grace(context, metadata, seconds)
    elif held and first and strategy.two_phase_deletion:
        # The reference marks these without grace period and without raising the generation.
        metadata["deletionTimestamp"] = timestamp(context.now)
    elif held:
        _stamp(context, metadata, 0)
    marked = {**old, "metadata": metadata}
    if not seconds and not held:
        return marked, True
    return (strategy.prepare_deletion(context, marked, old) if first else marked), False


def _grace(strategy: IStrategy, old: Object, options: Mapping[str, Any]) -> int:
    """The grace period of a deletion in seconds; 0 when it ends at once."""
    if not strategy.graceful_deletion:
        return 0
    metadata = old["metadata"]
    if not metadata.get("deletionTimestamp"):
        return strategy.grace_period(old, options)
    # Without a requested period, a pending deletion is not changed.
    return _seconds(options["gracePeriodSeconds"]) if metadata.get("deletionGracePeriodSeconds") else 0


def _set_grace(context: Context, metadata: Object, seconds: int) -> None:
    """Set the grace period. That of a pending deletion changes: its start stays, its end moves by the difference."""
    end = seconds_of(metadata.get("deletionTimestamp"))
    if end is None:
        _stamp(context, metadata, seconds)
    else:
        metadata["deletionTimestamp"] = timestamp(end - (metadata.get("deletionGracePeriodSeconds") or 0) + seconds)
        metadata["deletionGracePeriodSeconds"] = seconds


def _stamp(context: Context, metadata: Object, seconds: int) -> None:
    """Mark an object, unless it is marked, for deletion after so many seconds."""
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = timestamp(context.now + seconds)
    if metadata.get("deletionGracePeriodSeconds") is None:
        metadata["deletionGracePeriodSeconds"] = seconds
        if metadata.get("generation"):
            metadata["generation"] += 1


def finalizers_after(strategy: IStrategy, current: list[str], options: Mapping[str, Any]) -> list[str]:
    """Finalizers after applying the propagation policy: at most one of orphan and foregroundDeletion."""
    if not strategy.default_propagation:
        return current
    asked = options.get("propagationPolicy")
    orphan_asked = options.get("orphanDependents")
    if orphan_asked is not None:
        added = ORPHAN if orphan_asked else strategy.dependents_finalizer
    elif asked is not None:
        added = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(asked, "")
    elif ORPHAN in current:
        added = ORPHAN
    elif FOREGROUND in current:
        added = FOREGROUND
    else:
        added = ORPHAN if strategy.default_propagation == "Orphan" else ""
    if [f for f in (ORPHAN, FOREGROUND) if f in current] == ([added] if added else []):
        return current
    kept = [f for f in current if f not in (ORPHAN, FOREGROUND)]
    return [*kept, added] if added else kept
