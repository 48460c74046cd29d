"""Upgrades objects stored under an older schema to the current one.

Objects stay as they were written. After a change of the definition, older ones are pruned, defaulted and converted to
the storage version when read; newer ones pass unchanged (docs/decisions.md 1). Upgraded entries are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from zope.interface import implementer

from orchd.cache import stored_encoding
from orchd.cache.entries import Change, ChangeType, Entry, Index, Page
from orchd.cache.interfaces import ICache, ICaches, ISubscription
from orchd.kinds.catalog import split_group_version
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.customkinds.definition import Definition


def upgrade(obj: dict[str, Any], definition: Definition, settings: ObjectSettings) -> dict[str, Any]:
    """Upgrade `obj` to the current schema, in the storage version. An object that does not match the schema's types, or
    that needs a conversion webhook, stays unchanged."""
    kind = definition.kind
    if kind is None:
        return obj
    group, version = split_group_version(obj.get("apiVersion", ""))
    type_ = kind.types.get(version)
    if type_ is None:
        return obj
    try:
        shaped = default.fill(shape.canonical(obj, type_), type_, settings)
        if version != kind.storage and kind.converter is None:
            moved = {**shaped, "apiVersion": f"{group}/{kind.storage}"}
            return shape.canonical(moved, kind.types[kind.storage])
    except shape.ShapeError:
        return obj
    return shaped


class _Reader:
    """Upgrades the entries of one key."""

    def __init__(self, definition: Callable[[], Definition | None], settings: ObjectSettings) -> None:
        self._definition = definition
        self._settings = settings

    def entry(self, entry: Entry, written: int = 0) -> Entry:
        """`entry` or its upgrade; `written` is its revision if that differs from the entry's."""
        definition = self._definition()
        if definition is None or (written or entry.revision) > definition.since:
            return entry
        mark = ("settled", definition.since)
        upgraded: Entry | None = entry.derived.get(mark)
        if upgraded is None:
            upgraded = self._upgrade(entry, definition)
            entry.keep(mark, upgraded, len(upgraded.json))
        return upgraded

    def _upgrade(self, entry: Entry, definition: Definition) -> Entry:
        obj = orjson.loads(entry.json)
        new = upgrade(obj, definition, self._settings)
        if new == obj:
            return entry
        body = stored_encoding.with_revision(stored_encoding.encode(new, custom=True), entry.revision)
        return Entry(entry.path, entry.revision, entry.created, body, entry.labels, entry.fields, entry.budget)

    def change(self, change: Change) -> Change:
        previous = change.previous
        deleted = change.type is ChangeType.DELETED and previous is not None
        entry = self.entry(change.entry, previous.revision if deleted and previous is not None else 0)
        before = previous if previous is None else self.entry(previous)
        if entry is change.entry and before is previous:
            return change
        upgraded: Change | None = change.versions.get("settled")
        if upgraded is None or upgraded.entry is not entry:
            upgraded = change.versions["settled"] = Change(change.type, entry, before, change.budget)
        return upgraded


@implementer(ICache)
class UpgradingCache:
    """The cache of a custom kind with upgraded entries."""

    def __init__(self, cache: ICache, reader: _Reader) -> None:
        self._cache = cache
        self._reader = reader
        self.alone: bool = cache.alone
        self.ready = cache.ready
        self.fresh = cache.fresh
        self.at_least = cache.at_least
        self.damaged = cache.damaged
        self.check_readable = cache.check_readable

    @property
    def revision(self) -> int:
        revision: int = self._cache.revision
        return revision

    @property
    def oldest(self) -> int:
        oldest: int = self._cache.oldest
        return oldest

    def get(self, path: str) -> Entry | None:
        entry: Entry | None = self._cache.get(path)
        return None if entry is None else self._reader.entry(entry)

    def page(self, **options: Any) -> Page:
        page: Page = self._cache.page(**options)
        entry = self._reader.entry
        return Page([entry(each) for each in page.entries], page.revision, page.next_path, page.remaining)

    def subscribe(self, *, on_change: Callable[[Change], None], **options: Any) -> ISubscription:
        change = self._reader.change
        subscription: ISubscription = self._cache.subscribe(on_change=lambda each: on_change(change(each)), **options)
        return subscription

    def past(self, *, after: int, most: int) -> Sequence[Change]:
        changes: Sequence[Change] = self._cache.past(after=after, most=most)
        return [self._reader.change(each) for each in changes]

    async def applied(self, path: str, revision: int) -> Entry | None:
        entry: Entry | None = await self._cache.applied(path, revision)
        return None if entry is None else self._reader.entry(entry)


@implementer(ICaches)
class UpgradingCaches:
    """The caches of a server; those of custom kinds upgrade their entries."""

    def __init__(
        self, caches: ICaches, definition: Callable[[str], Definition | None], settings: ObjectSettings
    ) -> None:
        """`definition` finds the definition of a key, None for built-in kinds."""
        self._caches = caches
        self.announced = caches.announced
        self._definition = definition
        self._settings = settings

    def cache(self, key: str, index: Index) -> ICache:
        cache: ICache = self._caches.cache(key, index)
        if self._definition(key) is None:
            return cache
        return UpgradingCache(cache, _Reader(lambda: self._definition(key), self._settings))

    def drop(self, key: str) -> None:
        self._caches.drop(key)
