"""Informers with controllable delay: events are held until a test delivers them, in order.

    informers = LaggingInformers(source)
    informers.hold(PODS)            # from now on nothing new is shown of pods
    ...                             # what a controller does now, it does on old news
    informers.deliver(PODS, 1)      # one event arrives
    informers.release(PODS)         # all of them, and what comes next at once

Code that waits needs tests with a double that lags.
"""

from __future__ import annotations

from collections import deque

from zope.interface import implementer

from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.kinds.jsonvalues import Object
from orchd.testing.doubles.informers import MemoryInformer


class LaggingInformer(MemoryInformer):
    """A delayed copy of `source`."""

    def __init__(self, source: IInformer) -> None:
        super().__init__()
        self._source = source
        self._late: deque[tuple[Object | None, Object | None]] = deque()
        self.held = False
        source.add_listener(self._receive)

    @property
    def waiting(self) -> int:
        """Number of held events."""
        return len(self._late)

    async def wait_synced(self) -> None:
        await self._source.wait_synced()

    def deliver(self, count: int | None = None) -> None:
        """Deliver this many events, oldest first; all of them without a number."""
        for _ in range(len(self._late) if count is None else count):
            old, new = self._late.popleft()
            if new is not None:
                self.put(new)
            elif (
                old is not None and self.get(old["metadata"].get("namespace", ""), old["metadata"]["name"]) is not None
            ):
                self.remove(old["metadata"].get("namespace", ""), old["metadata"]["name"])

    def _receive(self, event: str, old: Object | None, new: Object | None) -> None:
        self._late.append((old, new))
        if not self.held:
            self.deliver()


@implementer(IInformers)
class LaggingInformers:
    """Delayed informers over those of `source`; none is delayed before `hold`."""

    def __init__(self, source: IInformers) -> None:
        self._source = source
        self._informers: dict[ResourceRef, LaggingInformer] = {}

    def informer(self, ref: ResourceRef) -> LaggingInformer:
        if ref not in self._informers:
            self._informers[ref] = LaggingInformer(self._source.informer(ref))
        return self._informers[ref]

    def hold(self, ref: ResourceRef) -> None:
        """Hold the events of a resource."""
        self.informer(ref).held = True

    def deliver(self, ref: ResourceRef, count: int | None = None) -> None:
        """Deliver this many events of a resource; all of them without a number."""
        self.informer(ref).deliver(count)

    def release(self, ref: ResourceRef) -> None:
        """Deliver all events of a resource, and later ones at once."""
        self.informer(ref).held = False
        self.informer(ref).deliver()
