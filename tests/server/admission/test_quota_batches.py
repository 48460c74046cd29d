"""Quota checks of concurrent writes: one status update per batch, with an outcome per write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.plugins.resourcequota import ResourceQuota
from orchd.txkit.coroutines import start
from tests.server.admission.conftest import MemoryClient, World

QUOTAS = ResourceRef("", "v1", "resourcequotas")


class SlowClient(MemoryClient):
    """Completes the oldest update when `release` is called."""

    def __init__(self, world: World) -> None:
        super().__init__(world.informers)
        self.held: list[Deferred[None]] = []

    async def update(self, *args: Any, **more: Any) -> Object:
        waiting: Deferred[None] = Deferred()
        self.held.append(waiting)
        await waiting
        return await super().update(*args, **more)

    def release(self) -> None:
        self.held.pop(0).callback(None)


def outcome_of(write: Deferred[None]) -> Any:
    """None for an admitted write, else its error. The write must have ended."""
    found: list[Any] = []
    write.addBoth(found.append)
    assert found, "the write is still waiting"
    return found[0].value if isinstance(found[0], Failure) else found[0]


class Batches:
    """The plugin with a client that a test drives, and quotas by name with their limit of config maps."""

    def __init__(self, **limits: str) -> None:
        self.world = World(only=[])
        self.client = SlowClient(self.world)
        self.clock = Clock()
        client: Any = self.client
        reactor: Any = self.clock
        context = self.world.context
        self.plugin = ResourceQuota(
            replace(context, api=replace(context.api, client=client), runtime=replace(context.runtime, reactor=reactor))
        )
        for name, limit in limits.items():
            hard = {"configmaps": limit}
            self.world.put(
                "resourcequotas",
                {
                    "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"},
                    "spec": {"hard": hard},
                    "status": {"hard": hard, "used": {"configmaps": "0"}},
                },
            )

    def create(self, name: str) -> Deferred[None]:
        return start(self.plugin.validate(self.world.review("configmaps", {"metadata": {"name": name}})))

    def used(self, quota: str = "q") -> str:
        n = self.world.informers.informer(QUOTAS).get("ns", quota)
        assert n is not None
        return str(n["status"]["used"]["configmaps"])


def test_writes_that_arrive_during_an_update_share_the_next() -> None:
    """The first write is recorded at once, the following ones together."""
    batches = Batches(q="10")
    writes = [batches.create(str(number)) for number in range(5)]
    assert len(batches.client.held) == 1
    batches.client.release()
    assert [write.called for write in writes] == [True, False, False, False, False]
    assert batches.used() == "1"
    batches.client.release()
    assert all(write.called for write in writes)
    assert (batches.used(), batches.client.held) == ("5", [])


def test_each_write_of_a_batch_is_checked_after_those_before_it() -> None:
    """The writes of a batch together cannot exceed the limit; only the surplus is rejected, with the usage before
    it."""
    batches = Batches(q="3")
    writes = [batches.create(str(number)) for number in range(5)]
    batches.client.release()
    for write in writes[3:]:
        error = outcome_of(write)
        assert error.message.endswith(
            "exceeded quota: q, requested: configmaps=1, used: configmaps=3, limited: configmaps=3"
        )
    batches.client.release()
    for write in writes[:3]:
        assert outcome_of(write) is None
    assert batches.used() == "3"


def test_a_write_waits_for_all_its_quotas() -> None:
    """A quota that was updated is not charged again when another one has to be checked again."""
    batches = Batches(a="9", b="9")
    write = batches.create("x")
    batches.client.release()
    assert not write.called
    batches.client.refuse = [errors.conflict("", "resourcequotas", "b", errors.MODIFIED)]
    batches.client.release()
    assert not write.called
    batches.client.release()
    assert outcome_of(write) is None
    assert (batches.used("a"), batches.used("b")) == ("1", "1")


def test_a_rejected_write_charges_no_quota() -> None:
    """A write that exceeds one of two quotas is charged to neither."""
    batches = Batches(a="9", b="0")
    assert isinstance(outcome_of(batches.create("x")), ApiError)
    assert batches.client.held == []


def test_a_failed_update_fails_its_writes_only() -> None:
    """The writes of the batch get the error; later ones are checked."""
    batches = Batches(q="9")
    first, second = batches.create("x"), batches.create("y")
    batches.client.refuse = [errors.unavailable("no store")]
    batches.client.release()
    assert outcome_of(first).code == 503
    batches.client.release()
    assert outcome_of(second) is None
    assert batches.used() == "1"


def test_a_cancelled_write_is_not_charged() -> None:
    """A cancelled write leaves the queue."""
    batches = Batches(q="9")
    first, second, third = (batches.create(name) for name in "xyz")
    second.cancel()
    assert isinstance(outcome_of(second), CancelledError)
    batches.client.release()
    batches.client.release()
    assert outcome_of(first) is None
    assert outcome_of(third) is None
    assert batches.used() == "2"


def test_waiting_is_limited() -> None:
    """A write whose check takes ten seconds is rejected, as in the reference."""
    batches = Batches(q="9")
    write = batches.create("x")
    batches.clock.advance(9)
    assert not write.called
    batches.clock.advance(1)
    error = outcome_of(write)
    assert (error.code, error.message) == (500, "Internal error occurred: resource quota evaluation timed out")


@pytest.mark.parametrize("limit", ["0", "9"])
def test_an_object_that_no_quota_counts_does_not_wait(limit: str) -> None:
    """It is admitted while an update is in progress."""
    batches = Batches(q=limit)
    if limit != "0":
        batches.create("x")
    secret = batches.world.review("secrets", {"metadata": {"name": "s"}})
    assert outcome_of(start(batches.plugin.validate(secret))) is None
