"""The write sequence of every kind and operation (docs/decisions.md 3).

Current object, operation, mutating admission, defaults again, strategy (prepare, validate), validating admission on the
result, compare-and-swap; a lost race repeats from the top.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from threading import Event

from twisted.internet.defer import CancelledError

from orchd import errors
from orchd.cache.entries import Entry
from orchd.errors import ApiError, Cause
from orchd.kinds import bounds, fields
from orchd.kinds.catalog import Resource
from orchd.kinds.fields import with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.list_options import parse_unsigned
from orchd.kinds.objects.owner_references import single_owners
from orchd.kinds.objects.schema_check.limits import LongValidationError
from orchd.kinds.patch import ownership
from orchd.server.registry import objectmeta
from orchd.server.registry.interfaces import Context, IAdmission, IReview, IStrategy, StrategyOf, Written
from orchd.server.registry.object_store import ObjectStore, path_of
from orchd.server.registry.operations import Apply, AuthorizeCreate, Change, Create, Edit, Replace, Write
from orchd.server.registry.transform import Transformer
from orchd.store.interfaces import ClaimedError, KeyExistsError, RevisionConflictError, StoreError, UnavailableError
from orchd.txkit.compute_thread import LARGE, ComputeThread

#: Maximum attempts after lost races, before the client gets an error.
_ATTEMPTS = 100


def refuse(resource: Resource, name: str, causes: Sequence[Cause]) -> None:
    """Raise 422 if there are causes. The error names the kind's internal group, as in the reference."""
    if causes:
        raise errors.invalid(resource.error_group, resource.kind, name, causes)


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
        strategies: StrategyOf,
        naming: objectmeta.Naming,
        admission: IAdmission,
        compute: ComputeThread,
    ) -> None:
        self._compute = compute
        self._access = access
        self._versions = access.versions
        self._strategy = strategies
        self._naming = naming
        self._admission = admission
        self.transformer = Transformer(access, strategies, compute)
        self._place_new = access.settings.release.choose(
            (("", objectmeta.as_sent), ("1.24", objectmeta.without_system))
        )
        self._place = access.settings.release.choose((("", objectmeta.as_sent), ("1.24", objectmeta.in_namespace)))
        #: True if an object that the request cannot create is missing before its uid is another.
        self._missing_first = access.settings.release.choose((("", False), ("1.35", True)))
        #: How a missing resourceVersion is shown in errors.
        self._no_version = access.settings.release.choose((("", "0x0"), ("1.34", "0")))

    async def write(self, context: Context, operation: Write) -> Written:
        """Carry out an operation. The entry is of the storage version. Raises ApiError."""
        if isinstance(operation, Create):
            operation = Create(obj=self._place_new(context, operation.obj))
            obj = await self.transformer.transform(context, operation, None)
            return Written(entry=await self._create_or_conflict(context, obj), created=True)
        if isinstance(operation, Apply):
            context = replace(context, applies=True)
        elif isinstance(operation, Replace):
            placed = self._place(context, operation.obj)
            operation = Replace(name=operation.name, obj=placed, authorize_create=operation.authorize_create)
        return await self._change(context, operation)

    # -- create

    async def _create_or_conflict(self, context: Context, obj: Object) -> Entry:
        """Store a new object. Raises ApiError 409 for a taken name, 500 for a failing store."""
        resource, metadata = context.resource, fields.metadata(obj)
        try:
            return await self._create_with_retries(context, obj)
        except KeyExistsError as taken:
            name = taken.key.rpartition("/")[2]
            make_error = errors.generated_name_conflict if metadata.get("generateName") else errors.already_exists
            error = make_error(resource.group, resource.plural, name)
            if self._is_terminating(context, name):
                error.message = f"object is being deleted: {error.message}"
            raise error from None
        except StoreError as error:
            raise store_failure(error) from error

    def _is_terminating(self, context: Context, name: str) -> bool:
        """True if the object of this name is marked for deletion."""
        entry = self._access.cache(context.resource).get(path_of(context.resource, context.namespace, name))
        return entry is not None and bool(self._access.decode(entry)["metadata"].get("deletionTimestamp"))

    async def _create_with_retries(self, context: Context, obj: Object) -> Entry:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._create(context, obj)
            except ClaimedError:
                # Another server allocated the same value: allocate again, or reject a requested value.
                continue
        return await self._create(context, obj)

    async def _create(self, context: Context, sent: Object, authorize: AuthorizeCreate | None = None) -> Entry:
        """Store a new object, which the user may create unless `authorize` raises ApiError 403. As in the reference, a
        request that may only change objects learns first what is wrong with the one that it would create."""
        resource = context.resource
        strategy: IStrategy = self._strategy(resource)
        review = self._admission.review(context, "CREATE", None)
        context, obj = await self._admit(context, review, sent)
        # Admission sees the object as sent, which may lack the namespace.
        obj = objectmeta.in_namespace(context, obj)
        obj, release = await strategy.allocate(context, obj, None)
        try:
            obj = objectmeta.for_create(context, obj, self._naming, unnamed=strategy.creates_unnamed)
            obj = await self._compute(context.size, strategy.prepare_create, context, obj)
            name = obj["metadata"].get("name", "")
            refuse(resource, name, await self._validate(strategy.validate_create, context, obj))
            for text in await self._compute(context.size, strategy.warnings, context, obj, None):
                context.warn(text)
            if authorize is not None:
                await authorize()
            await review.validate(obj)
            if not context.dry_run and _names_a_version(obj):
                raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
            return await self._store_new(context, strategy, name, obj)
        finally:
            release()

    async def _validate(
        self, validate: Callable[..., Sequence[Cause]], context: Context, *objects: Object
    ) -> Sequence[Cause]:
        """The causes of a strategy. Small objects with long rules are validated once more, away from the reactor."""
        if context.size <= LARGE:
            try:
                return validate(context, *objects)
            except LongValidationError:
                pass
        interrupted = Event()
        context = replace(context, size=max(context.size, LARGE + 1), interrupted=interrupted.is_set)
        try:
            return await self._compute(context.size, validate, context, *objects)
        except CancelledError:
            interrupted.set()
            raise

    async def _store_new(self, context: Context, strategy: IStrategy, name: str, obj: Object) -> Entry:
        resource = context.resource
        path = path_of(resource, context.namespace, name)
        if context.dry_run:
            await self._must_be_free(resource, path)
            return await self._transient(context.size, resource, path, obj)
        obj = with_metadata(obj, resourceVersion=None)
        kept = await self._versions.to_stored(resource, obj)
        key = self._access.key(resource, path)
        arranged, value = await self._compute(context.size, self._access.arrange, resource, kept)
        if len(value) > bounds.MAX_STORED_TEXT:
            obj, arranged, value = await self._fit(context, key, obj, kept, arranged, value)
        revision = await self._access.writer_for(strategy).create(key, obj, arranged, value)
        return await self._entry_of(resource, path, revision, obj, value)

    async def _must_be_free(self, resource: Resource, path: str) -> None:
        cache = self._access.cache(resource)
        await cache.fresh()
        if cache.get(path) is not None or cache.damaged(path) is not None:
            raise KeyExistsError(self._access.key(resource, path))

    # -- change

    async def _change(self, context: Context, operation: Change) -> Written:
        """Change the named object, or create it where operation and kind allow that."""
        resource, name = context.resource, operation.name
        path = path_of(resource, context.namespace, name)
        gathering = self._strategy(resource).gathering
        if gathering is not None:
            await gathering.wait()
        cache = self._access.cache(resource)
        # Other processes write to the store too: the first attempt is optimistic, on the cached state, since the store
        # compares revisions. Not for custom kinds, of which another process may know a newer definition.
        newest = cache.alone or resource.custom
        for _ in range(_ATTEMPTS):
            await (cache.fresh() if newest else cache.ready())
            entry = cache.get(path)
            optimistic, newest = not newest, True
            if entry is None:
                if optimistic:
                    continue
                cache.check_readable(path)
            try:
                if entry is not None:
                    attempt = self._attempt(context, operation, path, entry)
                    if optimistic:
                        attempt = self._confirmed(attempt, context, path, entry)
                    return Written(entry=await attempt, created=False)
                uid = _wanted_uid(operation)
                if uid and not (self._missing_first and not self._may_create(context, operation)):
                    raise precondition_failed(context, name, uid, "")
                return Written(entry=await self._create_missing(context, operation), created=True)
            except (RevisionConflictError, KeyExistsError, ClaimedError):
                # Lost race: read the object again and repeat.
                continue
            except StoreError as error:
                raise store_failure(error) from error
        raise errors.conflict(resource.group, resource.plural, name, errors.MODIFIED)

    async def _confirmed(self, attempt: Awaitable[Entry], context: Context, path: str, entry: Entry) -> Entry:
        """The outcome of an attempt to change `entry`, which may be outdated. A write was compared by the store; a
        refusal, a dry run or no change is valid only if `entry` is current. Raises RevisionConflictError if not."""
        cache = self._access.cache(context.resource)
        refusal: ApiError | None = None
        result = entry
        try:
            result = await attempt
        except ApiError as error:
            refusal = error
        if refusal is None and result is not entry and not context.dry_run:
            return result
        await cache.fresh()
        if cache.get(path) is not entry:
            raise RevisionConflictError(path, None)
        if refusal is not None:
            raise refusal
        return result

    async def _create_missing(self, context: Context, operation: Change) -> Entry:
        resource = context.resource
        if not self._may_create(context, operation):
            raise errors.not_found(resource.group, resource.plural, operation.name)
        obj = await self.transformer.transform(context, operation, None)
        # The resourceVersion of a missing object is ignored, but must be a number.
        parse_unsigned(fields.metadata(obj).get("resourceVersion") or "0")
        return await self._create(
            replace(context, subresource=""),
            with_metadata(obj, resourceVersion=None, name=operation.name),
            operation.authorize_create if isinstance(operation, (Apply, Replace)) else None,
        )

    def _may_create(self, context: Context, operation: Change) -> bool:
        """True if the operation creates a missing object."""
        if context.subresource and not self._creates(context):
            return False
        if isinstance(operation, Replace):
            return bool(self._strategy(context.resource).creates_on_update)
        return isinstance(operation, Apply)

    @staticmethod
    def _creates(context: Context) -> bool:
        """True if writes of missing objects through the subresource create them."""
        described = context.resource.subresources.get(context.subresource)
        return described is not None and described.creates

    async def _attempt(self, context: Context, operation: Change, path: str, entry: Entry) -> Entry:
        """One attempt to change the object of `entry`. Raises StoreError when the race is lost."""
        resource, name = context.resource, operation.name
        strategy: IStrategy = self._strategy(resource)
        fresh = entry.fresh
        decoded = fresh if fresh is not None else await self._compute(len(entry.json), self._access.decode, entry)
        old = await self._versions.to_working(resource, decoded, len(entry.json))
        uid = _wanted_uid(operation)
        if uid and uid != old["metadata"].get("uid"):
            raise precondition_failed(context, name, uid, old["metadata"].get("uid", ""))
        (live,) = await self._versions.to_requested(resource, (old,), len(entry.json))
        # An object of a custom kind that is just being delivered was not decoded from the ordered bytes.
        ordered = fresh is None or not resource.custom
        context = replace(
            context,
            size=max(context.size, len(entry.json)),
            stored=entry.json,
            stored_canonical=entry.own and ordered and live is decoded,
        )
        sent = await self.transformer.transform(context, operation, live)
        _check_guard(resource, strategy, sent, old, self._no_version)
        review = self._admission.review(context, "UPDATE", old)
        context, obj = await self._admit(context, review, sent)
        obj, release = await strategy.allocate(context, obj, old)
        try:
            obj = objectmeta.for_update(context, obj, old)
            obj = await self._compute(context.size, strategy.prepare_update, context, obj, old)
            obj = with_metadata(obj, resourceVersion=old["metadata"]["resourceVersion"])
            refuse(resource, name, await self._validate(strategy.validate_update, context, obj, old))
            for text in await self._compute(context.size, strategy.warnings, context, obj, old):
                context.warn(text)
            await review.validate(obj)
            return await self._store_change(context, strategy, path, entry, obj, old)
        finally:
            release()

    async def _store_change(
        self, context: Context, strategy: IStrategy, path: str, entry: Entry, obj: Object, old: Object
    ) -> Entry:
        resource = context.resource
        key = self._access.key(resource, path)
        if strategy.completes_deletion(context, obj, old):
            if not context.dry_run:
                await self._access.writer_for(strategy).delete(key, old, expected=entry.revision)
            return await self._transient(context.size, resource, path, obj)
        if obj == old or ownership.keep_times(obj, old) is old:
            # Only the timestamp of a managedFields entry would change.
            return entry
        if context.dry_run:
            return await self._transient(context.size, resource, path, obj)
        kept = await self._versions.to_stored(resource, obj)
        earlier = old if context.stored_canonical else None
        arranged, value = await self._compute(context.size, self._access.arrange, resource, kept, earlier)
        if len(value) > bounds.MAX_STORED_TEXT:
            obj, arranged, value = await self._fit(context, key, obj, kept, arranged, value, old)
        writer = self._access.writer_for(strategy)
        revision = await writer.update(key, obj, old, arranged, value, expected=entry.revision)
        strategy.observe_update(obj, old)
        return await self._entry_of(resource, path, revision, obj, value)

    # -- both

    async def _fit(
        self,
        context: Context,
        key: str,
        obj: Object,
        kept: Object,
        arranged: Object,
        value: bytes,
        old: Object | None = None,
    ) -> tuple[Object, Object, bytes]:
        """An object that may be too large for the store, as it was given or, as in the reference, without its managed
        fields: in the working version, arranged for the store and encoded; `kept` is in the stored version. Raises
        ApiError 500 for one that is too large without them."""
        resource = context.resource
        size = await self._compute(len(value), self._access.stored_size, resource, key, kept, value, old)
        if size <= bounds.MAX_STORED:
            return obj, arranged, value
        if context.applies or not obj["metadata"].get("managedFields"):
            raise bounds.too_large(size)
        obj, kept = (with_metadata(one, managedFields=None) for one in (obj, kept))
        arranged, value = await self._compute(len(value), self._access.arrange, resource, kept)
        size = await self._compute(len(value), self._access.stored_size, resource, key, kept, value, old)
        if size > bounds.MAX_STORED:
            raise bounds.too_large(size)
        return obj, arranged, value

    async def _admit(self, context: Context, review: IReview, sent: Object) -> tuple[Context, Object]:
        """The context of what follows, and the sent object in the working version after mutating admission: with
        canonical shape and defaults again if that changed it."""
        resource = context.resource
        obj = await self._versions.to_working(resource, sent, context.size)
        admitted = await review.mutate(obj)
        assert admitted is not None
        if admitted is obj:
            context = replace(context, sent=sent)
            # Schemas of custom kinds may have made a large object of a small body.
            return (context if not resource.custom else await self._sized(context, obj)), obj
        admitted = single_owners(admitted, context.warn, admitted=True)
        admitted = ownership.after_admission(admitted, obj)
        context = await self._sized(context, admitted)
        return context, await self._compute(context.size, self._versions.canonicalize, resource, admitted, obj)

    async def _sized(self, context: Context, obj: Object) -> Context:
        """The context of an object that has grown since its body. Raises ApiError for an object beyond its budget."""
        size = await self._compute(context.size, bounds.check_object, obj)
        return replace(context, size=size) if size > context.size else context

    async def _entry_of(self, resource: Resource, path: str, revision: int, obj: Object, value: bytes) -> Entry:
        """The cache's entry of a durable write; a new entry if a later write has replaced it."""
        entry = await self._access.cache(resource).applied(path, revision)
        if entry is not None and entry.revision == revision:
            return entry
        return await self._transient(len(value), resource, path, with_metadata(obj, resourceVersion=str(revision)))

    async def _transient(self, size: int, resource: Resource, path: str, obj: Object) -> Entry:
        return await self._compute(size, self._access.transient_entry, resource, path, obj)


