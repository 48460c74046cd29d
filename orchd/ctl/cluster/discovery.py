"""Resources of the server, and their lookup by name, short name, kind or ``NAME.VERSION.GROUP``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from orchd.client.errors import NoResponseError, UnreachableError
from orchd.client.interfaces import ResourceRef
from orchd.ctl.cluster.discovery_cache import DiscoveryCache
from orchd.ctl.errors import CommandError
from orchd.dialect import DIALECTS, Dialect
from orchd.errors import ApiError

#: Discovery documents that are fetched at the same time.
_AT_ONCE = 4
#: Gives the document at a path of the server. Raises ApiError.
Fetch = Callable[[str], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource in one version, as discovery describes it."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    subresources: tuple[str, ...]

    @property
    def ref(self) -> ResourceRef:
        return ResourceRef(self.group, self.version, self.plural)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource as messages name it: ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def name_in_messages(self) -> str:
        """The resource as messages about one object name it: ``deployment.apps``."""
        return f"{self.singular}.{self.group}" if self.group else self.singular

    def label(self, name: str) -> str:
        """An object as output names it: ``deployment.apps/web``."""
        return f"{self.name_in_messages}/{name}"

    def has_name(self, word: str) -> bool:
        lower = word.lower()
        return lower in (self.plural, self.singular, self.kind.lower()) or lower in self.short_names


class UnknownTypeError(CommandError):
    """The server has no resource of a name."""


class Discovery:
    """Reads discovery documents as they are needed; the core group first, so that most commands read one of them.
    `cache` keeps documents for later commands; what is not found in them is looked up on the server."""

    def __init__(self, fetch: Fetch, cache: DiscoveryCache | None = None) -> None:
        self._fetch_now = fetch
        self._cache = cache
        self._groups: dict[str, tuple[str, list[str]]] | None = None
        self._by_version: dict[tuple[str, str], tuple[Resource, ...]] = {}
        #: Group versions whose document could not be read, with the server's error.
        self.failures: dict[str, ApiError] = {}

    async def _fetch(self, path: str) -> dict[str, Any]:
        document = self._cache.read(path) if self._cache is not None else None
        if document is None:
            document = await self._fetch_now(path)
            if self._cache is not None:
                self._cache.write(path, document)
        return document

    def forget(self) -> None:
        """Read all documents from the server again."""
        if self._cache is not None:
            self._cache.forget()
        self._groups = None
        self._by_version.clear()
        self.failures.clear()

    def _forget_cached(self) -> bool:
        """`forget`, if documents of the cache were used. True if so."""
        if self._cache is None or not self._cache.used:
            return False
        self.forget()
        return True

    async def groups(self) -> dict[str, tuple[str, list[str]]]:
        """Named groups in the server's order: the preferred version and all versions."""
        if self._groups is None:
            groups = {}
            for group in (await self._fetch("/apis")).get("groups") or ():
                versions = [each["version"] for each in group.get("versions") or ()]
                if versions:
                    preferred = (group.get("preferredVersion") or {}).get("version") or versions[0]
                    groups[str(group["name"])] = (preferred, versions)
            self._groups = groups
        return self._groups

    async def dialect(self) -> Dialect:
        """The dialect in which the server names its groups."""
        groups = await self.groups()
        for dialect in DIALECTS.values():
            if any(name.endswith(f".{dialect('{abbr}.io')}") for name in groups):
                return dialect
        raise CommandError("the server has none of the built-in API groups: this command needs them")

    async def version(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one version; none when its document cannot be read (see `failures`). Raises ApiError for the
        core group, and when the server does not respond at all."""
        key = (group, version)
        if key not in self._by_version:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                self._by_version[key] = _resources(group, version, await self._fetch(path))
            except (UnreachableError, NoResponseError):
                raise
            except ApiError as error:
                if not group:
                    raise
                self.failures[f"{group}/{version}"] = error
                self._by_version[key] = ()
        return self._by_version[key]

    async def preferred(self) -> list[Resource]:
        """Every resource once, the core group first: in the preferred version of its group, or where that does not have
        it in the first that does."""
        groups = await self.groups()
        every = [(name, version) for name, (first, all_) in groups.items() for version in dict.fromkeys((first, *all_))]
        out: dict[tuple[str, str], Resource] = {}
        for each in (*await self.version("", "v1"), *await self._of(every)):
            out.setdefault((each.group, each.plural), each)
        return list(out.values())

    async def _of(self, versions: list[tuple[str, str]]) -> list[Resource]:
        """The resources of several versions, in order."""

        async def load(item: tuple[str, str]) -> None:
            await self.version(*item)

        # Commands without a server start without Twisted.
        from orchd.txkit.for_each import for_each

        await for_each(versions, load, at_once=_AT_ONCE)
        return [resource for each in versions for resource in await self.version(*each)]

    async def find(self, word: str) -> Resource:
        """The resource that a user means. Raises UnknownTypeError."""
        resource = await self._look_up(word)
        if resource is None and self._forget_cached():
            resource = await self._look_up(word)
        if resource is None:
            broken = "".join(
                f"; {name} did not respond: {error.message}"
                for name, error in self.failures.items()
                if error.code != 404
            )
            raise UnknownTypeError(
                f'the server has no resource type "{word}": api-resources lists those that it has{broken}'
            )
        return resource

    async def _look_up(self, word: str) -> Resource | None:
        name, _, rest = word.partition(".")
        if not rest:
            for resource in await self.version("", "v1"):
                if resource.has_name(name):
                    return resource
            groups = await self.groups()
            # Most are in a preferred version; only then is it worth to read all others.
            for resource in await self._of([(group, first) for group, (first, _) in groups.items()]):
                if resource.has_name(name):
                    return resource
            for resource in await self.preferred():
                if resource.has_name(name):
                    return resource
        else:
            for group, version in await self._candidates(rest):
                for resource in await self.version(group, version):
                    if resource.has_name(name):
                        return resource
        return None

    async def _candidates(self, rest: str) -> list[tuple[str, str]]:
        """Group versions that ``GROUP`` or ``VERSION.GROUP`` may mean."""
        groups = await self.groups()
        version, _, group = rest.partition(".")
        out = [(rest, each) for each in dict.fromkeys((groups[rest][0], *groups[rest][1]))] if rest in groups else []
        if group in groups and version in groups[group][1]:
            out.append((group, version))
        if rest == "v1":
            out.append(("", "v1"))
        # A group may be shortened to its beginning.
        out += [(name, preferred) for name, (preferred, _) in groups.items() if name.startswith(f"{rest}.")]
        return out

    async def category(self, word: str) -> list[Resource]:
        """The resources of a category such as ``all``; none for another word."""
        return [each for each in await self.preferred() if word in each.categories and "list" in each.verbs]

    async def kind(self, api_version: str, kind: str) -> Resource:
        """The resource of an object. Raises CommandError, and ApiError if the server does not say what the version
        has."""
        group, _, version = api_version.rpartition("/")
        while True:
            for resource in await self.version(group, version):
                if resource.kind == kind:
                    return resource
            error = self.failures.get(api_version)
            if error is not None and error.code != 404:
                raise error
            if not self._forget_cached():
                break
        raise CommandError(
            f'the server has no kind "{kind}" in version "{api_version}": create its definition first, '
            "or see api-resources and api-versions"
        )


def _resources(group: str, version: str, document: dict[str, Any]) -> tuple[Resource, ...]:
    entries = document.get("resources") or ()
    return tuple(
        Resource(
            group=group,
            version=version,
            plural=str(each["name"]),
            singular=str(each.get("singularName") or each["kind"].lower()),
            kind=str(each["kind"]),
            namespaced=bool(each.get("namespaced")),
            verbs=tuple(each.get("verbs") or ()),
            short_names=tuple(each.get("shortNames") or ()),
            categories=tuple(each.get("categories") or ()),
            subresources=tuple(
                inner["name"].partition("/")[2] for inner in entries if inner["name"].startswith(f"{each['name']}/")
            ),
        )
        for each in entries
        if "/" not in each["name"]
    )
