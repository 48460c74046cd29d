"""Claims of devices: pools of slices, preferred alternatives, configuration, and claims that others change
meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.scheduler.devices.pools import SliceIndex, node_selector
from tests.scheduler.scheduler_support import HOST, node
from tests.scheduler.test_devices import (
    CLAIMS,
    CLASSES,
    SLICES,
    Harness,
    claim,
    device,
    devices_of,
    request,
    selecting,
    using,
)

ON_N1 = {"key": HOST, "operator": "In", "values": ["n1"]}
ONLY_N1 = {"nodeSelectorTerms": [{"matchExpressions": [ON_N1]}]}


def shared(name: str, *devices: Any, generation: int = 1, slices: int = 1, **reach: Any) -> dict[str, Any]:
    """A slice of the pool "shared" for the nodes of `reach`."""
    obj = devices_of("shared", *devices, generation=generation, slices=slices, name=name)
    spec = {key: value for key, value in obj["spec"].items() if key != "nodeName"}
    return {**obj, "spec": {**spec, **reach}}


def test_slices_reach_nodes_by_name_by_labels_or_all() -> None:
    """A slice that selects nodes device by device reaches none."""
    slices = [
        *(devices_of("n1", device("own")), shared("all", device("a"), slices=2, allNodes=True)),
        *(shared("some", device("b"), slices=2, nodeSelector=ONLY_N1), shared("each", perDeviceNodeSelection=True)),
    ]
    index = SliceIndex(slices)
    reached = {
        name: [[each.id[2] for each in pool.devices] for pool in index.pools_of(name, {HOST: name})]
        for name in ("n1", "n2")
    }
    assert reached == {"n1": [["own"], ["a", "b"]], "n2": [["a"]]}


@pytest.mark.parametrize(
    ("generation", "slices", "other", "incomplete"),
    [(1, 2, 1, [False]), (2, 2, 1, [True]), (2, 1, 1, [False]), (1, 2, 2, []), (1, 1, 2, [False])],
)
def test_pool_of_several_nodes(generation: int, slices: int, other: int, incomplete: list[bool]) -> None:
    """It is complete if its generation has all its slices, wherever they are. If some are missing, and another node has
    slices of a newer generation, the node has none of it."""
    of_all = [
        shared("mine", device("a"), generation=generation, slices=slices, nodeSelector=ONLY_N1),
        shared("other", device("b"), generation=other, slices=2, nodeName="n2"),
    ]
    assert [each.incomplete for each in SliceIndex(of_all).pools_of("n1", {HOST: "n1"})] == incomplete


def test_pool_with_two_devices_of_a_name_is_invalid() -> None:
    """Its devices are not allocated."""
    for names, where in ((("d0", "d1"), "n1"), (("d0", "d0"), "")):
        slices = [devices_of("n1", *map(device, names))]
        assert Harness(node("n1"), using("p", "c"), claims=[claim("c", request())], slices=slices).where("p") == where


def test_incomplete_pool_is_not_allocated() -> None:
    slices = [devices_of("n1", device("d0"), slices=2)]
    assert Harness(node("n1"), using("p", "c"), claims=[claim("c", request())], slices=slices).where("p") == ""


def test_nodes_of_a_claim_are_those_of_its_devices() -> None:
    """A device of one node decides; requirements of others are joined, each once; devices of all nodes add none."""
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [ON_N1], "matchFields": [field]}]}
    slices = [
        *(
            shared("x", device("a"), slices=4, nodeSelector=ONLY_N1),
            shared("y", device("b"), slices=4, nodeSelector=terms),
        ),
        *(shared("z", device("c"), slices=4, allNodes=True), shared("w", device("d"), slices=4, nodeName="n1")),
    ]
    (pool,) = SliceIndex(slices).pools_of("n1", {HOST: "n1", "metadata.name": "n1"})
    devices = {each.id[2]: each for each in pool.devices}
    assert node_selector([devices["a"], devices["c"]]) == ONLY_N1
    assert node_selector([devices["a"], devices["b"]]) == {
        "nodeSelectorTerms": [{"matchFields": [field], "matchExpressions": [ON_N1]}]
    }
    assert node_selector([devices["c"]]) is None and node_selector([]) is None
    assert node_selector([devices["b"], devices["d"]]) == {"nodeSelectorTerms": [{"matchFields": [field]}]}


def _model(name: str) -> dict[str, Any]:
    return selecting(f'device.attributes["gpu.example.com"].model == "{name}"')


@pytest.mark.parametrize("better", ["n1", "n2"])
def test_node_with_the_preferred_alternative_is_chosen(better: str) -> None:
    """Alternatives count by their place in the list, of all requests together."""
    alternatives = [{"name": model, "deviceClassName": "gpu", **_model(model)} for model in "abc"]
    other = "n2" if better == "n1" else "n1"
    requests = [{"name": name, "firstAvailable": alternatives} for name in ("r", "s")]
    slices = [
        devices_of(better, device("d0", "a"), device("d1", "b")),
        devices_of(other, device("d0", "b"), device("d1", "b")),
    ]
    harness = Harness(node("n1"), node("n2"), using("p", "c"), claims=[claim("c", *requests)], slices=slices)
    assert harness.where("p") == better
    obj = harness.informers.informer(CLAIMS).get("ns", "c")
    assert obj is not None
    assert {each["request"] for each in obj["status"]["allocation"]["devices"]["results"]} == {"r/a", "s/b"}


def test_configuration_of_classes_and_claims_is_in_the_allocation() -> None:
    """That of the class names the requests; that of the claim is there if it concerns a request, or all of them."""
    opaque = {"opaque": {"driver": "gpu.example.com", "parameters": {}}}
    configs = [{"requests": ["r"], **opaque}, {"requests": ["none"], **opaque}, opaque]
    harness = Harness(
        node("n1"),
        claims=[claim("c", request(), request("s"), config=configs)],
        slices=[devices_of("n1", device("d0"), device("d1"))],
    )
    cls = harness.informers.informer(CLASSES).get("", "gpu")
    assert cls is not None
    harness.informers.put(CLASSES, {**cls, "spec": {**cls["spec"], "config": [opaque]}})
    harness.put(using("p", "c"))
    harness.settle(1)
    obj = harness.informers.informer(CLAIMS).get("ns", "c")
    assert obj is not None
    assert obj["status"]["allocation"]["devices"]["config"] == [
        {"source": "FromClass", "requests": ["r", "s"], **opaque},
        {"source": "FromClaim", "requests": ["r"], **opaque},
        {"source": "FromClaim", **opaque},
    ]


def test_admin_access_shares_devices() -> None:
    """Such requests take devices that are in use, each once, and leave them to others."""
    taken = claim("taken", request(), allocated="d0")
    observing = claim("c", request(adminAccess=True, count=2))
    slices = [devices_of("n1", device("d0"), device("d1"))]
    harness = Harness(
        node("n1"), using("p", "c"), using("q", "d"), claims=[taken, observing, claim("d", request())], slices=slices
    )
    assert (harness.allocation("c"), harness.allocation("d")) == (["n1/d0", "n1/d1"], ["n1/d1"])
    obj = harness.informers.informer(CLAIMS).get("ns", "c")
    assert obj is not None
    assert all(each["adminAccess"] for each in obj["status"]["allocation"]["devices"]["results"])
    many = claim("e", request(adminAccess=True, count=3))
    assert Harness(node("n1"), using("r", "e"), claims=[many], slices=slices).where("r") == ""


class Meddling(Harness):
    """A claim c that another client changes between the first writes of the scheduler: each that has a result in
    `results` fails with it, and `change` is then what the server has."""

    def __init__(self, change: dict[str, Any], *results: ApiError) -> None:
        self.results = list(results)
        self.change = change
        super().__init__(node("n1"), claims=[claim("c", request())], slices=[devices_of("n1", device("d0"))])
        self.api.get = self._get  # type: ignore[attr-defined]
        self.put(using("p", "c"))
        self.settle()

    async def _get(self, ref: Any, namespace: str, name: str) -> Any:
        obj = self.informers.informer(CLAIMS).get(namespace, name)
        assert obj is not None
        changed = {key: {**obj[key], **value} for key, value in self.change.items()}
        return {**obj, **changed}

    async def _update(self, ref: Any, namespace: str, name: str, obj: Any, *, subresource: str = "") -> Any:
        if self.results:
            raise self.results.pop(0)
        return await super()._update(ref, namespace, name, obj, subresource=subresource)


CONFLICT = ApiError(409, "Conflict", "changed")


@pytest.mark.parametrize(
    ("change", "results", "message"),
    [
        ({}, (CONFLICT,), ""),
        ({}, (CONFLICT, CONFLICT), ""),
        ({}, (ApiError(403, "Forbidden", "refused"),), "refused"),
        ({"metadata": {"deletionTimestamp": "now"}}, (CONFLICT,), "claim ns/c got deleted in the meantime"),
        (
            {"status": {"allocation": {"devices": {}}}},
            (CONFLICT,),
            "claim ns/c got allocated elsewhere in the meantime",
        ),
    ],
)
def test_claim_that_others_change_is_read_again(change: Any, results: tuple[ApiError, ...], message: str) -> None:
    """After a conflict the allocation is written to the claim as it is now, unless it has ended or has one."""
    harness = Meddling(change, *results)
    assert bool(harness.where("p")) == (not message)
    if message:
        assert harness.message("p") == f'running PreBind plugin "DynamicResources": {message}'


@pytest.mark.parametrize("ending", [True, False])
def test_pod_with_a_claim_that_ends_stays_out_of_the_queue(ending: bool) -> None:
    """Until another claim of the name is there."""
    obj = claim("c", request())
    if ending:
        obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    harness = Harness(node("n1"), using("p", "c"), claims=[obj], slices=[devices_of("n1", device("d0"))])
    assert harness.where("p") == ("" if ending else "n1") and (harness.place("p"), harness.message("p")) == ("", "")
    harness.informers.put(CLAIMS, {**claim("c", request()), "metadata": {**obj["metadata"], "deletionTimestamp": None}})
    harness.settle(1)
    assert harness.where("p") == "n1"


def test_deleted_slices_are_not_allocated() -> None:
    harness = Harness(node("n1"), claims=[claim("c", request())], slices=[devices_of("n1", device("d0"))])
    harness.informers.informer(SLICES).remove("", "slice-n1")
    harness.put(using("p", "c"))
    harness.settle(1)
    assert harness.where("p") == "" and "cannot allocate all claims" in harness.message("p")
