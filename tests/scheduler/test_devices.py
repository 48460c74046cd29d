"""Allocation of devices to the claims of pods. Facts compared with the reference."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.expressions import devices as selectors
from orchd.kinds.release import NEWEST
from orchd.scheduler.devices import allocation as searching
from orchd.scheduler.devices import pools, selection
from orchd.scheduler.devices.pools import SliceIndex
from orchd.txkit.compute_thread import ComputeThread
from tests.scheduler.scheduler_support import PODS, SchedulerHarness, node, pod

_GROUP = ORCH("resource.{abbr}.io")
CLAIMS, CLASSES, SLICES = (
    ResourceRef(_GROUP, "v1", each) for each in ("resourceclaims", "deviceclasses", "resourceslices")
)
DRIVER = "gpu.example.com"


def device(name: str, model: str = "a", memory: str = "10Gi") -> dict[str, Any]:
    return {"name": name, "attributes": {"model": {"string": model}}, "capacity": {"memory": {"value": memory}}}


def devices_of(node_name: str, *devices: Any, generation: int = 1, slices: int = 1, name: str = "") -> dict[str, Any]:
    pool = {"name": node_name, "generation": generation, "resourceSliceCount": slices}
    spec = {"driver": DRIVER, "nodeName": node_name, "pool": pool, "devices": list(devices)}
    return {"metadata": {"name": name or f"slice-{node_name}", "uid": name or node_name}, "spec": spec}


def request(name: str = "r", **exactly: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **exactly}}


def selecting(text: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": text}}]}


def claim(name: str, *requests: Any, allocated: str = "", **devices: Any) -> dict[str, Any]:
    """A claim; `allocated` is a device of node n1 that it has."""
    status: dict[str, Any] = {}
    if allocated:
        result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": allocated}
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
        status["allocation"] = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": terms}}
    metadata = {"name": name, "namespace": "ns", "uid": f"claim-{name}"}
    return {"metadata": metadata, "spec": {"devices": {"requests": list(requests), **devices}}, "status": status}


class Harness(SchedulerHarness):
    """A scheduler with a device class, whose writes of claims reach the informers."""

    def __init__(self, *objects: Any, claims: Any = (), slices: Any = ()) -> None:
        super().__init__(release=NEWEST)
        self.api.update = self._update  # type: ignore[method-assign]
        text = f'device.driver == "{DRIVER}"'
        self.informers.put(CLASSES, {"metadata": {"name": "gpu", "uid": "gpu"}, "spec": selecting(text)})
        for each in slices:
            self.informers.put(SLICES, each)
        for each in claims:
            self.informers.put(CLAIMS, each)
        self.put(*objects)
        self.settle(1)

    async def _update(self, ref: Any, namespace: str, name: str, obj: Any, *, subresource: str = "") -> Any:
        self.informers.put(CLAIMS, obj)
        return obj

    def allocation(self, name: str) -> list[str]:
        """The devices that a claim has, as POOL/DEVICE."""
        n = self.informers.informer(CLAIMS).get("ns", name)
        assert n is not None
        devices = (n["status"].get("allocation") or {}).get("devices") or {}
        return [f"{each['pool']}/{each['device']}" for each in devices.get("results") or ()]


def using(name: str, *claims: str, **others: Any) -> dict[str, Any]:
    """A pod with claims."""
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    return pod(name, resourceClaims=entries, preemptionPolicy="Never", priority=1, **others)


_SLICES = (
    devices_of("n1", device("d0"), device("d1", "b", "20Gi")),
    devices_of("n2", device("d0", "c", "40Gi"), device("d1", "c", "40Gi")),
)
_MODEL = {"matchAttribute": f"{DRIVER}/model"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (claim("c", request(**selecting(f'device.attributes["{DRIVER}"].model == "b"'))), ["n1/d1"]),
        (claim("c", request(**selecting(f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("30Gi"))'))), ["n2/d0"]),
        (claim("c", request(**selecting(f'device.attributes == {{}} || device.attributes["{DRIVER}"] == {{"model": dyn("b")}}'))), ["n1/d1"]),
        (claim("c", request(count=2), constraints=[_MODEL]), ["n2/d0", "n2/d1"]),
        (claim("c", request(count=3)), []),
        (claim("c", request("x"), request("y", **selecting(f'device.attributes["{DRIVER}"].model == "c"'))), ["n2/d0", "n2/d1"]),
        (claim("c", request(allocationMode="All"), constraints=[_MODEL]), ["n2/d0", "n2/d1"]),
        (
            claim("c", {"name": "r", "firstAvailable": [
                {"name": "many", "deviceClassName": "gpu", "count": 3},
                {"name": "one", "deviceClassName": "gpu", **selecting(f'device.attributes["{DRIVER}"].model == "b"')},
            ]}),
            ["n1/d1"],
        ),
        (claim("c", request(**selecting('has(device.attributes["other.example.com"].model)'))), []),
    ],
)  # fmt: skip
def test_a_pod_runs_where_its_claim_can_be_served(given: dict[str, Any], expected: list[str]) -> None:
    """Requests select devices by class and expression, count them, and constraints make them agree."""
    harness = Harness(node("n1"), node("n2"), using("p", "c"), claims=[given], slices=_SLICES)
    assert harness.allocation("c") == expected
    assert harness.where("p") == (expected[0].partition("/")[0] if expected else "")
    if not expected:
        assert harness.message("p").startswith(
            "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable,"
        )


def test_an_allocated_claim_is_protected_and_reserved() -> None:
    """It says for which pod, and on which nodes its devices are."""
    harness = Harness(node("n1"), using("p", "c"), claims=[claim("c", request())], slices=_SLICES[:1])
    n = harness.informers.informer(CLAIMS).get("ns", "c")
    assert n is not None
    assert n["metadata"]["finalizers"] == [ORCH("resource.{long}.io/delete-protection")]
    assert n["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-p"}]
    (term,) = n["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}


def test_a_device_is_given_to_one_claim() -> None:
    """Also while the first allocation is not written yet."""
    slices = [devices_of("n1", device("d0"))]
    claims = [claim("c", request()), claim("d", request())]
    harness = Harness(node("n1"), using("p", "c"), using("q", "d"), claims=claims, slices=slices)
    assert [bool(harness.where(each)) for each in "pq"] == [True, False]


def test_pods_that_share_a_claim_run_beside_each_other() -> None:
    """The second pod goes where the devices are, and both are named in the claim."""
    harness = Harness(node("n1"), node("n2"), using("p", "c"), claims=[claim("c", request(), allocated="d0")])
    harness.put(using("q", "c"))
    harness.settle(1)
    n = harness.informers.informer(CLAIMS).get("ns", "c")
    assert n is not None and [harness.where(each) for each in "pq"] == ["n1", "n1"]
    assert [each["name"] for each in n["status"]["reservedFor"]] == ["p", "q"]


@pytest.mark.parametrize(("users", "place"), [(255, "n1"), (256, "")])
def test_a_claim_is_shared_by_at_most_256_pods(users: int, place: str) -> None:
    shared = claim("c", request(), allocated="d0")
    shared["status"]["reservedFor"] = [
        {"resource": "pods", "name": f"u{each}", "uid": f"uid-u{each}"} for each in range(users)
    ]
    harness = Harness(node("n1"), using("p", "c"), claims=[shared])
    assert harness.where("p") == place
    assert ("resourceclaim in use" in harness.message("p")) == (not place)


def test_a_pod_named_in_a_full_claim_is_scheduled() -> None:
    full = claim("c", request(), allocated="d0")
    full["status"]["reservedFor"] = [
        {"resource": "pods", "name": each, "uid": f"uid-{each}"} for each in ["p", *(f"u{n}" for n in range(255))]
    ]
    assert Harness(node("n1"), using("p", "c"), claims=[full]).where("p") == "n1"


def test_a_pod_waits_for_its_claim_outside_of_the_queue() -> None:
    """Nothing is reported while the claim is missing; the pod is scheduled when it is there."""
    harness = Harness(node("n1"), using("p", "c"), slices=_SLICES[:1])
    assert (harness.message("p"), harness.place("p")) == ("", "")
    harness.informers.put(CLAIMS, claim("c", request()))
    harness.settle(1)
    assert harness.where("p") == "n1"


def test_a_pod_waits_until_its_generated_claim_is_named() -> None:
    """The status of a pod says which claim was made for it, and the pod must own that."""
    waiting = using("p")
    waiting["spec"]["resourceClaims"] = [{"name": "e", "resourceClaimTemplateName": "t"}]
    made = claim("made", request())
    made["metadata"]["ownerReferences"] = [{"uid": "uid-p", "controller": True}]
    harness = Harness(node("n1"), waiting, claims=[made], slices=_SLICES[:1])
    assert harness.where("p") == ""
    named = {"resourceClaimStatuses": [{"name": "e", "resourceClaimName": "made"}]}
    harness.informers.put(PODS, {**waiting, "status": named})
    harness.settle(1)
    assert harness.where("p") == "n1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (claim("c", {"name": "r", "exactly": {"deviceClassName": "no"}}), "request r: device class no does not exist"),
        (claim("c", request(tolerations=[{"operator": "Exists"}])),
         "request r: asks for devices with taints, which this scheduler does not allocate"),
        (claim("c", request(), constraints=[{"distinctAttribute": f"{DRIVER}/model"}]),
         "claim ns/c: asks for devices that differ, which this scheduler does not allocate"),
        (claim("c", request(count=33)), "claim ns/c: number of requested devices 33 exceeds the claim limit of 32"),
        (claim("c", request(**selecting('device.attributes["x.example.com"].y'))), "selector #0: CEL runtime error: no such key: y"),
    ],
)  # fmt: skip
def test_what_cannot_be_decided_is_said(given: dict[str, Any], message: str) -> None:
    """The message of the pod names the request."""
    harness = Harness(node("n1"), using("p", "c"), claims=[given], slices=_SLICES[:1])
    assert message in harness.message("p")
    erroneous = message.startswith(("selector #0", "claim ns/c: number"))
    assert harness.condition("p")["reason"] == ("SchedulerError" if erroneous else "Unschedulable")


_COSTLY = " && ".join(["lists.range(1000).all(x, lists.range(10).all(y, x + y >= 0))"] * 8)


def long_work(harness: Harness) -> list[Any]:
    """The functions that the scheduler calls in the compute thread from now on. They are called here."""
    called: list[Any] = []

    async def in_thread(function: Any, *arguments: Any) -> Any:
        called.append(function)
        return function(*arguments)

    (lane,) = harness.scheduler.lanes.values()
    handle: Any = lane.profile.handle
    handle.compute = ComputeThread(in_thread)
    return called


def test_costly_selectors_are_evaluated_in_the_compute_thread() -> None:
    """Each has the whole budget for each device; what is cheap is done at once."""
    given = [claim("c", request(count=8, **selecting(_COSTLY))), claim("d", request())]
    devices = [device(f"d{at}") for at in range(9)]
    harness = Harness(node("n1"), node("n2"), claims=given, slices=[devices_of("n1", *devices)])
    called = long_work(harness)
    harness.put(using("cheap", "d"))
    harness.settle(1)
    assert (harness.where("cheap"), called) == ("n1", [])
    harness.put(using("p", "c"))
    harness.settle(1)
    assert (harness.where("p"), len(harness.allocation("c")), len(called)) == ("n1", 8, 1)


def test_a_selector_has_a_budget() -> None:
    costly = " && ".join([_COSTLY] * 20)
    harness = Harness(
        node("n1"), using("p", "c"), claims=[claim("c", request(**selecting(costly)))],
        slices=[devices_of("n1", device("d0"))],
    )  # fmt: skip
    assert (
        "claim ns/c: selector #0: CEL runtime error: operation cancelled: actual cost limit exceeded"
        in harness.message("p")
    )


def test_selectors_of_one_cycle_have_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation is interrupted then, and the nodes that are left are refused."""
    given = claim("c", request(count=8, **selecting(_COSTLY)))
    slices = [devices_of(each, *(device(f"d{at}") for at in range(8))) for each in ("n1", "n2")]
    harness = Harness(node("n1"), node("n2"), claims=[given], slices=slices)
    seen: list[int] = []
    evaluated = selectors.selects

    def slow(*arguments: Any, **others: Any) -> Any:
        """One evaluation takes eleven seconds from its beginning."""
        seen.append(1)
        harness.clock.rightNow += 11
        return evaluated(*arguments, **others)

    monkeypatch.setattr(selection, "selects", slow)
    harness.put(using("p", "c"))
    harness.settle()
    assert "2 timed out trying to allocate devices." in harness.message("p")
    # That of the class was interrupted at its first device.
    assert len(seen) == 1


