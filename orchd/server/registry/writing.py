"""The write sequence of create and change (docs/decisions.md 3).

Current object, patch or replacement, mutating admission, defaults again, strategy (prepare, validate), validating
admission on the result, compare-and-swap; a lost race repeats from the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchd import errors
from orchd.cache.interfaces import Entry
from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.objects.list_options import unsigned
from orchd.kinds.objects.owner_references import single_owners
from orchd.kinds.patch import ownership
from orchd.server.registry import objectmeta
from orchd.server.registry.interfaces import Admit, Context, IStrategy, Object, Transform
from orchd.server.registry.object_store import ObjectStore, path_of
from orchd.server.registry.strategies.kind_rules import home_group
from orchd.store.interfaces import ClaimedError, KeyExistsError, RevisionConflictError, StoreError, UnavailableError
from orchd.txkit.aside import Aside

#: Maximum attempts after lost races, before the client gets an error.
_ATTEMPTS = 100


def refuse(resource: Resource, name: str, causes: Sequence[Cause]) -> None:
    """Raise 422 if there are causes. The error names the kind's internal group, as in the reference."""
    if causes:
        raise errors.invalid(home_group(resource), resource.kind, name, causes)


def store_failure(error: StoreError) -> ApiError:
    """The API error for a failed store write."""
    if isinstance(error, UnavailableError):
        return ApiError(500, "InternalError", f"the store cannot take writes: {error}", headers={"Retry-After": "1"})
    return errors.internal(str(error))


