"""Catalog of the resources that a server serves, from its discovery documents: for components that watch every
resource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Group, Resource, builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.kinds.rows import Subresource
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: Seconds between discoveries, and from `look_soon` to the next one.
_PERIOD, _SOON = 30.0, 0.25
#: Maximum number of group versions of one server.
_MOST_VERSIONS = 2000

#: Returns the document at a path of the server. Raises ApiError.
Fetch = Callable[[str], Awaitable[Object]]


@dataclass(frozen=True, slots=True)
class _Line:
    """One resource of a discovery document."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    subresources: tuple[Subresource, ...] = ()


@dataclass(frozen=True, slots=True)
class _Discovered:
    """Result of one discovery. Equal to the previous one if nothing has changed."""

    groups: tuple[Group, ...]
    lines: tuple[_Line, ...]


class DiscoveredCatalog:
    """The catalog of a server: discovered by `load`, and periodically after `start`.

    Calling it returns the catalog, which is a new object only after a change. A group whose server does not respond
    keeps its resources.
    """

    log = Logger()

    def __init__(self, fetch: Fetch, dialect: Dialect, release: Release, clock: IReactorTime) -> None:
        self._fetch = fetch
        self._dialect = dialect
        self._clock = clock
        self._builtin = builtin_catalog(dialect, release, enabled=lambda group, version, default: True)
        self._lines_by_version: dict[tuple[str, str], tuple[_Line, ...]] = {}
        self._discovered: _Discovered | None = None
        self._catalog = Catalog(dialect, self._builtin.types, (), ())
        self._background = Background()
        self._pause: Deferred[None] | None = None
        self._soon = False

    def __call__(self) -> Catalog:
        return self._catalog

    async def load(self) -> None:
        """Discover now. Raises ApiError if the server does not respond."""
        groups = [await self._core(), *await self._named_groups()]
        lines: list[_Line] = []
        for group in groups:
            for version in group.versions:
                lines += await self._lines(group.name, version)
        discovered = _Discovered(tuple(groups), tuple(lines))
        if discovered != self._discovered:
            self._discovered = discovered
            self._catalog = Catalog(self._dialect, self._builtin.types, groups, map(self._resource, lines))

    def start(self) -> None:
        """Start periodic discovery."""
        self._background.add(self._follow(), "discovery")

    def look_soon(self) -> None:
        """Discover soon: an event indicates that the served resources have changed."""
        if self._pause is not None and not self._soon:
            self._soon = True
            self._pause.cancel()

    async def stop(self) -> None:
        await self._background.stop()

    async def _follow(self) -> None:
        while True:
            await self._rest()
            try:
                await self.load()
            except CancelledError:
                raise
            except ApiError as error:
                self.log.warn(
                    "failed to discover the served resources, keeping the previous ones: {error}", error=error.message
                )
            except Exception:  # an invalid document must not end periodic discovery
                self.log.failure("discovery")

    async def _rest(self) -> None:
        """Wait for the next discovery, which `look_soon` hastens."""
        self._pause = deferLater(self._clock, _PERIOD)
        try:
            await self._pause
        except CancelledError:
            if not self._soon:
                raise
            self._soon = False
            self._pause = None
            # The resources of a definition are served shortly after the definition was created.
            await deferLater(self._clock, _SOON)
        finally:
            self._pause = None

    # -- documents

    async def _core(self) -> Group:
        versions = tuple((await self._fetch("/api")).get("versions") or ())
        return Group(name="", versions=versions, preferred=versions[0] if versions else "")

    async def _named_groups(self) -> Iterable[Group]:
        out, count = [], 0
        for group in (await self._fetch("/apis")).get("groups") or ():
            versions = tuple(each["version"] for each in group.get("versions") or ())
            count += len(versions)
            if versions and count <= _MOST_VERSIONS:
                preferred = (group.get("preferredVersion") or {}).get("version") or versions[0]
                out.append(Group(name=group["name"], versions=versions, preferred=preferred))
        return out

    async def _lines(self, group: str, version: str) -> tuple[_Line, ...]:
        try:
            document = await self._fetch(f"/apis/{group}/{version}" if group else f"/api/{version}")
        except ApiError as error:
            self.log.debug("{group}/{version}: {error}", group=group, version=version, error=error.message)
            return self._lines_by_version.get((group, version), ())
        entries = document.get("resources") or ()
        lines = tuple(_line(group, version, each, entries) for each in entries if "/" not in each["name"])
        self._lines_by_version[group, version] = lines
        return lines

    def _resource(self, line: _Line) -> Resource:
        builtin = self._builtin.resource(line.group, line.version, line.plural)
        if builtin is not None and builtin.kind == line.kind:
            return replace(builtin, verbs=line.verbs, namespaced=line.namespaced)
        return Resource(
            group=line.group,
            version=line.version,
            kind=line.kind,
            plural=line.plural,
            type=self._builtin.types.get("meta/v1.PartialObjectMetadata"),
            namespaced=line.namespaced,
            list_kind=f"{line.kind}List",
            verbs=line.verbs,
            subresources={each.name: each for each in line.subresources},
            custom=True,
        )


def _line(group: str, version: str, entry: dict[str, Any], entries: Iterable[dict[str, Any]]) -> _Line:
    inside = f"{entry['name']}/"
    return _Line(
        group=entry.get("group") or group,
        version=entry.get("version") or version,
        plural=str(entry["name"]),
        kind=str(entry["kind"]),
        namespaced=bool(entry.get("namespaced")),
        verbs=tuple(entry.get("verbs") or ()),
        subresources=tuple(
            Subresource(
                name=each["name"].removeprefix(inside),
                kind=each["kind"],
                verbs=tuple(each.get("verbs") or ()),
                group=each.get("group") or "",
                version=each.get("version") or "",
            )
            for each in entries
            if each["name"].startswith(inside)
        ),
    )
