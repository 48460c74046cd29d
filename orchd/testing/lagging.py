"""Informers that are late on demand: events wait until a test lets them arrive, in their order.

    informers = LaggingInformers(source)
    informers.hold(PODS)            # from now on nothing new is shown of pods
    ...                             # what a controller does now, it does on old news
    informers.deliver(PODS, 1)      # one event arrives
    informers.release(PODS)         # all of them, and what comes next at once

What a double shows that is never late proves nothing about code that waits.
"""

from __future__ import annotations

from collections import deque

from zope.interface import implementer

from orchd.client.interfaces import IInformer, IInformers, Object, ResourceRef
from orchd.testing.informers import MemoryInformer


class LaggingInformer(MemoryInformer):
    """A copy of what `source` shows, as late as a test wants it to be."""

    def __init__(self, source: IInformer) -> None:
        super().__init__()
        self._source = source
        self._late: deque[tuple[Object | None, Object | None]] = deque()
        self.held = False
        source.add_listener(self._receive)

    @property
    def waiting(self) -> int:
        """Events that have not arrived."""
        return len(self._late)

    async def wait_synced(self) -> None:
        await self._source.wait_synced()

    def deliver(self, count: int | None = None) -> None:
        """Let so many events arrive, the oldest first; all of them without a number."""
        for _ in range(len(self._late) if count is None else count):
            old, new = self._late.popleft()
            if new is not None:
                self.put(new)
            elif old is not None and self.get(old["metadata"].get("namespace", ""), old["metadata"]["name"]) is not None:
                self.remove(old["metadata"].get("namespace", ""), old["metadata"]["name"])

    def _receive(self, event: str, old: Object | None, new: Object | None) -> None:
        self._late.append((old, new))
        if not self.held:
            self.deliver()


@implementer(IInformers)
class LaggingInformers:
    """Lagging informers over those of `source`; none is late before `hold`."""

    def __init__(self, source: IInformers) -> None:
        self._source = source
        self._informers: dict[ResourceRef, LaggingInformer] = {}

    def informer(self, ref: ResourceRef) -> LaggingInformer:
        if ref not in self._informers:
            self._informers[ref] = LaggingInformer(self._source.informer(ref))
        return self._informers[ref]

    def hold(self, ref: ResourceRef) -> None:
        """Keep events of a resource back."""
        self.informer(ref).held = True

    def deliver(self, ref: ResourceRef, count: int | None = None) -> None:
        """Let so many events of a resource arrive; all of them without a number."""
        self.informer(ref).deliver(count)

    def release(self, ref: ResourceRef) -> None:
        """Let everything of a resource arrive, from now on at once."""
        self.informer(ref).held = False
        self.informer(ref).deliver()
