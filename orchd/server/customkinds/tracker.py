"""`DefinitionTracker`: follows definitions of custom kinds and maintains the served catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.cache.entries import Change, ChangeType
from orchd.cache.interfaces import ICache, ISubscription
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.customkinds.definition import Definition
from orchd.txkit.collection import collection_paused
from orchd.txkit.log import Logger

#: Seconds before definitions are listed again after their watch ended.
_PAUSE = 0.1


class DefinitionTracker:
    """The catalog with the kinds of every established definition, current as of the store's events.

    Callbacks: `gone` with the resources that are no longer served, `dropped` with each store key whose objects have all
    been deleted, `changed` with the name of a definition that has to be reconciled, `renewed` when `catalog` was
    replaced.
    """

    _log = Logger()

    def __init__(self, base: Catalog, settings: ObjectSettings, clock: IReactorTime) -> None:
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

    @property
    def definitions(self) -> Resource | None:
        """The resource of definitions, None if they are disabled."""
        return self.base.resource(self.settings.dialect("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")

    @property
    def catalog(self) -> Catalog:
        """The served catalog. Built on demand, once for any number of changes."""
        if self._catalog is None:
            resources: list[Resource] = []
            for definition in sorted(self.by_name.values(), key=lambda each: (each.group, each.name)):
                if definition.kind is not None:
                    resources.extend(r for r in definition.kind.resources if self._is_free(r))
            self._catalog = self.base.adding(resources) if resources else self.base
        return self._catalog

    def current(self) -> Catalog:
        """`catalog` as a method, for callers that need the latest one at each use."""
        return self.catalog

    async def newest(self) -> Catalog:
        """`catalog` with every acknowledged change of a definition, also those of other processes on the same store.

        Returns without suspending if only this process writes to the store. Raises ApiError 503 if the store does not
        response and 504 after a time limit."""
        if self._cache is not None:
            await self._cache.fresh()
        return self.catalog

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
        await cache.ready()
        self._cache = cache
        self._follow(cache)

    def _follow(self, cache: ICache) -> None:
        self._retry = None
        if self._stopped:
            return
        page = cache.page()
        paths = {entry.path: entry for entry in page.entries}
        for name in [name for name in self.by_name if name not in paths]:
            self._remove(name)
        for entry in page.entries:
            definition = self.by_name.get(entry.path)
            if definition is None or definition.revision != entry.revision:
                self._put(Change(ChangeType.ADDED, entry, None))

        def ended(error: Exception) -> None:
            self._subscription = None
            self._follow_later(cache, error)

        try:
            self._subscription = cache.subscribe(after=page.revision, prefix="", on_change=self._apply, on_end=ended)
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

    def _apply(self, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            self._remove(change.entry.path)
        else:
            self._put(change)

    def _put(self, change: Change) -> None:
        entry = change.entry
        definition = self.by_name.get(entry.path)
        if definition is None:
            definition = self.by_name[entry.path] = Definition(entry)
        before = () if definition.kind is None else definition.kind.resources
        key = definition.key
        try:
            with collection_paused():
                served_anew = definition.update(entry, self.base.types, self.settings.dialect)
        except Exception:
            # A definition that current validation would reject must not stop others from being served.
            self._log.failure("definition {name} cannot be served", name=entry.path)
            definition.kind = None
            served_anew = bool(before)
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
