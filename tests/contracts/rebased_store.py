"""A store of etcd whose revisions begin at 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zope.interface import implementer

from orchd.store.interfaces import (
    CompactedError,
    Event,
    FutureRevisionError,
    IStore,
    IWatch,
    KeyValue,
    Range,
    RevisionConflictError,
    StoreError,
)


@implementer(IStore)
class Rebased:
    """A store whose revisions are shifted to begin at 1 at its start.

    etcd counts the writes of all its users, and recording the dialect is one: a suite with fixed revisions sees those
    of a fresh store, as long as there are no other writers.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._base = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    exclusive = False

    @property
    def revision(self) -> int:
        return int(self._store.revision) - self._base

    @property
    def compacted(self) -> int:
        return max(1, int(self._store.compacted) - self._base)

    def healthy(self) -> str:
        return str(self._store.healthy())

    def start(self) -> Any:
        def started(result: None) -> None:
            self._base = self._store.revision - 1

        return self._store.start().addCallback(started)

    def stop(self) -> Any:
        return self._store.stop()

    async def _shifted(self, work: Any) -> Any:
        base = self._base
        try:
            return await work
        except CompactedError as error:
            raise CompactedError(error.revision - base, error.compacted - base) from error
        except FutureRevisionError as error:
            raise FutureRevisionError(error.revision - base, error.current - base) from error
        except RevisionConflictError as error:
            raise RevisionConflictError(error.key, self._item(error.current)) from error

    def _item(self, item: KeyValue | None) -> KeyValue | None:
        if item is None:
            return None
        return KeyValue(item.key, item.value, item.revision - self._base, item.created - self._base)

    async def create(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        return int(await self._shifted(self._store.create(key, value, ttl=ttl))) - self._base

    async def update(self, key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        work = self._store.update(key, value, expected=expected + self._base, ttl=ttl)
        return int(await self._shifted(work)) - self._base

    async def delete(self, key: str, *, expected: int) -> int:
        return int(await self._shifted(self._store.delete(key, expected=expected + self._base))) - self._base

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        at = revision + self._base if revision else 0
        return self._item(await self._shifted(self._store.get(key, revision=at)))

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Range:
        at = revision + self._base if revision else 0
        page = await self._shifted(self._store.range(prefix, start=start, limit=limit, revision=at))
        items = tuple(item for item in map(self._item, page.items) if item is not None)
        return Range(items, page.revision - self._base, page.remaining)

    async def current_revision(self) -> int:
        return int(await self._store.current_revision()) - self._base

    def watch(
        self, prefix: str, *, after: int, on_events: Callable[[Sequence[Event]], None],
        on_end: Callable[[StoreError], None], on_progress: Callable[[int], None] | None = None,
    ) -> IWatch:  # fmt: skip
        base = self._base

        def shift(event: Event) -> Event:
            return Event(
                event.type,
                event.key,
                event.value,
                event.revision - base,
                event.created - base,
                self._item(event.previous),
            )

        def progress(revision: int) -> None:
            if on_progress is not None:
                on_progress(revision - base)

        watch: IWatch = self._store.watch(
            prefix, after=after + base, on_events=lambda events: on_events([shift(event) for event in events]),
            on_end=on_end, on_progress=progress,
        )  # fmt: skip
        return watch

    async def compact(self, revision: int) -> None:
        await self._shifted(self._store.compact(revision + self._base))
