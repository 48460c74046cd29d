"""The registry's contract: the one write sequence, and where kinds differ (docs/decisions.md 3)."""

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
    """Who writes, and how: handed down the write sequence. `now` is seconds since the epoch."""

    user: User
    resource: Resource
    namespace: str
    now: float
    subresource: str = ""
    dry_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    #: The object as it was sent, in the requested version, with shape and defaults; None where admission changed it.
    given: Object | None = None
    #: What is stored, as text, where something is changed.
    stored: bytes = b""
    #: Who owns the fields written (metadata.managedFields).
    manager: str = ""
    warn: Callable[[str], None] = lambda text: None
    annotate: Callable[[str, str], None] = lambda key, value: None
    #: Bytes of the request's body: how much there may be to look at.
    size: int = 0


class Admit(Protocol):
    """Admission as the registry sees it. `mutate` gives back the object to go on with; `validate` only refuses."""

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
        """Everything wrong with a new object."""

    def reset_fields(subresource: str) -> FieldSet:
        """What an endpoint takes back to its stored value: nobody comes to own it by writing there."""

    def prepare_update(context: Context, obj: Object, old: Object) -> Object:
        """Carry over what this endpoint may not change (status on the main one, all else on /status), raise generation."""

    def validate_update(context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        """Everything wrong with a change."""

    def warnings(context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        """Texts for Warning headers on create (`old` is None) and update."""

    def deletion_warnings(options: Mapping[str, Any]) -> Sequence[str]:
        """Texts for Warning headers on a deletion, of one object or of a collection, under DeleteOptions `options`."""

    async def allocate(context: Context, obj: Object, old: Object | None) -> tuple[Object, Callable[[], None]]:
        """Take what comes from a range (cluster IPs, node ports), before prepare. Gives back the object and a function
        that is called when the write is over, however it ended: from then on the stored objects say what is taken."""

    def claims(obj: Object) -> frozenset[str]:
        """What the object holds that no other object of the cluster may (an address, a node port): names that only this
        kind uses. Asked for where several servers write to one store; see `keeping`."""

    def ttl(obj: Object) -> int | None:
        """Seconds after which the store deletes the object by itself (events); None: never."""

    def gone_after_update(context: Context, obj: Object, old: Object) -> bool:
        """Does this change end a deletion under way (the last finalizer is gone)?"""

    def holds(obj: Object) -> bool:
        """Does something besides finalizers keep a deleted object (a namespace's own finalizers)?"""

    def undeletable(name: str) -> str:
        """Why the object called `name` cannot be deleted, "" where it can."""

    def marked(context: Context, obj: Object, old: Object) -> Object:
        """What else changes when an object is first marked for deletion (a namespace's phase); `old` is not marked yet."""

    def deletion_grace(obj: Object, options: Mapping[str, Any]) -> int:
        """Seconds of graceful deletion for `obj` under DeleteOptions `options`; 0 is at once. Only where `grace`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """Outcome of a delete: the final or the still terminating object, and whether it is gone."""

    object: Object
    revision: int
    gone: bool


class IRegistry(Interface):
    """Reads and writes of every resource. Objects in and out of writes are in the requested version; entries are
    in the storage version. Raises ApiError throughout."""

    async def get(resource: Resource, namespace: str, name: str, *, resource_version: str = "") -> Entry:
        """One entry; `resource_version` "" is consistent, "0" any, N not older than N."""

    async def list(resource: Resource, namespace: str, options: ListOptions) -> tuple[Page, str, Selection]:
        """A page, the continue token of the next ("" at the end) and the parsed selectors.

        `namespace` "" means all."""

    async def converted(resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the requested version, where another program converts; as they are elsewhere."""

    async def translated(resource: Resource, obj: Object) -> Object:
        """An object of any version of a custom kind in the version of `resource`, by another program where that is
        needed. Raises ApiError 500."""

    def cache(resource: Resource) -> ICache:
        """Where watches of a resource come from."""

    def strategy(resource: Resource) -> IStrategy:
        """What is special about a kind."""

    def shown(resource: Resource, namespace: str, obj: Object) -> Entry:
        """An entry for an object in the storage version that is answered without being stored."""

    async def create(context: Context, obj: Object) -> Entry:
        """The write sequence for a new object."""

    async def update(
        context: Context, name: str, transform: Transform, *, create: bool = False, uid: str = ""
    ) -> tuple[Entry, bool]:
        """The write sequence for a change; `create` lets it make the object, `uid` is a precondition ("" is none). Gives
        back whether it was created."""

    async def delete(context: Context, name: str, *, options: Mapping[str, Any]) -> Deleted:
        """Preconditions, grace, finalizers, propagation; admission for DELETE."""
