"""The informers of a server, on its own caches where available."""

from __future__ import annotations

from collections.abc import Callable, Container

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.cache.interfaces import ICache
from orchd.client.informers import Informers
from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.server.informing.informer import CachedInformer, Decode
from orchd.txkit.background import Background
from orchd.txkit.compute_thread import ComputeThread


@implementer(IInformers)
class CachedInformers:
    """Shared informers: each starts on first use, all stop together.

    `opened` returns the cache of a resource and the decoder of its entries; None delegates to `others`, for kinds that
    may be added and removed. It is called immediately, so that all informers requested before the caches start load
    together. `compute` decodes large objects.
    """

    def __init__(
        self,
        opened: Callable[[ResourceRef], tuple[ICache, Decode] | None],
        clock: IReactorTime,
        *,
        others: Informers,
        compute: ComputeThread | None = None,
    ) -> None:
        self._opened = opened
        self._clock = clock
        self._others = others
        self._compute = compute or ComputeThread()
        self._running: dict[ResourceRef, CachedInformer] = {}
        self._background = Background()
        self._started = False

    def informer(self, ref: ResourceRef) -> IInformer:
        informer = self._running.get(ref)
        if informer is None:
            opened = self._opened(ref)
            if opened is None:
                return self._others.informer(ref)
            informer = self._running[ref] = CachedInformer(
                ref, *opened, self._clock, self._background.add, self._compute
            )
            if self._started:
                self._run(informer)
        return informer

    def _run(self, informer: CachedInformer) -> None:
        self._background.add(informer.run(), f"informer of {informer.ref.plural}")

    @property
    def synced(self) -> bool:
        """True if all informers have synced."""
        return self._others.synced and all(informer.synced for informer in self._running.values())

    async def wait_synced(self, *, besides: Container[ResourceRef] = ()) -> None:
        """Wait for every informer requested so far, without those of `besides`."""
        for ref, informer in list(self._running.items()):
            if ref not in besides:
                await informer.wait_synced()
        await self._others.wait_synced()

    def start(self) -> None:
        """Start the requested informers, and later ones on request."""
        self._started = True
        for informer in self._running.values():
            self._run(informer)
        self._others.start()

    async def stop(self) -> None:
        """Stop every informer and wait for that."""
        self._started = False
        await self._others.stop()
        for informer in self._running.values():
            informer.close()
        await self._background.stop()
