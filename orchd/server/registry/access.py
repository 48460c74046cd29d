"""Between objects and entries: where an object is kept, and what of it the cache indexes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from orchd import errors
from orchd.cache import stored
from orchd.cache.interfaces import Entry, ICache, ICaches
from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects import convert, default, select, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.registry.interfaces import Object
from orchd.store.interfaces import IStore


def path_of(resource: Resource, namespace: str, name: str) -> str:
    """The key of an object below its resource's prefix. Raises ApiError 400 for a name that can be none."""
    if "/" in name or "%" in name or name in (".", ".."):
        why = f"may not be '{name}'" if name in (".", "..") else f"may not contain '{'/' if '/' in name else '%'}'"
        raise errors.bad_request(f"Name parameter invalid: {errors.quoted(name)}: {why}")
    return f"{namespace}/{name}" if resource.namespaced else name


def _without_revision(value: bytes) -> bytes:
    """Stored bytes without a resourceVersion: the object of a dry run has none."""
    return value.replace(b'"resourceVersion":"",', b"", 1) if b'"resourceVersion":"",' in value else value.replace(b'"resourceVersion":""', b"", 1)


class Access:
    """One server's store and caches, seen by resource. `catalog` gives the catalog in force."""

    def __init__(
        self, *, catalog: Callable[[], Catalog], store: IStore, caches: ICaches, settings: ObjectSettings
    ) -> None:
        self.catalog = catalog
        self.store = store
        self.settings = settings
        self._caches = caches
        self._opened: dict[str, tuple[ICache, Any]] = {}

    @property
    def dialect(self) -> Dialect:
        return self.settings.dialect

    def cache(self, resource: Resource) -> ICache:
        """The cache of a resource; the same for all its versions."""
        return self._open(resource)[0]

    def _open(self, resource: Resource) -> tuple[ICache, Any]:
        opened = self._opened.get(resource.key)
        if opened is None:
            index = select.index_for(resource, self.dialect)
            opened = self._opened[resource.key] = (self._caches.cache(resource.key, index), index)
        return opened

    def forget(self, key: str) -> None:
        """A custom kind is gone: end its cache."""
        if self._opened.pop(key, None) is not None:
            self._caches.drop(key)

    def key(self, resource: Resource, path: str) -> str:
        """The store key of a path."""
        return f"/{resource.key}/{path}"

    def decode(self, entry: Entry) -> Object:
        """The object of an entry, in the storage version, with its resourceVersion."""
        obj: Object = orjson.loads(entry.json)
        return obj

    def unsaved(self, resource: Resource, path: str, obj: Object) -> Entry:
        """An entry for an object that is answered but not (or no longer) stored; keeps the resourceVersion it has."""
        version = obj["metadata"].get("resourceVersion") or ""
        value = stored.encode(obj)
        labels, fields = self._open(resource)[1](value)
        revision = int(version) if version.isdigit() else 0
        body = stored.with_revision(value, revision) if revision else _without_revision(value)
        return Entry(path, revision, revision, body, labels, fields)

    def to_storage(self, resource: Resource, obj: Object) -> Object:
        """An object of the requested version in the storage version."""
        if resource.api_version == resource.storage_version:
            return obj
        return convert.convert(obj, resource.storage_version, self.catalog())

    def to_version(self, resource: Resource, obj: Object) -> Object:
        """An object of the storage version in the requested one."""
        if resource.api_version == resource.storage_version:
            return obj
        return convert.convert(obj, resource.api_version, self.catalog())

    def settled(self, resource: Resource, obj: Object) -> Object:
        """Canonical shape and defaults of an object in the storage version: after admission changed it."""
        type_ = self.catalog().storage_type(resource)
        try:
            shaped = shape.canonical(obj, type_)
        except shape.ShapeError as error:
            # What admission made of the object is not the client's fault.
            raise errors.internal(f"admission left an object that is no {resource.kind}: {error}") from None
        return default.fill(shaped, type_, self.settings)
