"""Number of objects by namespace, for the resources that quotas count. Only their uids are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from twisted.internet.interfaces import IReactorTime

from orchd.client.interfaces import IClient, ResourceRef
from orchd.controllers.monitor import Monitor
from orchd.kinds.fields import namespace, uid
from orchd.kinds.jsonvalues import Object
from orchd.txkit.background import Background


class ObjectCounts:
    """Counts a resource from the first request on. `changed(ref, namespace)` is called when objects are deleted, with
    namespace "" when a resource has been counted for the first time."""

    def __init__(
        self, client: IClient, clock: IReactorTime, random: Random, changed: Callable[[ResourceRef, str], None]
    ) -> None:
        self._client = client
        self._clock = clock
        self._random = random
        self._changed = changed
        self._monitors: dict[ResourceRef, Monitor] = {}
        self._namespaces: dict[ResourceRef, dict[str, str]] = {}
        self._numbers: dict[ResourceRef, Counter[str]] = {}
        self._background = Background()
        self._stopped = False

    def count(self, ref: ResourceRef, within: str) -> int | None:
        """Number of objects in a namespace; None until it is known."""
        monitor = self._monitors.get(ref)
        if monitor is None:
            self._follow(ref)
            return None
        return self._numbers[ref][within] if monitor.synced else None

    def keep(self, refs: set[ResourceRef]) -> None:
        """Stop following every other resource."""
        for ref in [r for r in self._monitors if r not in refs]:
            self._monitors.pop(ref).close()
            del self._namespaces[ref], self._numbers[ref]

    async def stop(self) -> None:
        self._stopped = True
        for monitor in self._monitors.values():
            monitor.close()
        await self._background.stop()

    def _follow(self, ref: ResourceRef) -> None:
        if self._stopped:
            return
        self._namespaces[ref], self._numbers[ref] = {}, Counter()
        monitor = self._monitors[ref] = Monitor(
            self._client,
            ref,
            self._clock,
            self._random,
            seen=self._observe,
            gone=self._remove,
            node_uids=self._known_uids,
        )
        self._background.add(monitor.run(), f"resource quota, {ref.plural}")
        self._background.add(self._tell(ref, monitor), f"resource quota, first count of {ref.plural}")

    async def _tell(self, ref: ResourceRef, monitor: Monitor) -> None:
        await monitor.wait_synced()
        if monitor.synced:
            self._changed(ref, "")

    def _known_uids(self, ref: ResourceRef) -> set[str]:
        return set(self._namespaces.get(ref, ()))

    def _observe(self, ref: ResourceRef, obj: Object) -> None:
        by_namespace = self._namespaces.get(ref)
        if by_namespace is not None and uid(obj) not in by_namespace:
            by_namespace[uid(obj)] = namespace(obj)
            self._numbers[ref][namespace(obj)] += 1

    def _remove(self, ref: ResourceRef, gone: str) -> None:
        within = self._namespaces.get(ref, {}).pop(gone, None)
        if within is not None:
            self._numbers[ref][within] -= 1
            self._changed(ref, within)
