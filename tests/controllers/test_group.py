"""Groups of controllers that start together."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from random import Random
from typing import ClassVar, cast

import pytest
from twisted.internet.task import Clock

import orchd.controllers.group
from orchd.client.interfaces import IClient, IEventRecorder, IInformers, IRawClient, ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.group import ControllerGroup
from orchd.controllers.interfaces import ControllerRow, Environment
from orchd.controllers.objects import CONFIG_MAPS, PODS
from orchd.controllers.settings import ControllerSettings
from orchd.controllers.table import CONTROLLERS
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start
from tests.controllers.lagging_support import RecordedEvents

BUDGETS = ResourceRef("policy", "v1", "poddisruptionbudgets")


class Follower(Controller):
    """A controller that watches one resource."""

    account = ""
    ref: ClassVar[ResourceRef]

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.objects = self.follow(self.ref, primary=True)

    async def reconcile(self, key: Key) -> float | None:
        done.append((self.name, key[1]))
        return None


class OfPods(Follower):
    name = "pods"
    ref = PODS


class OfBudgets(Follower):
    name = "budgets"
    ref = BUDGETS


class OfMaps(Follower):
    name = "maps"
    ref = CONFIG_MAPS


class Unable(Follower):
    name = "unable"
    ref = PODS

    async def start(self) -> None:
        raise ValueError("cannot start")


done: list[tuple[str, str]] = []


def environment(informers: MemoryInformers, clock: Clock) -> Environment:
    catalog = builtin_catalog(ORCH)
    return Environment(
        dialect=ORCH,
        client=lambda account: cast(IClient, None),
        reader=cast(IRawClient, None),
        recorder=lambda component: cast(IEventRecorder, None),
        informers=cast(IInformers, informers),
        clock=clock,
        wall=lambda: 0.0,
        random=Random(1),
        catalog=lambda: catalog,
        authority="",
        issue_token=lambda account, name: "",
        signing_authority=lambda signer: None,
        settings=ControllerSettings(),
        several_servers=False,
    )


@pytest.fixture
def informers(monkeypatch: pytest.MonkeyPatch) -> MemoryInformers:
    """Informers with a pod, a budget and a map; only the controllers of this module exist."""
    table = tuple(ControllerRow(each.name, each, (each.ref,)) for each in (OfBudgets, Unable, OfPods, OfMaps))
    monkeypatch.setattr(orchd.controllers.group, "CONTROLLERS", table)
    done.clear()
    memory_informers = MemoryInformers()
    for ref in (PODS, BUDGETS, CONFIG_MAPS):
        memory_informers.put(ref, {"metadata": {"namespace": "a", "name": ref.plural}})
    return memory_informers


def test_waiting_controller_delays_no_other(informers: MemoryInformers) -> None:
    """An informer that never syncs delays only the controllers that use it; stopping ends the wait."""
    informers.informer(BUDGETS).synced = False
    clock = Clock()
    group = ControllerGroup(("budgets", "pods", "maps"), environment(informers, clock))
    starting = start(group.start())
    clock.advance(1)
    assert sorted(done) == [("maps", "configmaps"), ("pods", "pods")]
    assert not starting.called
    informers.informer(BUDGETS).sync()
    clock.advance(1)
    assert starting.called and ("budgets", "poddisruptionbudgets") in done
    assert start(group.stop()).called


def test_controller_of_an_unserved_resource_is_disabled(informers: MemoryInformers) -> None:
    """The controller is left out without an informer for it; the others work."""
    asked: list[ResourceRef] = []
    whole = informers.informer

    def informer(ref: ResourceRef) -> object:
        asked.append(ref)
        return whole(ref)

    informers.informer = informer  # type: ignore[method-assign, assignment]
    clock = Clock()
    group = ControllerGroup(("budgets", "pods"), environment(informers, clock), served=lambda ref: ref != BUDGETS)
    assert [each.name for each in group.controllers] == ["pods"]
    assert asked == [PODS]
    assert start(group.start()).called
    clock.advance(1)
    assert done == [("pods", "pods")]
    assert start(group.stop()).called


@pytest.mark.parametrize("row", CONTROLLERS, ids=lambda row: row.name)
def test_rows_list_the_informers_of_their_controllers(row: ControllerRow) -> None:
    """A built-in controller requests the informers of the resources in its row, and no others."""
    asked: set[ResourceRef] = set()
    informers = MemoryInformers()
    whole = informers.informer

    def informer(ref: ResourceRef) -> object:
        asked.add(ref)
        return whole(ref)

    informers.informer = informer  # type: ignore[method-assign, assignment]
    ranges = ControllerSettings(allocate_node_cidrs=True, cluster_cidr=(ip_network("10.0.0.0/16"),))
    recorder = RecordedEvents()
    row.make(replace(environment(informers, Clock()), settings=ranges, recorder=lambda component: recorder))
    assert asked == {replace(ref, group=ORCH(ref.group)) for ref in row.resources}


def test_failed_start_is_raised(informers: MemoryInformers) -> None:
    """The error is raised although another controller still waits, which is cancelled."""
    informers.informer(BUDGETS).synced = False
    clock = Clock()
    group = ControllerGroup(("budgets", "unable"), environment(informers, clock))
    with pytest.raises(ValueError, match="cannot start"):
        run(group.start())
    informers.informer(BUDGETS).sync()
    clock.advance(1)
    assert not done
    assert start(group.stop()).called
