"""Informers: local copies of resources, kept current by a list and a watch.

The loop has two states (specification, "Efficient detection of changes"): LIST, which replaces the copy, and WATCH from
the last resource version. After 410 and after any other failure it returns to LIST, with exponential backoff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from zope.interface import implementer

from orchd.client.interfaces import IClient, IInformer, IInformers, ResourceRef
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: First and maximum backoff in seconds.
_PAUSE, _LONGEST_PAUSE = 0.1, 30.0
#: Longest pause between requests for a resource that may be missing, and is.
_PAUSE_WITHOUT = 5.0
#: A watch that lasts this many seconds resets the backoff, even without events.
_LASTING = 1.0

Listener = Callable[[str, "Object | None", "Object | None"], None]
IndexFunction = Callable[[Object], Iterable[str]]


def key_of(obj: Object) -> tuple[str, str]:
    """Namespace and name of an object."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def has_labels(obj: Object, labels: Mapping[str, str]) -> bool:
    """True if an object has all of these labels."""
    return labels.items() <= (obj["metadata"].get("labels") or {}).items()


@implementer(IInformer)
class Informer:
    """An informer of one resource over all namespaces. Await `run` in a background task. With `may_lack`, a resource
    that the server does not serve counts as one without objects until it is served."""

    log = Logger()

    def __init__(
        self, client: IClient, ref: ResourceRef, clock: IReactorTime, random: Random, *, may_lack: bool = False
    ) -> None:
        self.ref = ref
        self.synced = False
        self._may_lack = may_lack
        self._client = client
        self._clock = clock
        self._random = random
        self._objects: dict[tuple[str, str], Object] = {}
        self._by_namespace: dict[str, dict[str, Object]] = {}
        self._functions: dict[str, IndexFunction] = {}
        self._indexes: dict[str, dict[str, dict[tuple[str, str], Object]]] = {}
        self._listeners: list[Listener] = []
        self._waiting: list[Deferred[None]] = []
        self._stream: Any = None

    # -- reading

    def get(self, namespace: str, name: str) -> Object | None:
        return self._objects.get((namespace, name))

    def list(self, namespace: str = "", labels: Mapping[str, str] | None = None) -> Iterable[Object]:
        objects = self._by_namespace.get(namespace, {}) if namespace else self._objects
        if labels:
            return [obj for obj in objects.values() if has_labels(obj, labels)]
        return list(objects.values())

    def by_index(self, index: str, *values: str) -> Iterable[Object]:
        table = self._indexes[index]
        return [obj for value in values if value in table for obj in table[value].values()]

    def holds(self, index: str, value: str) -> bool:
        return value in self._indexes[index]

    async def wait_indexed(self, index: str) -> None:
        await self.wait_synced()
        if index not in self._indexes:
            raise KeyError(index)

    def add_index(self, index: str, function: IndexFunction) -> None:
        self._functions[index] = function
        table = self._indexes[index] = {}
        for key, obj in self._objects.items():
            for value in function(obj):
                table.setdefault(value, {})[key] = obj

    def add_listener(self, listener: Listener) -> None:
        self._listeners.append(listener)
        for obj in list(self._objects.values()):
            listener("ADDED", None, obj)

    def remove_listener(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    async def wait_synced(self) -> None:
        if not self.synced:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            await waiting

    async def wait_delivered(self) -> None:
        # Listeners are called in the turn in which they are added, and in that of each later change.
        await self.wait_synced()

    # -- list and watch

    async def run(self) -> None:
        """List and watch until cancelled."""
        pause = _PAUSE
        while True:
            try:
                version = await self._list()
                while True:
                    begin = self._clock.seconds()
                    version, heard = await self._watch(version)
                    if heard or self._clock.seconds() - begin >= _LASTING:
                        pause = _PAUSE
                    else:
                        # Back off from a server that ends every watch immediately.
                        await self._rest(pause)
                        pause = min(pause * 2, _LONGEST_PAUSE)
            except CancelledError:
                raise
            except ApiError as error:
                if error.code == 404 and self._may_lack and not self._objects:
                    self._be_without()
                    pause = min(pause, _PAUSE_WITHOUT)
                elif error.code != 410:
                    self.log.warn(
                        "informer of {ref}: {error}; listing again", ref=self._resource_name, error=error.message
                    )
            except Exception:  # logged; an informer must survive any single failure
                self.log.failure("informer of {ref} failed: listing again", ref=self._resource_name)
            await self._rest(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    @property
    def _resource_name(self) -> str:
        """The resource in messages: "pods", "poddisruptionbudgets.v1.policy"."""
        ref = self.ref
        return f"{ref.plural}.{ref.version}.{ref.group}" if ref.group else ref.plural

    def _be_without(self) -> None:
        """Count a resource that is not served as listed, without objects."""
        if not self.synced:
            self.log.warn("the server does not serve {ref}: continuing without its objects", ref=self._resource_name)
            self._be_synced()

    def _be_synced(self) -> None:
        self.synced = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)

    async def _rest(self, pause: float) -> None:
        await deferLater(self._clock, pause * (0.5 + self._random.random()))

    def close(self) -> None:
        """Close the watch and cancel all waits for the first list."""
        if self._stream is not None:
            self._stream.close()
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.cancel()

    async def _list(self) -> str:
        response = await self._client.list(self.ref, resource_version="" if self.synced else "0")
        fresh = {key_of(obj): obj for obj in response["items"]}
        for key in [k for k in self._objects if k not in fresh]:
            self._apply("DELETED", key, self._objects[key])
        for key, obj in fresh.items():
            old = self._objects.get(key)
            if old is None:
                self._apply("ADDED", key, obj)
            elif old["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self._apply("MODIFIED", key, obj)
        if not self.synced:
            self._be_synced()
        version: str = response["metadata"]["resourceVersion"]
        return version

    async def _watch(self, version: str) -> tuple[str, bool]:
        """Apply events from `version` on until the server ends the watch. Returns the last version, and whether there
        were events."""
        heard = False
        stream = self._stream = await self._client.watch(self.ref, resource_version=version)
        try:
            while True:
                event = await stream.next()
                if event is None:
                    return version, heard
                heard = True
                version = event.object["metadata"]["resourceVersion"]
                if event.type != "BOOKMARK":
                    self._apply(event.type, key_of(event.object), event.object)
        finally:
            stream.close()
            self._stream = None

    def _apply(self, kind: str, key: tuple[str, str], obj: Object) -> None:
        old = self._objects.pop(key, None)
        for name, function in self._functions.items():
            if old is not None:
                for value in function(old):
                    bucket = self._indexes[name].get(value, {})
                    bucket.pop(key, None)
                    if not bucket:
                        self._indexes[name].pop(value, None)
        namespace, short = key
        if kind == "DELETED":
            inside = self._by_namespace.get(namespace, {})
            inside.pop(short, None)
            if not inside:
                self._by_namespace.pop(namespace, None)
            if old is None:
                return
        else:
            kind = "ADDED" if old is None else "MODIFIED"
            self._objects[key] = obj
            self._by_namespace.setdefault(namespace, {})[short] = obj
            for name, function in self._functions.items():
                for value in function(obj):
                    self._indexes[name].setdefault(value, {})[key] = obj
        for listener in list(self._listeners):
            listener(kind, old, None if kind == "DELETED" else obj)


@implementer(IInformers)
class Informers:
    """Shared informers of one client: started at their first request, stopped together. `may_lack` says which resources
    may be missing on the server."""

    def __init__(
        self,
        client: IClient,
        clock: IReactorTime,
        random: Random,
        *,
        may_lack: Callable[[ResourceRef], bool] = lambda ref: False,
    ) -> None:
        self._client = client
        self._may_lack = may_lack
        self._clock = clock
        self._random = random
        self._running: dict[ResourceRef, Informer] = {}
        self._background = Background()
        self._started = False

    def informer(self, ref: ResourceRef) -> Informer:
        informer = self._running.get(ref)
        if informer is None:
            informer = self._running[ref] = Informer(
                self._client, ref, self._clock, self._random, may_lack=self._may_lack(ref)
            )
            if self._started:
                self._background.add(informer.run(), f"informer of {ref.plural}")
        return informer

    @property
    def synced(self) -> bool:
        """True if all informers have completed their first list."""
        return all(informer.synced for informer in self._running.values())

    async def wait_synced(self) -> None:
        """Wait until every informer requested so far has completed its first list."""
        for informer in list(self._running.values()):
            await informer.wait_synced()

    def start(self) -> None:
        """Start the informers requested so far, and later ones at their request."""
        self._started = True
        for ref, informer in self._running.items():
            self._background.add(informer.run(), f"informer of {ref.plural}")

    async def stop(self) -> None:
        """Stop all informers and wait for their end."""
        for informer in self._running.values():
            informer.close()
        await self._background.stop()