def _wanted_uid(operation: Change) -> str:
    """The uid that the object must have, "" for any. No missing object has it."""
    if isinstance(operation, Replace):
        return fields.metadata(operation.obj).get("uid") or ""
    return operation.uid if isinstance(operation, Edit) else ""


def _check_guard(resource: Resource, strategy: IStrategy, obj: Object, old: Object, missing: str) -> None:
    """A resourceVersion in the object must equal that of the stored object. Raises ApiError 409, or 422 where the kind
    requires one, of which the error shows `missing`."""
    name = old["metadata"]["name"]
    version = parse_unsigned(fields.metadata(obj).get("resourceVersion") or "0")
    if not version:
        if not strategy.unconditional_update:
            message = f"Invalid value: {missing}: must be specified for an update"
            cause = Cause("FieldValueInvalid", message, "metadata.resourceVersion")
            raise errors.invalid(resource.group, resource.plural, name, [cause])
    elif version != int(old["metadata"]["resourceVersion"]):
        raise errors.conflict(resource.group, resource.plural, name, errors.MODIFIED)


def _names_a_version(obj: Object) -> bool:
    """True if a new object has a resourceVersion other than 0. Text that is not a number is ignored."""
    try:
        return parse_unsigned(obj["metadata"].get("resourceVersion") or "0") > 0
    except ApiError:
        return False


def precondition_failed(context: Context, name: str, expected: str, actual: str) -> ApiError:
    """409 for a uid that is not the object's."""
    resource = context.resource
    # The reference checks dry runs before it completes the key.
    root = "" if context.dry_run else "/registry"
    key = f"{root}/{resource.key}/{path_of(resource, context.namespace, name)}"
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {expected}, UID in object meta: {actual}"
    )
    return errors.conflict(resource.group, resource.plural, name, why)
