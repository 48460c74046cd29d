"""A scope of shared informers: closing it removes the listeners that were added through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from zope.interface import implementer

from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.kinds.jsonvalues import Object

Listener = Callable[[str, "Object | None", "Object | None"], None]


@implementer(IInformer)
class ScopedInformer:
    """See `ScopedInformers`."""

    def __init__(self, informer: IInformer) -> None:
        self._informer = informer
        self._listeners: list[Listener] = []

    @property
    def synced(self) -> bool:
        synced: bool = self._informer.synced
        return synced

    async def wait_synced(self) -> None:
        await self._informer.wait_synced()

    async def wait_delivered(self) -> None:
        await self._informer.wait_delivered()

    def get(self, namespace: str, name: str) -> Object | None:
        obj: Object | None = self._informer.get(namespace, name)
        return obj

    def list(self, namespace: str = "", labels: Mapping[str, str] | None = None) -> Iterable[Object]:
        objects: Iterable[Object] = self._informer.list(namespace, labels)
        return objects

    def by_index(self, index: str, *values: str) -> Iterable[Object]:
        objects: Iterable[Object] = self._informer.by_index(index, *values)
        return objects

    def holds(self, index: str, value: str) -> bool:
        held: bool = self._informer.holds(index, value)
        return held

    def add_index(self, index: str, function: Callable[[Object], Iterable[str]]) -> None:
        self._informer.add_index(index, function)

    async def wait_indexed(self, index: str) -> None:
        await self._informer.wait_indexed(index)

    def add_listener(self, listener: Listener) -> None:
        self._listeners.append(listener)
        self._informer.add_listener(listener)

    def remove_listener(self, listener: Listener) -> None:
        self._listeners.remove(listener)
        self._informer.remove_listener(listener)

    def close(self) -> None:
        """Remove all listeners that were added here."""
        while self._listeners:
            self._informer.remove_listener(self._listeners.pop())


@implementer(IInformers)
class ScopedInformers:
    """The informers of `informers`, which live on after `close`."""

    def __init__(self, informers: IInformers) -> None:
        self._informers = informers
        self._scoped: dict[ResourceRef, ScopedInformer] = {}

    def informer(self, ref: ResourceRef) -> ScopedInformer:
        informer = self._scoped.get(ref)
        if informer is None:
            informer = self._scoped[ref] = ScopedInformer(self._informers.informer(ref))
        return informer

    def close(self) -> None:
        """Remove all listeners that were added through this."""
        for informer in self._scoped.values():
            informer.close()
