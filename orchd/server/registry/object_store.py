"""`ObjectStore`: conversion between objects and store entries, by resource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from orchd import errors
from orchd.cache import stored
from orchd.cache.interfaces import Entry, ICache, ICaches
from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.ir import Type
from orchd.kinds.objects import convert, default, selectors, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.registry.claiming_writer import ClaimingWriter
from orchd.server.registry.interfaces import IStrategy, Object
from orchd.store.interfaces import IStore

#: `conversion(resource, objects, to)`: the objects in the version with apiVersion `to`.
Conversion = Callable[[Resource, Sequence[Object], str], Awaitable[list[Object]]]


def path_of(resource: Resource, namespace: str, name: str) -> str:
    """The key of an object below its resource's prefix. Raises ApiError 400 for an invalid name."""
    if "/" in name or "%" in name or name in (".", ".."):
        why = f"may not be '{name}'" if name in (".", "..") else f"may not contain '{'/' if '/' in name else '%'}'"
        raise errors.bad_request(f"Name parameter invalid: {errors.quoted(name)}: {why}")
    return f"{namespace}/{name}" if resource.namespaced else name


def _without_revision(value: bytes) -> bytes:
    """Stored bytes without resourceVersion: the object of a dry run has none."""
    return value.replace(b'"resourceVersion":"",', b"", 1) if b'"resourceVersion":"",' in value else value.replace(b'"resourceVersion":""', b"", 1)


class ObjectStore:
    """One server's store and caches, by resource. `catalog` returns the current catalog."""

    def __init__(
        self,
        *,
        catalog: Callable[[], Catalog],
        store: IStore,
        caches: ICaches,
        settings: ObjectSettings,
        conversion: Conversion | None = None,
    ) -> None:
        """`conversion` converts objects of kinds with a conversion webhook."""
        self.catalog = catalog
        self.store = store
        self.settings = settings
        self._caches = caches
        self._conversion = conversion
        self._opened: dict[str, tuple[ICache, Any]] = {}

    @property
    def dialect(self) -> Dialect:
        return self.settings.dialect

    def cache(self, resource: Resource) -> ICache:
        """The cache of a resource, shared by all its versions."""
        return self._open(resource)[0]

    def _open(self, resource: Resource) -> tuple[ICache, Any]:
        opened = self._opened.get(resource.key)
        if opened is None:
            index = selectors.index_for(resource, self.dialect)
            opened = self._opened[resource.key] = (self._caches.cache(resource.key, index), index)
        return opened

    def forget(self, key: str) -> None:
        """Stop the cache of a removed custom kind."""
        if self._opened.pop(key, None) is not None:
            self._caches.drop(key)

    def writer_for(self, strategy: IStrategy) -> ClaimingWriter:
        """The store writer for objects of a kind."""
        return ClaimingWriter(self.store, strategy)

    def key(self, resource: Resource, path: str) -> str:
        """The store key of a path."""
        return f"/{resource.key}/{path}"

    def decode(self, entry: Entry) -> Object:
        """Decode an entry to the object in the storage version, with its resourceVersion."""
        obj: Object = orjson.loads(entry.json)
        return obj

    def transient_entry(self, resource: Resource, path: str, obj: Object) -> Entry:
        """A cache entry for an object that is returned but not (or no longer) stored; keeps its resourceVersion."""
        version = obj["metadata"].get("resourceVersion") or ""
        value = stored.encode(obj)
        labels, fields = self._open(resource)[1](value)
        revision = integer(version) if is_whole(version) else 0
        body = stored.with_revision(value, revision) if revision else _without_revision(value)
        return Entry(path, revision, revision, body, labels, fields)

    def to_storage(self, resource: Resource, obj: Object) -> Object:
        """Convert an object from the requested version to the storage version. Kinds with a conversion webhook are
        converted only when stored (`to_stored_version`)."""
        if resource.api_version == resource.storage_version or resource.converter is not None:
            return obj
        return convert.convert(obj, resource.storage_version, self.catalog())

    def to_version(self, resource: Resource, obj: Object) -> Object:
        """Convert an object from the storage version to the requested version. Objects of kinds with a conversion
        webhook are already in it (`to_working_version`)."""
        if resource.api_version == resource.storage_version or resource.converter is not None:
            return obj
        return convert.convert(obj, resource.api_version, self.catalog())

    async def to_working_version(self, resource: Resource, obj: Object) -> Object:
        """Convert a stored object to the version of the write sequence: the storage version, but the requested version
        for kinds with a conversion webhook. Raises ApiError 500."""
        if resource.converter is None:
            return obj
        return (await self._convert(resource, [obj], resource.api_version, resource.type))[0]

    async def to_stored_version(self, resource: Resource, obj: Object) -> Object:
        """Convert an object from the version of the write sequence to the stored version, with that version's defaults;
        defaults of other versions are applied on reads. Raises ApiError 500."""
        made = obj
        if resource.converter is not None:
            type_ = self.catalog().storage_type(resource)
            (made,) = await self._convert(resource, [obj], resource.storage_version, type_)
            if made is not obj:
                made = default.fill(made, type_, self.settings)
        found = made.get("apiVersion"), made.get("kind")
        if found != (resource.storage_version, resource.kind):
            # Lists are joined from stored bytes: all objects must be of this kind.
            what = f"{resource.kind} of {resource.storage_version}"
            raise errors.internal(f"an object of kind {found[1]} and version {found[0]} cannot be stored as {what}")
        return made

    async def to_requested_version(self, resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Convert entries to the requested version through the conversion webhook. Results are not cached: a webhook
        may answer differently later. Raises ApiError 500."""
        if resource.converter is None:
            return entries
        head = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()
        others = [entry for entry in entries if not entry.json.startswith(head)]
        if not others:
            return entries
        objects = await self._convert(
            resource, [self.decode(entry) for entry in others], resource.api_version, resource.type
        )
        made = iter(objects)
        return [
            entry
            if entry.json.startswith(head)
            else Entry(entry.path, entry.revision, entry.created, orjson.dumps(next(made)), entry.labels, entry.fields)
            for entry in entries
        ]

    async def _convert(self, resource: Resource, objects: list[Object], to: str, type_: Type) -> list[Object]:
        if self._conversion is None or all(obj["apiVersion"] == to for obj in objects):
            return objects
        found = await self._conversion(resource, objects, to)
        try:
            return [
                new if new is old else shape.canonical(new, type_) for old, new in zip(objects, found, strict=True)
            ]
        except shape.ShapeError as error:
            raise errors.internal(f"conversion made an object that is no {resource.kind}: {error}") from None

    def canonicalize(self, resource: Resource, obj: Object) -> Object:
        """Canonical shape and defaults of an object in the version of the write sequence, after admission changed
        it."""
        type_ = resource.type if resource.converter is not None else self.catalog().storage_type(resource)
        try:
            shaped = shape.canonical(obj, type_)
        except shape.ShapeError as error:
            # Errors in an object that admission produced are not client errors.
            raise errors.internal(f"admission left an object that is no {resource.kind}: {error}") from None
        return default.fill(shaped, type_, self.settings)
