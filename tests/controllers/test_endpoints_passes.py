"""Endpoints of services without a server: which services a change queues, and what one pass writes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.endpoints.endpoints_controller import EndpointsController
from orchd.controllers.objects import ENDPOINTS, PODS, SERVICES
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.testing.doubles.results import result_of
from orchd.txkit.coroutines import start
from tests.controllers.recording_support import FORBIDDEN, recording_client
from tests.controllers.test_slice_controller import pod, service
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
CAPACITY = ORCH("endpoints.{long}.io/over-capacity")
ENTRY: Entry = {
    "ip": "10.1.0.1",
    "nodeName": "n",
    "targetRef": {"kind": "Pod", "namespace": "a", "name": "p", "uid": "p", "resourceVersion": "7"},
}
PORTS = [{"name": "web", "port": 80, "protocol": "TCP"}]


def endpoints(subsets: Any = (), annotations: Any = None, labels: Any = None) -> Entry:
    metadata = {"name": "s", "namespace": "a", "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "subsets": list(subsets)}


def begin(
    *pods: Entry, of: Entry | None = None, current: Entry | None = None, client: Any = None, **changes: Any
) -> ControllerBench:
    bench = ControllerBench(EndpointsController, client, **changes)
    result_of(bench.controller.listen())
    bench.informers.put(SERVICES, of or service())
    bench.informers.put(PODS, *pods)
    if current is not None:
        bench.informers.put(ENDPOINTS, current)
        bench.client.objects["s"] = current
    bench.queued()
    return bench


def writes(bench: ControllerBench) -> list[tuple[str, Entry]]:
    calls = zip(bench.client.calls, bench.client.bodies, strict=True)
    return [(verb, body) for (verb, _, _), body in calls if verb != "get"]


READY = [{"addresses": [ENTRY], "ports": PORTS}]


@pytest.mark.parametrize(
    ("pods", "of", "subsets"),
    [
        ([], None, []),
        ([pod()], None, READY),
        ([pod(ready=False)], None, [{"notReadyAddresses": [ENTRY], "ports": PORTS}]),
        ([pod(ready=False)], service(publishNotReadyAddresses=True), READY),
        ([pod(deleting=True)], None, []),
        ([pod(deleting=True)], service(publishNotReadyAddresses=True), READY),
        ([pod()], service(ports=[]), []),
        ([pod()], service(ports=[], clusterIP="None"), [{"addresses": [ENTRY]}]),
        (
            [pod(hostname="h", subdomain="s", nodeName="")],
            None,
            [{"addresses": [{"ip": "10.1.0.1", "hostname": "h", "targetRef": ENTRY["targetRef"]}], "ports": PORTS}],
        ),
    ],
)
def test_subsets_of_a_service(pods: list[Entry], of: Entry | None, subsets: list[Entry]) -> None:
    bench = begin(*pods, of=of)
    assert result_of(bench.controller.reconcile(("a", "s"))) is None
    ((verb, body),) = writes(bench)
    assert (verb, body["subsets"], body["metadata"]["name"]) == ("create", subsets, "s")


@pytest.mark.parametrize(
    ("current", "written"),
    [
        (endpoints(READY), False),
        (endpoints([{"addresses": [{**ENTRY, "targetRef": {**ENTRY["targetRef"], "resourceVersion": "6"}}], "ports": PORTS}]), False),
        (endpoints(), True),
        (endpoints([*READY, *READY]), True),
        (endpoints([{"addresses": [ENTRY]}]), True),
        (endpoints([{"notReadyAddresses": [ENTRY], "ports": PORTS}]), True),
        (endpoints(READY, labels={"x": "y"}), True),
        (endpoints(READY, annotations={"x": "y"}), False),
        (endpoints(READY, annotations={CAPACITY: "truncated"}), True),
    ],
)  # fmt: skip
def test_endpoints_are_written_if_they_change(current: Entry, written: bool) -> None:
    """Annotations of others stay."""
    bench = begin(pod(), current=current)
    result_of(bench.controller.reconcile(("a", "s")))
    assert [verb for verb, _ in writes(bench)] == (["update"] if written else [])
    if written:
        metadata = writes(bench)[0][1]["metadata"]
        assert metadata["labels"] == {} and CAPACITY not in metadata["annotations"]


def test_labels_of_endpoints() -> None:
    """Those of the service, a mark of headless ones, and from some release on that of the controller."""
    of = service(clusterIP="None")
    of["metadata"]["labels"] = {"a": "b"}
    cases: list[tuple[Entry, Entry]] = [
        ({}, {}),
        ({"release": NEWEST}, {ORCH("endpoints.{long}.io/managed-by"): "endpoint-controller"}),
    ]
    for changes, more in cases:
        bench = begin(of=of, **changes)
        result_of(bench.controller.reconcile(("a", "s")))
        ((_, body),) = writes(bench)
        assert body["metadata"]["labels"] == {"a": "b", ORCH("service.{long}.io/headless"): "", **more}


def reconcile_in_turns(bench: ControllerBench) -> None:
    """Many pods are described in several turns of the reactor."""
    ended: list[Any] = []
    start(bench.controller.reconcile(("a", "s"))).addCallback(ended.append)
    assert not ended
    bench.clock.pump([0] * 20)
    assert ended == [None]


def test_at_most_a_thousand_addresses() -> None:
    """Ready ones first; an annotation says that others were left out."""
    ready = [pod(f"r{n}", f"10.1.{n // 250}.{n % 250 + 1}") for n in range(999)]
    others = [pod(f"x{n}", f"10.2.0.{n + 1}", ready=False) for n in range(2)]
    bench = begin(*ready, *others)
    reconcile_in_turns(bench)
    ((_, body),) = writes(bench)
    (subset,) = body["subsets"]
    assert (len(subset["addresses"]), len(subset["notReadyAddresses"])) == (999, 1)
    assert body["metadata"]["annotations"][CAPACITY] == "truncated"
    bench = begin(*ready, others[0])
    reconcile_in_turns(bench)
    assert CAPACITY not in writes(bench)[0][1]["metadata"]["annotations"]


@pytest.mark.parametrize(("current", "note"), [(None, "create"), (endpoints(), "update")])
def test_refused_writes_are_retried(current: Entry | None, note: str) -> None:
    """With an Event, except in a terminating namespace."""
    bench = begin(pod(), current=current, client=recording_client(**{note: FORBIDDEN}))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "s")))
    expected = (f"FailedTo{note.capitalize()}Endpoint", f"Failed to {note} endpoint a/s: refused")
    assert bench.events.notes == [expected]
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    ends = ApiError(403, "Forbidden", "ends", details=cause)
    bench = begin(pod(), current=current, client=recording_client(**{note: ends}))
    assert result_of(bench.controller.reconcile(("a", "s"))) is None and not bench.events.notes


def test_services_without_endpoints() -> None:
    """Those of a service that is gone are deleted; those of one without a selector belong to others."""
    bench = begin(current=endpoints())
    bench.informers.informer(SERVICES).remove("a", "s")
    result_of(bench.controller.reconcile(("a", "s")))
    assert [verb for verb, _ in writes(bench)] == ["delete"]
    result_of(bench.controller.reconcile(("a", "missing")))
    bench = begin(of=service(selector=None))
    result_of(bench.controller.reconcile(("a", "s")))
    assert not bench.client.calls


def test_deleted_endpoints_queue_their_service() -> None:
    """So that they are created again; other changes do not."""
    bench = begin(current=endpoints())
    bench.informers.put(ENDPOINTS, endpoints(READY))
    assert not bench.queued()
    bench.informers.informer(ENDPOINTS).remove("a", "s")
    assert bench.queued() == [("a", "s")]
    bench.informers.put(ENDPOINTS, {"metadata": {"name": "other", "namespace": "a"}})
    bench.informers.informer(ENDPOINTS).remove("a", "other")
    assert not bench.queued()


def changed(**members: Any) -> Entry:
    """The pod with other labels, or other members of its status or spec."""
    each = pod()
    each["metadata"]["labels"] = members.pop("labels", each["metadata"]["labels"])
    for part, values in members.items():
        each[part] = {**each[part], **values}
    return each


@pytest.mark.parametrize(
    ("change", "queued"),
    [
        (changed(metadata={"resourceVersion": "8"}), False),
        (changed(status={"message": "x"}), False),
        (changed(labels={"app": "y"}), True),
        (changed(status={"podIP": "10.1.0.2"}), True),
        (changed(status={"podIPs": []}), True),
        (changed(status={"phase": "Failed"}), True),
        (changed(spec={"nodeName": "m"}), True),
        (changed(spec={"hostname": "h"}), True),
        (pod(ready=False), True),
        (pod(deleting=True), True),
        (None, True),
    ],
)
def test_changes_of_pods_queue_their_services(change: Entry | None, queued: bool) -> None:
    """Those that a service depends on, of a pod that it selects or selected."""
    other = service(selector={"app": "z"})
    other["metadata"] = {**other["metadata"], "name": "z", "uid": "z"}
    bench = begin(pod())
    bench.informers.put(SERVICES, other)
    bench.queued()
    if change is None:
        bench.informers.informer(PODS).remove("a", "p")
    else:
        bench.informers.put(PODS, change)
    assert bench.queued() == ([("a", "s")] if queued else [])


def test_changes_of_pods_are_collected() -> None:
    """For the period of the setting; those of services at once."""
    bench = begin(settings=ControllerSettings(endpoint_updates_batch_period=5.0))
    bench.informers.put(PODS, pod())
    assert bench.delays(5) == {5: [("a", "s")]}
    bench.informers.put(SERVICES, service(clusterIP="10.0.0.2"))
    assert bench.queued() == [("a", "s")]


def test_service_follows_its_selector() -> None:
    """Pods of the former one no longer count."""
    bench = begin(pod())
    result_of(bench.controller.reconcile(("a", "s")))
    bench.informers.put(SERVICES, service(selector={"app": "y"}))
    result_of(bench.controller.reconcile(("a", "s")))
    assert [body["subsets"] for _, body in writes(bench)] == [READY, []]
    bench.informers.informer(SERVICES).remove("a", "s")
    bench.informers.put(SERVICES, service())
    result_of(bench.controller.reconcile(("a", "s")))
    assert writes(bench)[-1][1]["subsets"] == READY
