"""Contracts of the registry: the write sequence, and the strategy of a kind (docs/decisions.md 3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from zope.interface import Attribute, Interface

from orchd.cache.interfaces import Entry, ICache, Page
from orchd.errors import Cause
from orchd.kinds.catalog import Resource
from orchd.kinds.identity import User
from orchd.kinds.objects.list_options import ListOptions, Selection
from orchd.kinds.patch.fieldset import FieldSet

Object = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Context:
    """Who writes and how; passed down the write sequence. `now` is epoch seconds."""

    user: User
    resource: Resource
    namespace: str
    now: float
    subresource: str = ""
    dry_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    #: The object as sent, in the requested version, with shape and defaults; None after admission changed it.
    given: Object | None = None
    #: The stored object as text, for a change.
    stored: bytes = b""
    #: Field manager of the write (metadata.managedFields).
    manager: str = ""
    warn: Callable[[str], None] = lambda text: None
    annotate: Callable[[str, str], None] = lambda key, value: None
    #: Bytes of the request's body: how much there may be to look at.
    size: int = 0


class Admit(Protocol):
    """Admission of one write. `mutate` returns the object to continue with; `validate` only rejects."""

    def __call__(
        self, context: Context, operation: str, obj: Object | None, old: Object | None
    ) -> Awaitable[Object | None]: ...


#: Makes the new object from the current one (None when it does not exist); called again after a lost race.
Transform = Callable[[Object | None], Awaitable[Object]]


class IStrategy(Interface):
    """What is special about a kind. Every method is pure and fast but where it says otherwise; objects are shared trees,
    so prepare gives back new ones. Objects are in the storage version. `validate_create` and `validate_update` of large
    objects are called in another thread: they look at nothing but their arguments and what never changes."""

    creates_on_update: bool = Attribute("May PUT and apply create the object?")
    unconditional_update: bool = Attribute("May PUT leave out metadata.resourceVersion?")
    grace: bool = Attribute("Is deletion graceful (pods)?")
    returns_deleted: bool = Attribute("Does DELETE answer with the object, not a Status?")
    ends_in_two: bool = Attribute("Does a first deletion only begin what a second one ends (namespaces, definitions)?")
    waits_for_content: bool = Attribute("Does a deletion change nothing while `holds` is true of a marked object (namespaces)?")
    unless_orphaned: str = Attribute("Finalizer that orphanDependents=false sets, '' for none.")
    propagation: str = Attribute("Default propagation policy: Background, Orphan, or '' where there is no collection.")

    def prepare_create(context: Context, obj: Object) -> Object:
        """Set what clients may not set and what the kind computes (status cleared, generation 1). After defaults."""

    def validate_create(context: Context, obj: Object) -> Sequence[Cause]:
        """All validation errors of a new object."""

    def reset_fields(subresource: str) -> FieldSet:
        """Fields that this endpoint resets to their stored values; writers do not become their field managers."""

    def prepare_update(context: Context, obj: Object, old: Object) -> Object:
        """Carry over what this endpoint may not change (status on the main one, all else on /status), raise generation."""

    def validate_update(context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        """All validation errors of a change."""

    def warnings(context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        """Texts for Warning headers on create (`old` is None) and update."""

    def deletion_warnings(options: Mapping[str, Any]) -> Sequence[str]:
        """Texts for Warning headers on a deletion, of one object or of a collection, under DeleteOptions `options`."""

    async def allocate(context: Context, obj: Object, old: Object | None) -> tuple[Object, Callable[[], None]]:
        """Allocate values from ranges (cluster IPs, node ports), before prepare. Returns the object and a function to
        call when the write has ended, however it ended: from then on the stored objects determine what is allocated."""

    def claims(obj: Object) -> frozenset[str]:
        """Cluster-wide unique values that the object holds (an address, a node port), by names that only this kind
        uses. Used where several servers write to one store; see `orchd.server.registry.claiming_writer`."""

    def ttl(obj: Object) -> int | None:
        """Seconds after which the store deletes the object (events); None: never."""

    def gone_after_update(context: Context, obj: Object, old: Object) -> bool:
        """True if this change completes a pending deletion (the last finalizer was removed)."""

    def holds(obj: Object) -> bool:
        """True if something besides finalizers blocks the deletion (a namespace's own finalizers)."""

    def deletion_error(name: str) -> str:
        """Why the object called `name` cannot be deleted, "" where it can."""

    def prepare_deletion(context: Context, obj: Object, old: Object) -> Object:
        """Further changes when an object is first marked for deletion (a namespace's phase); `old` is not marked
        yet."""

    def deletion_grace(obj: Object, options: Mapping[str, Any]) -> int:
        """Grace period in seconds of deleting `obj` under DeleteOptions `options`; 0: immediately. Only used with
        `grace`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """Result of a delete: the final or the terminating object, and whether it is removed."""

    object: Object
    revision: int
    gone: bool


class IRegistry(Interface):
    """Reads and writes of every resource. Objects in and out of writes are in the requested version; entries are in the
    storage version. All methods raise ApiError."""

    async def get(resource: Resource, namespace: str, name: str, *, resource_version: str = "") -> Entry:
        """One entry. `resource_version` "" is a consistent read, "0" any version, N a version not older than N."""

    async def list(resource: Resource, namespace: str, options: ListOptions) -> tuple[Page, str, Selection]:
        """A page, the continue token of the next ("" at the end) and the parsed selectors.

        `namespace` "" means all."""

    async def to_requested_version(resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the requested version for kinds with a conversion webhook; unchanged for other kinds."""

    async def translate(resource: Resource, obj: Object) -> Object:
        """A custom object of any version, converted to the version of `resource`, through the webhook if needed. Raises
        ApiError 500."""

    def cache(resource: Resource) -> ICache:
        """The watch cache of a resource."""

    def strategy(resource: Resource) -> IStrategy:
        """The strategy of a kind."""

    def transient_entry(resource: Resource, namespace: str, obj: Object) -> Entry:
        """An entry for an object in the storage version that is returned without being stored."""

    async def create(context: Context, obj: Object) -> Entry:
        """The write sequence for a new object."""

    async def update(
        context: Context, name: str, transform: Transform, *, create: bool = False, uid: str = ""
    ) -> tuple[Entry, bool]:
        """The write sequence for a change. `create` allows creating a missing object; `uid` is a precondition ("":
        none). Returns the object and whether it was created."""

    async def delete(context: Context, name: str, *, options: Mapping[str, Any]) -> Deleted:
        """Delete: preconditions, grace period, finalizers, propagation policy, admission."""
