"""The release whose objects a store holds: recorded, raised by rewriting the objects, never lowered.

A store without a record is of the specification's release. A server of a later release rewrites every object of
built-in kinds that has another form there (its storage version, members that are no longer stored, defaults), then
records its release; a server that is stopped in between begins anew. Objects of kinds that the later release does not
serve stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson

from orchd.cache import stored_encoding
from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog
from orchd.kinds.objects import convert, default
from orchd.kinds.objects.member_order import order_members
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.shape import ShapeError, canonical
from orchd.kinds.release import RELEASES, SPECIFICATION, Release
from orchd.store.interfaces import IStore, KeyExistsError, KeyValue, RevisionConflictError, StoreError
from orchd.store.prefixes import values_below

#: The key of the record, beside those of objects.
_RECORD: Final = "/.release"
#: Where the keys of objects begin, behind those of records of the store.
_OBJECTS: Final = "/0"
#: Keys of kinds whose objects expire soon, and whose form does not change.
_EXPIRING: Final = frozenset(("events",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """The changes that the start of a server made. `raised_from`: the former release of a store that had objects, None
    if nothing was raised; the number of rewritten objects; the keys of those that could not be read; `unserved`: the
    kinds with objects that the release no longer serves, and their numbers, as text."""

    raised_from: Release | None = None
    rewritten: int = 0
    unreadable: tuple[str, ...] = ()
    unserved: str = ""


class ReleaseMismatchError(StoreError):
    """The store is of a later release than the server."""

    def __init__(self, stored: str, serving: Release, in_the_way: str) -> None:
        super().__init__(
            f"the store is of release {stored}, which a server of release {serving} cannot use"
            + (f": it holds objects that {serving} does not have: {in_the_way}" if in_the_way else "")
            + f". Start the server with --emulated-version={stored}, or with another store"
        )


async def prepare_store(store: IStore, settings: ObjectSettings) -> Upgrade:
    """Bring the objects of a started store to the release of `settings`, and record it. Raises ReleaseMismatchError for
    a store of a later release, StoreError."""
    release, record = settings.release, await store.get(_RECORD)
    stored = SPECIFICATION.name if record is None else str(orjson.loads(record.value)["release"])
    if stored == release.name:
        return Upgrade()
    before = RELEASES.get(stored)
    if before is None or before > release:
        in_the_way = "" if before is None else await _only_in(before, release, settings.dialect, store)
        raise ReleaseMismatchError(stored, release, in_the_way)
    catalog, used = _complete(settings.dialect, release), (await store.range("/", start=_OBJECTS, limit=1)).items
    rewritten, unreadable = 0, []
    stored_kinds = _stored(catalog)
    for resource in stored_kinds.values():
        count, failed = await _rewrite(store, resource, catalog, settings)
        rewritten += count
        unreadable += failed
    value = orjson.dumps({"release": release.name})
    # Another server of the cluster, which starts too, may be faster.
    with suppress(KeyExistsError, RevisionConflictError):
        if record is None:
            await store.create(_RECORD, value)
        else:
            await store.update(_RECORD, value, expected=record.revision)
    earlier = _stored(_complete(settings.dialect, before))
    return Upgrade(
        raised_from=before if used else None,
        rewritten=rewritten,
        unreadable=tuple(unreadable),
        unserved=await _numbers(store, (each for key, each in earlier.items() if key not in stored_kinds)),
    )


def _complete(dialect: Dialect, release: Release) -> Catalog:
    return builtin_catalog(dialect, release, enabled=lambda group, version, default: True)


def _stored(catalog: Catalog) -> dict[str, Resource]:
    """A resource of each stored kind by key, in the storage version where that is served."""
    by_key: dict[str, Resource] = {}
    for resource in catalog.resources:
        if resource.key and (resource.key not in by_key or resource.api_version == resource.storage_version):
            by_key[resource.key] = resource
    return by_key


async def _only_in(stored: Release, release: Release, dialect: Dialect, store: IStore) -> str:
    """The kinds with objects that `wanted` cannot read, and their numbers."""
    versions = {key: each.storage_version for key, each in _stored(_complete(dialect, release)).items()}
    kinds = _stored(_complete(dialect, stored)).items()
    return await _numbers(store, (each for key, each in kinds if versions.get(key) != each.storage_version))


async def _numbers(store: IStore, kinds: Iterable[Resource]) -> str:
    """The elements of `kinds` with objects in the store, and the numbers of their objects."""
    texts = []
    for resource in sorted(kinds, key=lambda each: each.key):
        page = await store.range(f"/{resource.key}/", limit=1)
        count = len(page.items) + page.remaining
        if count:
            name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            texts.append(f"{name} ({count})")
    return ", ".join(texts)


async def _rewrite(
    store: IStore, resource: Resource, catalog: Catalog, settings: ObjectSettings
) -> tuple[int, list[str]]:
    """Rewrite the objects of a kind that have another form in the release; returns their number, and the keys of values
    that are no objects of the kind, which stay for their readers to report."""
    count, failed = 0, list[str]()
    if resource.key in _EXPIRING:
        return count, failed
    async for item in values_below(store, f"/{resource.key}/"):
        try:
            value = _in_release(item, resource, catalog, settings)
        except (ValueError, KeyError, TypeError, ShapeError):
            failed.append(item.key)
            continue
        if value != item.value:
            try:
                await store.update(item.key, value, expected=item.revision)
            except RevisionConflictError:
                # Another server, which upgrades too, was faster.
                continue
            count += 1
    return count, failed


def _in_release(item: KeyValue, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> bytes:
    """The value of an object in the release."""
    obj: dict[str, Any] = orjson.loads(item.value)
    type_ = catalog.storage_type(resource)
    converted = canonical(convert.convert(obj, resource.storage_version, catalog), type_)
    return stored_encoding.encode(order_members(default.fill(converted, type_, settings), type_))
