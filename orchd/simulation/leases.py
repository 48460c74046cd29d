"""Leases of simulated nodes, renewed in small batches: the load is even, and each batch needs one commit."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import microtime
from orchd.txkit.background import Background
from orchd.txkit.for_each import side_by_side
from orchd.txkit.log import Logger

#: leaseDurationSeconds, as node agents set it.
DURATION = 40
#: Seconds from one renewal of a lease to the next, and between batches.
INTERVAL, TICK = 30.0, 0.5


class LeaseKeeper:
    """Renews leases from `keep` to `drop`. `renewed` counts successful writes, `failed` the others."""

    log = Logger()

    def __init__(self, client: IClient, dialect: Dialect, clock: IReactorTime, wall: Callable[[], float]) -> None:
        self._client = client
        self._ref = ResourceRef(dialect("coordination.{abbr}.io"), "v1", "leases")
        self._namespace = dialect("{short}-node-lease")
        self._clock = clock
        self._wall = wall
        self._uids: dict[str, str] = {}
        self._written: dict[str, Object] = {}
        self._order: deque[str] = deque()
        self._owed = 0.0
        self._background = Background()
        self.renewed = 0
        self.failed = 0

    def keep(self, name: str, uid: str) -> None:
        """Start to renew the lease of a node."""
        if name not in self._uids:
            # At the front: the lease of a new node is written with the next batch.
            self._order.appendleft(name)
            self._owed += 1
        if self._uids.get(name) != uid:
            self._written.pop(name, None)
        self._uids[name] = uid

    def drop(self, name: str) -> None:
        """Stop to renew the lease of a node."""
        self._written.pop(name, None)
        if self._uids.pop(name, None) is not None:
            self._order.remove(name)

    def start(self) -> None:
        self._background.add(self._run(), "leases of simulated nodes")

    async def stop(self) -> None:
        await self._background.stop()

    async def _run(self) -> None:
        while True:
            await deferLater(self._clock, TICK)
            await self.renew_due()

    async def renew_due(self) -> None:
        """Renew one batch of leases that are due."""
        self._owed = min(self._owed + len(self._order) * TICK / INTERVAL, float(len(self._order)))
        count = math.floor(self._owed)
        self._owed -= count
        names = [self._order[index] for index in range(count)]
        self._order.rotate(-count)
        if names:
            await side_by_side([self._renew(name) for name in names])

    async def _renew(self, name: str) -> None:
        try:
            await self._write(name)
            self.renewed += 1
        except CancelledError:
            raise
        except ApiError as error:
            self.failed += 1
            self._written.pop(name, None)
            if error.code not in (404, 409):
                self.log.warn("failed to renew the lease of node {name}: {error}", name=name, error=error.message)
        except Exception:  # a failure must not stop the renewal of other leases
            self.failed += 1
            self.log.failure("failed to renew the lease of node {name}", name=name)

    async def _write(self, name: str) -> None:
        spec = {"holderIdentity": name, "leaseDurationSeconds": DURATION, "renewTime": microtime(self._wall())}
        lease = self._written.get(name)
        if lease is None:
            try:
                lease = await self._client.get(self._ref, self._namespace, name)
            except ApiError as error:
                if error.code != 404:
                    raise
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": self._uids.get(name, "")}
        if lease is None:
            fresh = {
                "apiVersion": f"{self._ref.group}/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": self._namespace, "ownerReferences": [owner]},
                "spec": spec,
            }
            created = await self._client.create(self._ref, self._namespace, fresh)
        else:
            metadata = {**lease["metadata"], "ownerReferences": [owner]}
            changed = {**lease, "metadata": metadata, "spec": spec}
            created = await self._client.update(self._ref, self._namespace, name, changed)
        if name in self._uids:
            self._written[name] = created
