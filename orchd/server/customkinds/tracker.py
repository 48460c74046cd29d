"""`DefinitionTracker`: follows definitions of custom kinds and maintains the served catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.cache.interfaces import Change, ChangeType, ICache, ISubscription
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.customkinds.definition import Definition
from orchd.txkit.log import Logger

#: Seconds before definitions are listed again after their watch ended.
_PAUSE = 0.1


class DefinitionTracker:
    """The catalog with the kinds of every established definition, current as of the store's events.

    Callbacks: `gone` with each resource that is no longer served, `dropped` with each store key whose objects have all been
    deleted, `changed` with the name of a definition that has to be reconciled, `renewed` when `catalog` was replaced.
    """

    _log = Logger()

    def __init__(self, base: Catalog, settings: ObjectSettings, clock: IReactorTime) -> None:
        self.base = base
        self.settings = settings
        self.known: dict[str, Definition] = {}
        self.by_key: dict[str, Definition] = {}
        self.gone: Callable[[Resource], object] = lambda resource: None
        self.dropped: Callable[[str], object] = lambda key: None
        self.changed: Callable[[str], object] = lambda name: None
        self.renewed: Callable[[], object] = lambda: None
        self._clock = clock
        self._taken = frozenset(resource.key for resource in base.resources if resource.key)
        self._catalog: Catalog | None = base
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
            for known in sorted(self.known.values(), key=lambda each: (each.group, each.name)):
                if known.kind is not None:
                    resources.extend(r for r in known.kind.resources if self._free(r))
            self._catalog = self.base.adding(resources) if resources else self.base
        return self._catalog

    def current(self) -> Catalog:
        """`catalog` as a method, for callers that need the latest one at each use."""
        return self.catalog

    def overlaps(self, known: Definition) -> bool:
        """True if the objects of a definition would share keys with a built-in kind; the definition is then not
        served."""
        return known.key in self._taken

    def _free(self, resource: Resource) -> bool:
        """True if no built-in resource has the name."""
        return self.base.resource(resource.group, resource.version, resource.plural) is None

    # -- following

    async def start(self, cache: ICache) -> None:
        """Load every definition in `cache`, then follow changes."""
        self._stopped = False
        await cache.ready()
        self._follow(cache)

    def _follow(self, cache: ICache) -> None:
        self._retry = None
        if self._stopped:
            return
        page = cache.page()
        found = {entry.path: entry for entry in page.entries}
        for name in [name for name in self.known if name not in found]:
            self._remove(name)
        for entry in page.entries:
            known = self.known.get(entry.path)
            if known is None or known.revision != entry.revision:
                self._put(Change(ChangeType.ADDED, entry, None))

        def ended(error: Exception) -> None:
            self._subscription = None
            self._later(cache, error)

        try:
            self._subscription = cache.subscribe(after=page.revision, prefix="", on_change=self._take, on_end=ended)
        except ApiError as error:
            self._later(cache, error)

    def _later(self, cache: ICache, error: Exception) -> None:
        if not self._stopped:
            self._log.info("relisting definitions of custom kinds: {error}", error=error)
            self._retry = self._clock.callLater(_PAUSE, self._follow, cache)

    async def stop(self) -> None:
        self._stopped = True
        if self._subscription is not None:
            self._subscription.cancel()
            self._subscription = None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _take(self, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            self._remove(change.entry.path)
        else:
            self._put(change)

    def _put(self, change: Change) -> None:
        entry = change.entry
        known = self.known.get(entry.path)
        if known is None:
            known = self.known[entry.path] = Definition(entry)
        before = () if known.kind is None else known.kind.resources
        key = known.key
        try:
            served_anew = known.update(entry, self.base.types, self.settings.dialect)
        except Exception:
            # A definition that current validation would reject must not stop others from being served.
            self._log.failure("definition {name} cannot be served", name=entry.path)
            known.kind = None
            served_anew = bool(before)
        if key and key != known.key:
            self.by_key.pop(key, None)
        if not self.overlaps(known):
            self.by_key[known.key] = known
        if served_anew:
            self._served_anew(before)
        self.changed(known.name)

    def _remove(self, name: str) -> None:
        known = self.known.pop(name)
        self.by_key.pop(known.key, None)
        self._served_anew(() if known.kind is None else known.kind.resources)
        if not self.overlaps(known):
            self.dropped(known.key)
        for other in self.known.values():
            if other.group == known.group:
                # Other definitions may be waiting for its names.
                self.changed(other.name)
        self.changed(name)

    def _served_anew(self, before: tuple[Resource, ...]) -> None:
        self._catalog = None
        for resource in before:
            self.gone(resource)
        self.renewed()

    def served_versions(self) -> Mapping[tuple[str, str], bool]:
        """Groups and versions served by definitions."""
        return {
            (resource.group, resource.version): True
            for known in self.known.values()
            if known.kind is not None
            for resource in known.kind.resources
        }
