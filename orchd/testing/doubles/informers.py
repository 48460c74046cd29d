"""An `IInformers` double driven by a test: objects are put in by hand, listeners and indexes are updated at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from twisted.internet.defer import Deferred
from zope.interface import implementer

from orchd.client.informers import has_labels
from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.kinds.jsonvalues import Object

Listener = Callable[[str, Object | None, Object | None], None]
Index = Callable[[Object], Iterable[str]]


def _key(obj: Object) -> tuple[str, str]:
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


@implementer(IInformer)
class MemoryInformer:
    """One resource. `put` and `remove` act as the server; `synced` starts True and may be set to False."""

    def __init__(self) -> None:
        self.synced = True
        self._objects: dict[tuple[str, str], Object] = {}
        self._listeners: list[Listener] = []
        self._indexes: dict[str, tuple[Index, dict[str, dict[tuple[str, str], Object]]]] = {}
        self._waiting: list[Deferred[None]] = []

    async def wait_synced(self) -> None:
        if not self.synced:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            await waiter

    async def wait_delivered(self) -> None:
        await self.wait_synced()

    def sync(self) -> None:
        """Complete the first list."""
        self.synced = True
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.called:
                waiter.callback(None)

    def get(self, namespace: str, name: str) -> Object | None:
        return self._objects.get((namespace, name))

    def list(self, namespace: str = "", labels: Mapping[str, str] | None = None) -> Iterator[Object]:
        objects = [o for (ns, _), o in self._objects.items() if not namespace or ns == namespace]
        return iter([o for o in objects if has_labels(o, labels)] if labels else objects)

    def by_index(self, index: str, *values: str) -> Iterable[Object]:
        table = self._indexes[index][1]
        return [obj for value in values for obj in table.get(value, {}).values()]

    def holds(self, index: str, value: str) -> bool:
        return bool(self._indexes[index][1].get(value))

    def remove_listener(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    async def wait_indexed(self, index: str) -> None:
        await self.wait_synced()
        if index not in self._indexes:
            raise KeyError(index)

    def add_index(self, index: str, function: Index) -> None:
        self._indexes[index] = (function, {})
        for key, obj in self._objects.items():
            self._enter(index, key, obj)

    def add_listener(self, listener: Listener) -> None:
        self._listeners.append(listener)
        for obj in list(self._objects.values()):
            listener("ADDED", None, obj)

    def put(self, obj: Object) -> None:
        """Create or replace an object."""
        key = _key(obj)
        old = self._objects.get(key)
        self._forget(key)
        self._objects[key] = obj
        for index in self._indexes:
            self._enter(index, key, obj)
        for listener in self._listeners:
            listener("ADDED" if old is None else "MODIFIED", old, obj)

    def remove(self, namespace: str, name: str) -> None:
        """Delete an object. KeyError when it does not exist."""
        old = self._objects.pop((namespace, name))
        self._forget((namespace, name))
        for listener in self._listeners:
            listener("DELETED", old, None)

    def _enter(self, index: str, key: tuple[str, str], obj: Object) -> None:
        function, table = self._indexes[index]
        for value in function(obj):
            table.setdefault(value, {})[key] = obj

    def _forget(self, key: tuple[str, str]) -> None:
        for _, table in self._indexes.values():
            for entries in table.values():
                entries.pop(key, None)


@implementer(IInformers)
class MemoryInformers:
    """Informers created on first use. `put(ref, *objects)` fills one."""

    def __init__(self) -> None:
        self._informers: dict[ResourceRef, MemoryInformer] = {}

    def informer(self, ref: ResourceRef) -> MemoryInformer:
        if ref not in self._informers:
            self._informers[ref] = MemoryInformer()
        return self._informers[ref]

    def put(self, ref: ResourceRef, *objects: Object) -> None:
        for obj in objects:
            self.informer(ref).put(obj)
