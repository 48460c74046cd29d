"""`DefinitionTracker`: follows definitions of custom kinds and maintains the served catalog."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.cache.interfaces import ICache, ISubscription
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.customkinds.definition import Definition, Reading
from orchd.txkit.background import Background
from orchd.txkit.collection import collection_paused
from orchd.txkit.compute_thread import ComputeThread, current_flow
from orchd.txkit.log import Logger

#: Bytes of a definition above which it is read away from the reactor.
_LARGE = 64 * 1024
#: Seconds before definitions are listed again after their watch ended.
_PAUSE = 0.1


class DefinitionTracker:
    """The catalog with the kinds of every established definition, current as of the store's events; but large
    definitions are read with `compute`, and are late meanwhile.

    Callbacks: `gone` with the resources that are no longer served, `dropped` with each store key whose objects have all
    been deleted, `changed` with the name of a definition that has to be reconciled, `renewed` when `catalog` was
    replaced.
    """

    _log = Logger()

    def __init__(
        self, base: Catalog, settings: ObjectSettings, clock: IReactorTime, compute: ComputeThread | None = None
    ) -> None:
        self.base = base
        self.settings = settings
        #: Definitions by name, and those that can be served by the store key of their objects.
        self.by_name: dict[str, Definition] = {}
        self.by_key: dict[str, Definition] = {}
        self.gone: Callable[[Sequence[Resource]], object] = lambda resources: None
        self.dropped: Callable[[str], object] = lambda key: None
        self.changed: Callable[[str], object] = lambda name: None
        self.renewed: Callable[[], object] = lambda: None
        self._clock = clock
        self._builtin_keys = frozenset(resource.key for resource in base.resources if resource.key)
        self._catalog: Catalog | None = base
        self._cache: ICache | None = None
        self._subscription: ISubscription | None = None
        self._retry: IDelayedCall | None = None
        self._stopped = False
        self._compute = compute or ComputeThread()
        #: Changes from the first large one on that has not been read yet, and those who wait for the next one.
        self._late: deque[Change] = deque()
        self._waiting: list[Deferred[None]] = []
        self._reading = Background()

    @property
    def definitions(self) -> Resource | None:
        """The resource of definitions, None if they are disabled."""
        return self.base.resource(self.settings.dialect("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")

    @property
    def catalog(self) -> Catalog:
        """The served catalog. Built on demand, once for any number of changes."""
        return self.current()

    def current(self) -> Catalog:
        """`catalog` as a method, for callers that need the latest one at each use."""
        if self._catalog is None:
            resources: list[Resource] = []
            for definition in sorted(self.by_name.values(), key=lambda each: (each.group, each.name)):
                if definition.kind is not None:
                    resources.extend(r for r in definition.kind.resources if self._is_free(r))
            self._catalog = self.base.adding(resources) if resources else self.base
        return self._catalog

    async def newest(self, group: str) -> Catalog:
        """`catalog` with every acknowledged change of a definition of the group, also those of other processes on the
        same store.

        Returns without suspending if only this process writes to the store, and no definition is late. Raises ApiError
        503 if the store does not response and 504 after a time limit."""
        if self._cache is not None:
            await self._cache.fresh()
        while self.is_late(group):
            await self._next()
        return self.catalog

    def is_late(self, group: str) -> bool:
        """True if a change of a definition of the group has not been applied yet."""
        return any(change.entry.path.partition(".")[2] == group for change in self._late)

    async def settle(self) -> None:
        """Wait for every change of a definition that the store has acknowledged."""
        while self._late:
            await self._next()

    async def _next(self) -> None:
        """Wait for the next late change."""
        waiting: Deferred[None] = Deferred(self._waiting.remove)
        self._waiting.append(waiting)
        await waiting

    def overlaps(self, definition: Definition) -> bool:
        """True if the objects of a definition would share keys with a built-in kind; the definition is then not
        served."""
        return definition.key in self._builtin_keys

    def _is_free(self, resource: Resource) -> bool:
        """True if no built-in resource has the name."""
        return self.base.resource(resource.group, resource.version, resource.plural) is None

    # -- following

    async def start(self, cache: ICache) -> None:
        """Load every definition in `cache`, then follow changes."""
        self._stopped = False
        self._reading = Background()
        await cache.ready()
        self._cache = cache
        self._follow(cache)

    def _follow(self, cache: ICache) -> None:
        self._retry = None
        if self._stopped:
            return
        self._late.clear()
        page = cache.page()
        paths = {entry.path: entry for entry in page.entries}
        for name in [name for name in self.by_name if name not in paths]:
            self._remove(name)
        for entry in page.entries:
            definition = self.by_name.get(entry.path)
            if definition is None or definition.revision != entry.revision:
                self._put(entry, None)
        self._resume()

        def ended(error: Exception) -> None:
            self._subscription = None
            self._follow_later(cache, error)

        try:
            self._subscription = cache.subscribe(after=page.revision, prefix="", on_change=self._changed, on_end=ended)
        except ApiError as error:
            self._follow_later(cache, error)

    def _follow_later(self, cache: ICache, error: Exception) -> None:
        if not self._stopped:
            self._log.info("relisting definitions of custom kinds: {error}", error=error)
            self._retry = self._clock.callLater(_PAUSE, self._follow, cache)

    async def stop(self) -> None:
        self._stopped = True
        self._cache = None
        if self._subscription is not None:
            self._subscription.cancel()
            self._subscription = None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._late.clear()
        await self._reading.stop()
        self._resume()

    def _changed(self, change: Change) -> None:
        if not self._late and len(change.entry.json) <= _LARGE:
            self._apply(change, None)
            return
        self._late.append(change)
        if len(self._late) == 1:
            self._reading.add(self._read_late(), "large definitions")

    async def _read_late(self) -> None:
        """Apply the late changes, in their order."""
        current_flow.set("")
        while self._late:
            change = self._late[0]
            entry = change.entry
            reading = None
            if change.type is not ChangeType.DELETED:
                definition = self.by_name.get(entry.path) or Definition(entry)
                reading = await self._compute(len(entry.json), self._try_to_read, definition, entry)
            if not self._late or self._late[0] is not change:
                # Definitions have been listed again.
                return
            self._late.popleft()
            self._apply(change, reading)
            self._resume()

    def _resume(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)

    def _apply(self, change: Change, reading: Reading | None) -> None:
        if change.type is ChangeType.DELETED:
            self._remove(change.entry.path)
        else:
            self._put(change.entry, reading)

    def _try_to_read(self, definition: Definition, entry: Entry) -> Reading | None:
        """None for a definition that cannot be read."""
        try:
            return definition.read(entry, self.base.types, self.settings.dialect)
        except Exception:
            # A definition that current validation would reject must not stop others from being served.
            self._log.failure("definition {name} cannot be read", name=entry.path)
            return None

    def _put(self, entry: Entry, reading: Reading | None) -> None:
        """Apply a change of a definition; `reading` is what was read of it in advance."""
        definition = self.by_name.get(entry.path)
        if definition is None:
            definition = self.by_name[entry.path] = Definition(entry)
        before = () if definition.kind is None else definition.kind.resources
        key = definition.key
        if reading is None:
            with collection_paused():
                reading = self._try_to_read(definition, entry)
        if reading is None:
            served_anew = definition.withdraw(entry)
        else:
            if reading.failure is not None:
                self._log.failure("definition {name} cannot be served", reading.failure, name=entry.path)
            served_anew = definition.take(reading)
        if key and key != definition.key:
            self.by_key.pop(key, None)
        if not self.overlaps(definition):
            self.by_key[definition.key] = definition
        if served_anew:
            self._renew(before)
        self.changed(definition.name)

    def _remove(self, name: str) -> None:
        definition = self.by_name.pop(name)
        self.by_key.pop(definition.key, None)
        self._renew(() if definition.kind is None else definition.kind.resources)
        if not self.overlaps(definition):
            self.dropped(definition.key)
        for other in self.by_name.values():
            if other.group == definition.group:
                # Other definitions may be waiting for its names.
                self.changed(other.name)
        self.changed(name)

    def _renew(self, before: tuple[Resource, ...]) -> None:
        """Replace the catalog; the resources `before` are no longer served as they were."""
        self._catalog = None
        if before:
            self.gone(before)
        self.renewed()

    def served_versions(self) -> Mapping[tuple[str, str], bool]:
        """Groups and versions served by definitions."""
        return {
            (resource.group, resource.version): True
            for definition in self.by_name.values()
            if definition.kind is not None
            for resource in definition.kind.resources
        }
