"""`ObjectStore`: access to the stored objects of every resource: entries of its cache, and writers to the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from orchd import errors
from orchd.cache import stored_encoding
from orchd.cache.entries import Entry
from orchd.cache.interfaces import ICache, ICaches
from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec import protobuf, sortedjson
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import selectors
from orchd.kinds.objects.member_order import order_members
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.registry.claiming_writer import ClaimingWriter
from orchd.server.registry.interfaces import IStrategy
from orchd.server.registry.versions import Conversion, Versions, size_of
from orchd.store.interfaces import IStore
from orchd.txkit.compute_thread import ComputeThread


def path_of(resource: Resource, namespace: str, name: str) -> str:
    """The key of an object below its resource's prefix. Raises ApiError 400 for an invalid name."""
    if "/" in name or "%" in name or name in (".", ".."):
        why = f"may not be '{name}'" if name in (".", "..") else f"may not contain '{'/' if '/' in name else '%'}'"
        raise errors.bad_request(f"Name parameter invalid: {errors.quoted(name)}: {why}")
    return f"{namespace}/{name}" if resource.namespaced else name


class ObjectStore:
    """One server's store and caches, by resource, and the conversions of their objects. `catalog` returns the current
    catalog."""

    def __init__(
        self,
        *,
        catalog: Callable[[], Catalog],
        store: IStore,
        caches: ICaches,
        settings: ObjectSettings,
        conversion: Conversion | None = None,
        compute: ComputeThread | None = None,
    ) -> None:
        """`conversion` converts objects of kinds with a conversion webhook, `compute` large objects of other kinds."""
        self.catalog = catalog
        self.store = store
        self.settings = settings
        self._caches = caches
        self._compute = compute or ComputeThread()
        self.versions = Versions(catalog, settings, conversion, self._compute)
        self._opened: dict[str, tuple[ICache, Any]] = {}
        #: Resource key -> the selectable fields of the custom kind whose values the cache has.
        self._selectable: dict[str, tuple[str, ...]] = {}

    @property
    def dialect(self) -> Dialect:
        return self.settings.dialect

    def cache(self, resource: Resource) -> ICache:
        """The cache of a resource, shared by all its versions."""
        return self._open(resource)[0]

    def _open(self, resource: Resource) -> tuple[ICache, Any]:
        opened = self._opened.get(resource.key)
        if opened is not None and resource.custom and resource.selectable != self._selectable.get(resource.key, ()):
            # Entries have the values of other fields. Requests with an older catalog must not restore those.
            now = self.catalog().resource(resource.group, resource.version, resource.plural)
            if now is not None and now.selectable == resource.selectable:
                self.forget(resource.key)
                opened = None
        if opened is None:
            index = selectors.index_for(resource)
            opened = self._opened[resource.key] = (self._caches.cache(resource.key, index), index)
            self._selectable[resource.key] = resource.selectable
        return opened

    def forget(self, key: str) -> None:
        """Stop the cache of a removed custom kind."""
        self._selectable.pop(key, None)
        if self._opened.pop(key, None) is not None:
            self._caches.drop(key)

    def writer_for(self, strategy: IStrategy) -> ClaimingWriter:
        """The store writer for objects of a kind."""
        return ClaimingWriter(self.store, strategy, self._caches.announced)

    def encode(self, resource: Resource, obj: Object, earlier: Object | None = None) -> bytes:
        """Encode an object of any version of `resource` for the store, with members in the reference's order, which
        `earlier` has."""
        return self.arrange(resource, obj, earlier)[1]

    def arrange(self, resource: Resource, obj: Object, earlier: Object | None = None) -> tuple[Object, bytes]:
        """An object as decoded from its encoding, with an empty resourceVersion, and that encoding; see `encode`. One
        of a custom kind is returned as it is."""
        if resource.custom:
            return obj, stored_encoding.encode(obj, custom=True)
        type_ = resource.version_types.get(obj["apiVersion"], resource.type)
        arranged = stored_encoding.arrange(order_members(obj, type_, earlier))
        value = stored_encoding.encode_arranged(arranged)
        # Texts that are preserved are only in the encoding.
        return orjson.loads(value) if resource.row.verbatim else arranged, value

    def stored_size(self, resource: Resource, key: str, obj: Object, value: bytes, old: Object | None) -> int:
        """Bytes of the request that stores an object in the reference: with its key, and in protobuf where the kind has
        that form. `value` is the object as `encode` returns it; `old` is None for a new one."""
        size = len(value)
        if not resource.custom and not resource.row.verbatim:
            type_ = resource.version_types.get(obj["apiVersion"], resource.type)
            if protobuf.has_form(type_):
                size = len(protobuf.encode(obj, type_, api_version=obj["apiVersion"], kind=obj["kind"]))
        name = len(f"/registry{key}")
        # A comparison and a put, and for a change a read in case the comparison fails, each with the key.
        return size + (2 * name + 27 if old is None else 3 * name + 36)

    def key(self, resource: Resource, path: str) -> str:
        """The store key of a path."""
        return f"/{resource.key}/{path}"

    def decode(self, entry: Entry) -> Object:
        """Decode an entry to the object in the storage version, with its resourceVersion. Not to be modified: it may be
        shared."""
        return entry.decoded()

    def transient_entry(self, resource: Resource, path: str, obj: Object) -> Entry:
        """A cache entry for an object that is returned but not (or no longer) stored; keeps its resourceVersion."""
        version = obj["metadata"].get("resourceVersion") or ""
        value = self.encode(resource, obj)
        labels, fields = self._open(resource)[1](value)
        revision = integer(version) if is_whole(version) else 0
        body = (
            stored_encoding.with_revision(value, revision)
            if revision
            else stored_encoding.without_revision(value, version)
        )
        return Entry(path, revision, revision, body, labels, fields)

    async def to_requested_version(self, resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the requested version for kinds with a conversion webhook; unchanged for other kinds, which are
        converted when they are encoded. Results are not cached: a webhook may respond differently later. Raises
        ApiError 500."""
        if resource.converter is None:
            return entries
        # Of stored objects of this version, those with other members before apiVersion are merely decoded in vain.
        head = f'{{"apiVersion":"{resource.api_version}","kind":"{resource.kind}",'.encode()
        others = [entry for entry in entries if not entry.json.startswith(head)]
        if not others:
            return entries
        objects = await self.versions.to_requested(resource, [self.decode(entry) for entry in others])
        encoded = iter(await self._compute(size_of(objects), _encode_all, objects))
        return [
            entry
            if entry.json.startswith(head)
            else Entry(entry.path, entry.revision, entry.created, next(encoded), entry.labels, entry.fields)
            for entry in entries
        ]


def _encode_all(objects: Sequence[Object]) -> list[bytes]:
    return [sortedjson.encode_escaped(obj) for obj in objects]