class Writer:
    """Creates and changes objects of every kind."""

    def __init__(
        self,
        access: ObjectStore,
        strategies: Any,
        naming: objectmeta.Naming,
        *,
        mutate: Admit,
        validate: Admit,
        aside: Aside,
    ) -> None:
        """`strategies` maps a resource to its IStrategy (called)."""
        self._aside = aside
        self._access = access
        self._strategy = strategies
        self._naming = naming
        self._mutate = mutate
        self._validate = validate

    async def create(self, context: Context, obj: Object) -> Entry:
        """Store a new object given in the requested version, with shape, defaults and managed fields done."""
        resource, metadata = context.resource, obj.get("metadata") or {}
        try:
            return await self._create_patiently(context, obj)
        except KeyExistsError as taken:
            name = taken.key.rpartition("/")[2]
            made = errors.generated_name_conflict if metadata.get("generateName") else errors.already_exists
            error = made(resource.group, resource.plural, name)
            if self._is_terminating(context, name):
                error.message = f"object is being deleted: {error.message}"
            raise error from None
        except StoreError as error:
            raise store_failure(error) from error

    def _is_terminating(self, context: Context, name: str) -> bool:
        """True if the object of this name is marked for deletion."""
        found = self._access.cache(context.resource).get(path_of(context.resource, context.namespace, name))
        return found is not None and bool(self._access.decode(found)["metadata"].get("deletionTimestamp"))

    async def _create_patiently(self, context: Context, obj: Object) -> Entry:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._create(context, obj)
            except ClaimedError:
                # Another server allocated the same value: allocate again, or reject a requested value.
                continue
        return await self._create(context, obj)

    async def _create(self, context: Context, obj: Object) -> Entry:
        resource = context.resource
        obj = await self._prepare_given(context, "CREATE", obj, None)
        # Admission sees the object as sent, which may lack the namespace.
        obj = objectmeta.in_namespace(context, obj)
        strategy: IStrategy = self._strategy(resource)
        obj, settle = await strategy.allocate(context, obj, None)
        try:
            obj = strategy.prepare_create(context, objectmeta.for_create(context, obj, self._naming))
            name = obj["metadata"].get("name", "")
            refuse(resource, name, await self._aside(context.size, strategy.validate_create, context, obj))
            for text in strategy.warnings(context, obj, None):
                context.warn(text)
            await self._validate(context, "CREATE", obj, None)
            if not context.dry_run and _names_a_version(obj):
                raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
            return await self._store_new(context, strategy, name, obj)
        finally:
            settle()

    async def _store_new(self, context: Context, strategy: IStrategy, name: str, obj: Object) -> Entry:
        resource = context.resource
        path = path_of(resource, context.namespace, name)
        if context.dry_run:
            await self._must_be_free(resource, path)
            return self._access.transient_entry(resource, path, obj)
        obj = objectmeta.with_metadata(obj, resourceVersion=None)
        kept = await self._access.to_stored_version(resource, obj)
        revision = await self._access.writer_for(strategy).create(self._access.key(resource, path), obj, kept)
        return await self._entry_of(resource, path, revision, obj)

    async def _must_be_free(self, resource: Resource, path: str) -> None:
        cache = self._access.cache(resource)
        await cache.fresh()
        if cache.get(path) is not None or cache.damaged(path) is not None:
            raise KeyExistsError(self._access.key(resource, path))

    async def _entry_of(self, resource: Resource, path: str, revision: int, obj: Object) -> Entry:
        """The cache's entry of a durable write; a new entry if a later write has replaced it."""
        entry = await self._access.cache(resource).applied(path, revision)
        if entry is not None and entry.revision == revision:
            return entry
        return self._access.transient_entry(resource, path, objectmeta.with_metadata(obj, resourceVersion=str(revision)))

    async def _prepare_given(self, context: Context, operation: str, given: Object, old: Object | None) -> Object:
        """The object as sent, in the storage version, after mutating admission."""
        obj = self._access.to_storage(context.resource, given)
        admitted = await self._run_mutating(context, operation, obj, old)
        context.given = given if admitted is obj else None
        return admitted

    async def _run_mutating(self, context: Context, operation: str, obj: Object, old: Object | None) -> Object:
        """The object after mutating admission, with canonical shape and defaults again if it changed."""
        admitted = await self._mutate(context, operation, obj, old)
        assert admitted is not None
        if admitted is obj:
            return obj
        admitted = single_owners(admitted, context.warn, admitted=True)
        return self._access.canonicalize(context.resource, ownership.after_admission(admitted, obj))

    async def update(
        self, context: Context, name: str, transform: Transform, *, create: bool = False, uid: str = ""
    ) -> tuple[Entry, bool]:
        """Change the object called `name`. `transform` gets it in the requested version and may be called again.

        With `create` a missing object is made; the second value says whether that happened. `uid` is a precondition,
        which no missing object satisfies; "" is none. Raises ApiError.
        """
        resource = context.resource
        path = path_of(resource, context.namespace, name)
        cache = self._access.cache(resource)
        for _ in range(_ATTEMPTS):
            await cache.fresh()
            entry = cache.get(path)
            if entry is None:
                cache.check_readable(path)
            try:
                if entry is None:
                    if uid:
                        raise precondition_failed(self._access, context, name, uid, "")
                    return await self._create_on_update(context, name, transform, create), True
                return await self._change(context, name, path, entry, transform, uid), False
            except (RevisionConflictError, KeyExistsError, ClaimedError):
                # Lost race: read the object again and repeat.
                continue
            except StoreError as error:
                raise store_failure(error) from error
        raise errors.conflict(resource.group, resource.plural, name, errors.MODIFIED)

    async def _create_on_update(self, context: Context, name: str, transform: Transform, create: bool) -> Entry:
        resource = context.resource
        if not create:
            raise errors.not_found(resource.group, resource.plural, name)
        obj = await transform(None)
        # The resourceVersion of a missing object is ignored, but must be a number.
        unsigned((obj.get("metadata") or {}).get("resourceVersion") or "0")
        return await self._create(context, objectmeta.with_metadata(obj, resourceVersion=None, name=name))

    async def _change(
        self, context: Context, name: str, path: str, entry: Entry, transform: Transform, uid: str
    ) -> Entry:
        resource = context.resource
        strategy: IStrategy = self._strategy(resource)
        old = await self._access.to_working_version(resource, self._access.decode(entry))
        if uid and uid != old["metadata"].get("uid"):
            raise precondition_failed(self._access, context, name, uid, old["metadata"].get("uid", ""))
        obj = await transform(self._access.to_version(resource, old))
        self._check_guard(context, strategy, name, obj, old)
        obj = await self._prepare_given(context, "UPDATE", obj, old)
        context.stored = entry.json
        obj, settle = await strategy.allocate(context, obj, old)
        try:
            obj = strategy.prepare_update(context, objectmeta.for_update(context, obj, old), old)
            obj = objectmeta.with_metadata(obj, resourceVersion=old["metadata"]["resourceVersion"])
            size = max(context.size, len(entry.json))
            refuse(resource, name, await self._aside(size, strategy.validate_update, context, obj, old))
            for text in strategy.warnings(context, obj, old):
                context.warn(text)
            await self._validate(context, "UPDATE", obj, old)
            return await self._store_change(context, strategy, path, entry, obj, old)
        finally:
            settle()

    async def _store_change(
        self, context: Context, strategy: IStrategy, path: str, entry: Entry, obj: Object, old: Object
    ) -> Entry:
        resource = context.resource
        key = self._access.key(resource, path)
        if strategy.gone_after_update(context, obj, old):
            if not context.dry_run:
                await self._access.writer_for(strategy).delete(key, old, expected=entry.revision)
            return self._access.transient_entry(resource, path, obj)
        if obj == old or ownership.keep_times(obj, old) is old:
            # Only the timestamp of a managedFields entry would change.
            return entry
        if context.dry_run:
            return self._access.transient_entry(resource, path, obj)
        kept = await self._access.to_stored_version(resource, obj)
        revision = await self._access.writer_for(strategy).update(key, obj, old, kept, expected=entry.revision)
        return await self._entry_of(resource, path, revision, obj)

    def _check_guard(
        self, context: Context, strategy: IStrategy, name: str, obj: Object, old: Object
    ) -> None:
        """A resourceVersion in the object must equal that of the stored object."""
        resource = context.resource
        metadata, before = obj.get("metadata") or {}, old["metadata"]
        version = unsigned(metadata.get("resourceVersion") or "0")
        if not version:
            if not strategy.unconditional_update:
                message = "Invalid value: 0x0: must be specified for an update"
                cause = Cause("FieldValueInvalid", message, "metadata.resourceVersion")
                raise errors.invalid(resource.group, resource.plural, name, [cause])
        elif version != int(before["resourceVersion"]):
            raise errors.conflict(resource.group, resource.plural, name, errors.MODIFIED)


def _names_a_version(obj: Object) -> bool:
    """True if a new object has a resourceVersion other than 0. Text that is not a number is ignored."""
    try:
        return unsigned(obj["metadata"].get("resourceVersion") or "0") > 0
    except ApiError:
        return False


def precondition_failed(
    access: ObjectStore, context: Context, name: str, wanted: str, found: str
) -> ApiError:
    """409 for a uid that is not the object's."""
    resource = context.resource
    # The reference checks dry runs before it completes the key.
    root = "" if context.dry_run else "/registry"
    key = f"{root}/{resource.key}/{path_of(resource, context.namespace, name)}"
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )
    return errors.conflict(resource.group, resource.plural, name, why)