def test_nodes_are_judged_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are served between nodes with devices."""
    nodes = [f"n{at}" for at in range(50)]
    slices = [devices_of(each, device("d0", "b")) for each in nodes]
    selector = selecting(f'device.attributes["{DRIVER}"].model == "a"')
    harness = Harness(*map(node, nodes), claims=[claim("c", request(**selector))], slices=slices)
    late: list[float] = []
    evaluated = selectors.selects

    def slow(*arguments: Any, **others: Any) -> Any:
        """Each evaluation takes a millisecond of a turn."""
        harness.clock.rightNow += 0.001
        return evaluated(*arguments, **others)

    began = harness.clock.seconds()
    for number in range(1, 100):
        due = began + number / 1000
        harness.clock.callLater(number / 1000, lambda due=due: late.append(harness.clock.seconds() - due))
    monkeypatch.setattr(selection, "selects", slow)
    harness.put(using("p", "c"))
    harness.settle()
    assert "50 cannot allocate all claims." in harness.message("p")
    # Two selectors for each device, in turns of four milliseconds and the node that was begun within them. What is due
    # may be behind two turns.
    assert len(late) == 99
    assert 0.003 < max(late) < 0.013


def test_a_claim_that_the_node_cannot_use_is_deallocated() -> None:
    """If only this pod uses it; it is then allocated elsewhere."""
    harness = Harness(
        node("n1", unschedulable=True), node("n2"), claims=[claim("c", request(), allocated="d0")], slices=_SLICES
    )
    harness.put(using("p", "c"))
    harness.settle(1)
    assert harness.message("p").startswith("0/2 nodes are available: ")
    assert "deallocation of ResourceClaim completed" in harness.message("p")
    harness.settle(5)
    assert (harness.where("p"), harness.allocation("c")) == ("n2", ["n2/d0"])


def test_slices_of_old_generations_do_not_count() -> None:
    """A pool is incomplete while a slice of its generation is missing."""
    slices = [
        devices_of("n1", device("old"), generation=1, name="a"),
        devices_of("n1", device("new"), generation=2, slices=2, name="b"),
    ]
    (pool,) = SliceIndex(slices).pools_of("n1", {})
    assert ([each.id[2] for each in pool.devices], pool.incomplete) == (["new"], True)
    slices.append(devices_of("n1", device("more"), generation=2, slices=2, name="c"))
    (pool,) = SliceIndex(slices).pools_of("n1", {})
    assert ([each.id[2] for each in pool.devices], pool.incomplete) == (["new", "more"], False)
    assert SliceIndex(slices).pools_of("n2", {}) == []


def test_pools_of_a_node_are_found_without_the_slices_of_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the slices that do not name a node are compared with it; pools are in the order of all slices."""
    of_nodes = [devices_of(f"n{at}", device("d"), name=f"s{at}") for at in range(100)]
    shared = devices_of("n1", device("all"), name="shared")
    shared["spec"] = {**shared["spec"], "allNodes": True, "pool": {**shared["spec"]["pool"], "name": "shared"}}
    del shared["spec"]["nodeName"]
    compared: list[str] = []
    reaches = pools._reaches

    def noted(slice_spec: Any, node: str, labels: Any) -> bool:
        compared.append(node)
        return reaches(slice_spec, node, labels)

    monkeypatch.setattr(pools, "_reaches", noted)
    index = SliceIndex([*of_nodes[:50], shared, *of_nodes[50:]])
    assert [pool.name for pool in index.pools_of("n49", {})] == ["n49", "shared"]
    assert [pool.name for pool in index.pools_of("n50", {})] == ["shared", "n50"]
    assert compared == ["n49", "n50"]


def test_slices_that_come_later_are_found() -> None:
    harness = Harness(node("n1"), claims=[claim("c", request())])
    harness.put(using("p", "c"))
    harness.settle(1)
    assert not harness.where("p")
    harness.informers.put(SLICES, devices_of("n1", device("d0")))
    harness.settle(5)
    assert (harness.where("p"), harness.allocation("c")) == ("n1", ["n1/d0"])


def test_a_search_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of devices that are tried for a node is bounded."""
    monkeypatch.setattr(searching, "MAX_TRIES", 50)
    many = [device(f"d{number}", str(number)) for number in range(20)]
    given = claim("c", request(count=10), constraints=[_MODEL])
    harness = Harness(node("n1"), using("p", "c"), claims=[given], slices=[devices_of("n1", *many)])
    assert "1 timed out trying to allocate devices." in harness.message("p")
