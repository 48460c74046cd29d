"""Contracts of the registry: the write sequence, and the strategy of a kind (docs/decisions.md 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from zope.interface import Attribute, Interface

from orchd.cache.entries import Entry
from orchd.cache.interfaces import ICache
from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.list_query import ListQuery
from orchd.kinds.patch.fieldset import FieldSet
from orchd.kinds.users import User
from orchd.server.registry.operations import Delete, Write
from orchd.txkit.turns import Gathering
from orchd.values import value_class


@value_class(kw_only=True)
class Context:
    """Who writes and how; passed down the write sequence. `now` is epoch seconds."""

    user: User
    resource: Resource
    namespace: str
    now: float
    subresource: str = ""
    #: True for a server-side apply, whose managed fields are always kept.
    applies: bool = False
    dry_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    #: The object as sent, in the requested version, with shape and defaults; None after admission changed it.
    sent: Object | None = None
    #: The stored object as text, for a change.
    stored: bytes = b""
    #: True if the stored object has the canonical shape, the defaults and the order of members of this release.
    stored_canonical: bool = False
    #: Field manager of the write (metadata.managedFields).
    manager: str = ""
    warn: Callable[[str], None] = lambda text: None
    annotate: Callable[[str, str], None] = lambda key, value: None
    #: Called with the seconds that admission webhooks took.
    webhook_time: Callable[[float], None] = lambda seconds: None
    #: Bytes of the request's body or, for a change, of the stored object if that is larger: an estimate of the work.
    size: int = 0
    #: Asked by work in another thread whether nobody waits for it any more; None where that is not known.
    interrupted: Callable[[], bool] | None = None


class IReview(Interface):
    """Admission of one attempt to write. Raises ApiError to reject it."""

    async def mutate(obj: Object | None) -> Object | None:
        """The object to continue with: `obj`, or a new one that replaces it. None for a deletion."""

    async def validate(obj: Object | None, old: Object | None = None) -> None:
        """Check the object that would be stored (None for a deletion). `old` replaces the old object that the review
        was made with, where validation has to see another form of it."""


class IAdmission(Interface):
    """Admission of writes."""

    def review(context: Context, operation: str, old: Object | None, *, name: str | None = None) -> IReview:
        """The review of one attempt: CREATE, UPDATE, DELETE or CONNECT. `old` is the stored object in the working
        version. `name` is that of the URL, None for that of the object."""


class ICreateStrategy(Interface):
    """Kind-specific rules for new objects."""

    def prepare_create(context: Context, obj: Object) -> Object:
        """Reset fields that clients may not set, and set computed fields (generation 1). Called after defaulting; in
        another thread for large objects, as `validate_create`."""

    def validate_create(context: Context, obj: Object) -> Sequence[Cause]:
        """All validation errors of a new object. Called in another thread for large objects: may use only its arguments
        and immutable state."""


class IUpdateStrategy(Interface):
    """Kind-specific rules for updates."""

    creates_on_update: bool = Attribute("True if PUT and apply may create the object.")
    creates_unnamed: bool = Attribute("True if an object sent with neither name nor generateName gets a name.")
    unconditional_update: bool = Attribute("True if PUT may omit metadata.resourceVersion.")
    gathering: Gathering | None = Attribute("What changes wait for, to share a commit; None: each begins at once.")

    def reset_fields(subresource: str) -> FieldSet:
        """Fields that this endpoint resets to their stored values; writers do not become their field managers."""

    def prepare_update(context: Context, obj: Object, old: Object) -> Object:
        """Carry over what this endpoint may not change (status on the main one, all else on /status), raise generation.
        Called in another thread for large objects, as `validate_create`."""

    def validate_update(context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        """All validation errors of a change. Called in another thread for large objects, as `validate_create`."""


class IDeleteStrategy(Interface):
    """Rules of a kind for deletions of its objects."""

    graceful_deletion: bool = Attribute("True if deletions have a grace period (pods).")
    two_phase_deletion: bool = Attribute(
        "True if a deletion only marks the object until its content is removed (namespaces, definitions)."
    )
    waits_for_content: bool = Attribute(
        "True if a deletion changes nothing while `blocks_deletion` is true of a marked object."
    )
    returns_object: bool = Attribute("True if DELETE returns the object, not a Status.")
    dependents_finalizer: str = Attribute("Finalizer that orphanDependents=false sets, '' for none.")
    default_propagation: str = Attribute(
        "Default propagation policy: Background, Orphan, or '' where there is no collection."
    )

    def deletion_error(name: str) -> str:
        """Why the object called `name` cannot be deleted, "" where it can."""

    def deletion_warnings(options: Mapping[str, Any]) -> Sequence[str]:
        """Texts for Warning headers on a deletion, of one object or of a collection, under DeleteOptions `options`."""

    def grace_period(obj: Object, options: Mapping[str, Any]) -> int:
        """Grace period in seconds of deleting `obj` under DeleteOptions `options`; 0: immediately. Only used with
        `graceful_deletion`."""

    def prepare_deletion(context: Context, obj: Object, old: Object) -> Object:
        """Further changes when an object is first marked for deletion (a namespace's phase); `old` is not marked
        yet."""

    def blocks_deletion(obj: Object) -> bool:
        """True if something besides finalizers prevents the removal (a namespace's own finalizers)."""

    def completes_deletion(context: Context, obj: Object, old: Object) -> bool:
        """True if this change completes a pending deletion (the last finalizer was removed)."""


class IAddressRecords(Interface):
    """Claims on addresses as objects of the API, which any server of the store sees."""

    async def take(obj: Object, addresses: Iterable[str]) -> None:
        """Record that an object has these addresses: all of them or none. Raises ClaimedError for one that is recorded
        already, ApiError if a record cannot be written."""

    async def leave(addresses: Iterable[str]) -> None:
        """Remove the records of addresses. Failures are logged: what remains is found by the repair of the records."""


class IStorageStrategy(Interface):
    """Rules of a kind for the storage of its objects."""

    records: IAddressRecords | None = Attribute("Records of `recorded_values`; None for kinds that record nothing.")

    async def allocate(context: Context, obj: Object, old: Object | None) -> tuple[Object, Callable[[], None]]:
        """Allocate values from ranges (cluster IPs, node ports), before prepare. Returns the object and a function to
        call when the write has ended, also after a failure: from then on the stored objects determine what is
        allocated."""

    def unique_values(obj: Object) -> frozenset[str]:
        """Cluster-wide unique values that the object holds (an address, a node port), by names that only this kind
        uses. Used where several servers write to one store; see `orchd.server.registry.claiming_writer`."""

    def recorded_values(obj: Object) -> frozenset[str]:
        """The values that the object holds of those that `records` records."""

    def observe_update(obj: Object, old: Object) -> None:
        """Record metrics of a change that was stored."""

    def time_to_live(obj: Object) -> int | None:
        """Seconds after which the store deletes the object (events); None: never."""


class IStrategy(ICreateStrategy, IUpdateStrategy, IDeleteStrategy, IStorageStrategy):
    """The kind-specific part of writes. Every method is pure and fast unless stated otherwise. Objects are in the
    working version; they are shared trees, so prepare methods return new ones."""

    def warnings(context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        """Texts for Warning headers on create (`old` is None) and update."""


#: The strategy of a resource.
StrategyOf = Callable[[Resource], IStrategy]


@value_class(kw_only=True)
class ListPage:
    """The entries of a list in the requested version, and the revision it is consistent with.

    `token` continues with the next page ("" on the last one). `remaining` is the number of objects after this page,
    None if unknown (a selector was given)."""

    entries: Sequence[Entry]
    revision: int
    token: str = ""
    remaining: int | None = None


@value_class(kw_only=True)
class Written:
    """Result of a write: the stored object, or for a dry run the one that would be stored, and whether it is new."""

    entry: Entry
    created: bool


@value_class(kw_only=True)
class Deleted:
    """Result of a delete: the final or the terminating object, and whether it is removed. `size` is about that of its
    JSON in bytes, 0 for an object that need not be computed on away from the reactor."""

    object: Object
    revision: int
    gone: bool
    size: int = 0


class IRegistry(Interface):
    """Reads and writes of every resource. Objects in and out of writes are in the requested version; entries are in the
    storage version. All methods raise ApiError."""

    async def get(resource: Resource, namespace: str, name: str, *, resource_version: str = "") -> Entry:
        """One entry. `resource_version` "" is a consistent read, "0" any version, N a version not older than N."""

    async def list(query: ListQuery) -> ListPage:
        """The objects of a query, or a page of them."""

    async def to_requested_version(resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the requested version for kinds with a conversion webhook; unchanged for other kinds."""

    def cache(resource: Resource) -> ICache:
        """The watch cache of a resource."""

    def strategy(resource: Resource) -> IStrategy:
        """The strategy of a kind."""

    async def deleted_entry(resource: Resource, namespace: str, deleted: Deleted) -> Entry:
        """An entry for the object of a deletion, in the storage version, which may not be stored any more."""

    async def write(context: Context, operation: Write) -> Written:
        """The write sequence for a new object or a change."""

    async def transform(context: Context, operation: Write, live: Object | None) -> Object:
        """The object that `operation` makes of `live`, in the requested version and with managedFields; nothing is
        stored. For endpoints that accept a body of another kind, of which `context.resource` is then."""

    async def delete(context: Context, operation: Delete) -> Deleted:
        """Delete: preconditions, grace period, finalizers, propagation policy, admission."""
