"""Leader election with a Lease object: of several candidates, the one that holds and renews the lease is active.

The age of the lease is measured by this process's own clock from the last observed change. Times in the lease are ignored,
because clocks of machines differ.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchd.client.interfaces import IClient, Object, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.txkit.background import Background
from orchd.txkit.coroutines import start
from orchd.txkit.timeouts import within


def _micro(seconds: float) -> str:
    """RFC 3339 with microseconds."""
    whole = int(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((seconds - whole) * 1e6):06d}Z"


class LeaderElection:
    """One candidate of an election.

    `started()` is awaited when this process becomes the leader; `lost()` is called once when it loses leadership. A leader
    that has not renewed for `deadline` seconds gives up; other candidates acquire the lease after `duration` seconds without
    a renewal. `retry` is the interval between attempts in seconds, `wall` returns seconds since the epoch. After `lost` the
    election is over: interrupted work should continue in a new process.
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
        wall: Callable[[], float],
        started: Callable[[], Awaitable[object]],
        lost: Callable[[], object],
        duration: float = 15.0,
        deadline: float = 10.0,
        retry: float = 2.0,
    ) -> None:
        if not duration > deadline > retry > 0:
            raise ValueError("the lease duration must be longer than the renew deadline, and that longer than the retry period")
        self._client = client
        self._ref = ResourceRef(dialect("coordination.{abbr}.io"), "v1", "leases")
        self._clock = clock
        self._random = random
        self._namespace, self._name, self._identity = namespace, name, identity
        self._wall = wall
        self._started, self._lost = started, lost
        self._duration, self._deadline, self._retry = duration, deadline, retry
        self._background = Background()
        self._seen: Any = None
        self._seen_at = 0.0
        self.leading = False

    def start(self) -> None:
        """Start to acquire the lease."""
        self._background.add(self._run(), f"election for {self._name}")

    async def stop(self) -> None:
        """Stop, and release the lease, so that another candidate need not wait for its expiry."""
        await self._background.stop()
        if self.leading:
            self.leading = False
            try:
                await within(start(self._release()), self._retry, self._clock)
            except Exception:  # the lease expires anyway; a failed release must not fail the shutdown
                self.log.failure("releasing lease {name} failed", name=self._name)

    async def _run(self) -> None:
        while not await self._attempt():
            await self._pause()
        self.leading = True
        self.log.info("{identity} became leader of {name}", identity=self._identity, name=self._name)
        self._background.add(self._lead(), f"work of the leader of {self._name}")
        renewed = self._clock.seconds()
        while self._clock.seconds() - renewed < self._deadline:
            await self._pause()
            if await self._attempt():
                renewed = self._clock.seconds()
            elif self._held_by_other():
                break
        self.leading = False
        self.log.error("{identity} lost leadership of {name}", identity=self._identity, name=self._name)
        self._lost()

    async def _lead(self) -> None:
        await self._started()

    async def _pause(self) -> None:
        await deferLater(self._clock, self._retry * (1 + 0.2 * self._random.random()))

    def _held_by_other(self) -> bool:
        return bool(self._seen) and self._seen.get("holderIdentity") not in ("", None, self._identity)

    async def _attempt(self) -> bool:
        """Acquire or renew the lease. Returns False after a failure, which is logged."""
        try:
            return await within(start(self._acquire()), self._deadline, self._clock)
        except CancelledError:
            raise
        except ApiError as error:
            self.log.debug("cannot acquire or renew lease {name}: {error}", name=self._name, error=error.message)
        except Exception:  # logged; an election must survive any single failure
            self.log.failure("acquiring or renewing lease {name} failed", name=self._name)
        return False

    async def _acquire(self) -> bool:
        lease: Object | None
        try:
            lease = await self._client.get(self._ref, self._namespace, self._name)
        except ApiError as error:
            if error.code != 404:
                raise
            lease = None
        now = _micro(self._wall())
        if lease is None:
            fresh = {
                "apiVersion": f"{self._ref.group}/v1",
                "kind": "Lease",
                "metadata": {"name": self._name, "namespace": self._namespace},
                "spec": self._spec(now, now, 0),
            }
            self._observe((await self._client.create(self._ref, self._namespace, fresh))["spec"])
            return True
        spec = lease.get("spec") or {}
        if spec != self._seen:
            self._observe(spec)
        holder = spec.get("holderIdentity") or ""
        mine = holder == self._identity
        if holder and not mine and self._clock.seconds() - self._seen_at < self._duration:
            return False
        changes = int(spec.get("leaseTransitions") or 0) + (not mine)
        renewed = self._spec(spec.get("acquireTime") or now if mine else now, now, changes)
        updated = await self._client.update(self._ref, self._namespace, self._name, {**lease, "spec": renewed})
        self._observe(updated["spec"])
        return True

    def _observe(self, spec: Any) -> None:
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
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _micro(self._wall())}
            await self._client.update(self._ref, self._namespace, self._name, {**lease, "spec": spec})
