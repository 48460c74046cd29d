"""Leader election: of several processes that could do the same work, one does, as long as it renews a Lease object.

The lease is judged by what this process has seen change on its own clock, never by the times written in it: clocks of
different machines differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchd.client.interfaces import IClient, Object, ResourceRef
from orchd.client.times import micro_time
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.txkit.background import Background
from orchd.txkit.coroutines import start
from orchd.txkit.timeouts import within


class LeaderElection:
    """`started()` is awaited when this process becomes the leader, `lost()` is called once when it is no more.

    A leader that has not renewed for `deadline` seconds stops leading; others wait `duration` seconds, which must be
    longer, before they take over. `retry` is the pause between attempts. After `lost` nothing is tried again: work that
    has been cut off is best begun by a fresh process.
    """

    log = Logger()

    def __init__(
        self,
        client: IClient,
        dialect: Dialect,
        clock: IReactorTime,
        random: Random,
        *,
        namespace: str,
        name: str,
        identity: str,
        now: Callable[[], float],
        started: Callable[[], Awaitable[object]],
        lost: Callable[[], object],
        duration: float = 15.0,
        deadline: float = 10.0,
        retry: float = 2.0,
    ) -> None:
        if not duration > deadline > retry > 0:
            raise ValueError("a lease must last longer than its renewal may take, and that longer than one attempt")
        self._client = client
        self._ref = ResourceRef(dialect("coordination.{abbr}.io"), "v1", "leases")
        self._clock = clock
        self._random = random
        self._namespace, self._name, self._identity = namespace, name, identity
        self._now = now
        self._started, self._lost = started, lost
        self._duration, self._deadline, self._retry = duration, deadline, retry
        self._background = Background()
        self._seen: Any = None
        self._seen_at = 0.0
        self.leading = False

    def start(self) -> None:
        """Begin to try."""
        self._background.add(self._run(), f"election for {self._name}")

    async def stop(self) -> None:
        """End, and let go of the lease so that another need not wait."""
        await self._background.stop()
        if self.leading:
            self.leading = False
            try:
                await within(start(self._release()), self._retry, self._clock)
            except Exception:  # it runs out by itself; stopping must not fail because of it
                self.log.failure("could not let go of lease {name}", name=self._name)

    async def _run(self) -> None:
        while not await self._attempt():
            await self._pause()
        self.leading = True
        self.log.info("{identity} leads {name}", identity=self._identity, name=self._name)
        self._background.add(self._lead(), f"what the leader of {self._name} does")
        renewed = self._clock.seconds()
        while self._clock.seconds() - renewed < self._deadline:
            await self._pause()
            if await self._attempt():
                renewed = self._clock.seconds()
            elif self._held_by_other():
                break
        self.leading = False
        self.log.error("{identity} no longer leads {name}", identity=self._identity, name=self._name)
        self._lost()

    async def _lead(self) -> None:
        await self._started()

    async def _pause(self) -> None:
        await deferLater(self._clock, self._retry * (1 + 0.2 * self._random.random()))

    def _held_by_other(self) -> bool:
        return bool(self._seen) and self._seen.get("holderIdentity") not in ("", None, self._identity)

    async def _attempt(self) -> bool:
        """Take or renew the lease. What goes wrong is logged and means no."""
        try:
            return await within(start(self._take()), self._deadline, self._clock)
        except CancelledError:
            raise
        except ApiError as error:
            self.log.debug("lease {name}: {error}", name=self._name, error=error.message)
        except Exception:  # an election must outlive whatever goes wrong once
            self.log.failure("lease {name}", name=self._name)
        return False

    async def _take(self) -> bool:
        lease: Object | None
        try:
            lease = await self._client.get(self._ref, self._namespace, self._name)
        except ApiError as error:
            if error.code != 404:
                raise
            lease = None
        now = micro_time(self._now())
        if lease is None:
            fresh = {
                "apiVersion": f"{self._ref.group}/v1",
                "kind": "Lease",
                "metadata": {"name": self._name, "namespace": self._namespace},
                "spec": self._spec(now, now, 0),
            }
            self._see((await self._client.create(self._ref, self._namespace, fresh))["spec"])
            return True
        spec = lease.get("spec") or {}
        if spec != self._seen:
            self._see(spec)
        holder = spec.get("holderIdentity") or ""
        mine = holder == self._identity
        if holder and not mine and self._clock.seconds() - self._seen_at < self._duration:
            return False
        changes = int(spec.get("leaseTransitions") or 0) + (not mine)
        wanted = self._spec(spec.get("acquireTime") or now if mine else now, now, changes)
        taken = await self._client.update(self._ref, self._namespace, self._name, {**lease, "spec": wanted})
        self._see(taken["spec"])
        return True

    def _see(self, spec: Any) -> None:
        self._seen = spec
        self._seen_at = self._clock.seconds()

    def _spec(self, acquired: str, renewed: str, changes: int) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": acquired,
            "renewTime": renewed,
            "leaseTransitions": changes,
        }

    async def _release(self) -> None:
        lease = await self._client.get(self._ref, self._namespace, self._name)
        if (lease.get("spec") or {}).get("holderIdentity") == self._identity:
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time(self._now())}
            await self._client.update(self._ref, self._namespace, self._name, {**lease, "spec": spec})
