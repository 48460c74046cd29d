"""ServiceCIDRs without a server: which of them a change queues, and what one pass writes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.service_ranges import ServiceRangeController
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.recording_support import FORBIDDEN, MISSING, recording_client
from tests.controllers.test_service_ranges import FINALIZER, RECORDS, REF
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
MANAGED = {ORCH("ipaddress.{long}.io/managed-by"): ORCH("ipallocator.{abbr}.io")}
READY = {"type": "Ready", "status": "True", "reason": "", "message": ORCH("{Long} Service CIDR is ready")}


def a_range(
    name: str, *cidrs: str, ready: bool = True, ago: float | None = None, finalizers: Any = (FINALIZER, "x")
) -> Entry:
    """A ServiceCIDR, deleted some seconds ago."""
    deletion = {} if ago is None else {"deletionTimestamp": timestamp(NOW - ago)}
    return {
        "metadata": {"name": name, "uid": name, "finalizers": list(finalizers), **deletion},
        "spec": {"cidrs": list(cidrs)},
        "status": {"conditions": [READY] if ready else []},
    }


def record(address: str, labels: Entry | None = None) -> Entry:
    return {"metadata": {"name": address, "labels": MANAGED if labels is None else labels}}


def begin(*objects: Entry, client: Any = None) -> ControllerBench:
    bench = ControllerBench(ServiceRangeController, client)
    result_of(bench.controller.listen())
    for each in objects:
        bench.informers.put(REF if "spec" in each else RECORDS, each)
    bench.queued()
    return bench


R = "10.9.0.0/24"


@pytest.mark.parametrize(
    ("objects", "client", "wait", "calls"),
    [
        ([a_range("r", R)], None, None, []),
        ([a_range("r", R, ready=False)], None, None, ["servicecidrs/status"]),
        ([a_range("r", R, finalizers=["x"])], None, None, ["servicecidrs"]),
        ([a_range("r", R, finalizers=["x"])], recording_client(patch=MISSING), None, ["servicecidrs"]),
        ([a_range("r", R, ago=20, finalizers=["x"])], None, None, []),
        ([a_range("r", R, ago=4)], None, 6.0, []),
        ([a_range("r", R, ago=10)], None, None, ["servicecidrs"]),
        ([a_range("r", R, ago=20), record("10.9.0.7")], None, None, ["servicecidrs/status"]),
        ([a_range("r", R, ago=20), record("10.9.0.7", {})], None, None, ["servicecidrs"]),
        ([a_range("r", R, ago=20), record("10.9.0.7"), a_range("q", "10.9.0.0/16")], None, None, ["servicecidrs"]),
        ([a_range("r", R, ago=20), record("10.9.0.7"), a_range("q", "10.9.0.0/28")], None, None, ["servicecidrs"]),
        ([a_range("r", R, ago=20), record("10.9.0.70"), a_range("q", "10.9.0.0/28")], None, None, ["servicecidrs/status"]),
        ([a_range("r", R, "fd00::/120", ago=20), record("fd00::7"), a_range("q", R)], None, None, ["servicecidrs/status"]),
    ],
)  # fmt: skip
def test_one_pass(objects: list[Entry], client: Any, wait: float | None, calls: list[str]) -> None:
    """A range gets the finalizer and the condition; a deleted one ends after ten seconds unless an address needs it."""
    bench = begin(*objects, client=client)
    assert result_of(bench.controller.reconcile(("", "r"))) == wait
    assert [what for _, what, _ in bench.client.calls] == calls
    if calls == ["servicecidrs"]:
        deleted = "deletionTimestamp" in objects[0]["metadata"]
        key = "$deleteFromPrimitiveList/finalizers" if deleted else "finalizers"
        assert bench.client.bodies == [{"metadata": {key: [FINALIZER]}}]


def test_conditions_of_ranges() -> None:
    bench = begin(a_range("r", R, ready=False))
    result_of(bench.controller.reconcile(("", "r")))
    assert bench.client.bodies[0]["status"] == {"conditions": [{**READY, "lastTransitionTime": timestamp(NOW)}]}
    blocked = begin(a_range("r", R, ago=20), record("10.9.0.7"))
    result_of(blocked.controller.reconcile(("", "r")))
    (condition,) = blocked.client.bodies[0]["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Terminating")


def test_condition_that_cannot_be_written_is_recorded() -> None:
    bench = begin(a_range("r", R, ready=False), client=recording_client(patch=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("", "r")))
    note = "The ServiceCIDR Status can not be set to Ready=True"
    assert bench.events.notes == [(ORCH("{Long}ServiceCIDRError"), note)]
    assert result_of(bench.controller.reconcile(("", "missing"))) is None


def test_ranges_queue_those_that_overlap() -> None:
    """When they are new or gone; other changes queue the range alone."""
    bench = begin(a_range("r", R), a_range("around", "10.9.0.0/16"), a_range("apart", "10.8.0.0/16"))
    bench.informers.put(REF, a_range("r", R, ready=False))
    assert bench.queued() == [("", "r")]
    bench.informers.put(REF, a_range("new", "10.9.0.128/25"))
    assert bench.queued() == [("", "around"), ("", "new"), ("", "r")]
    bench.informers.informer(REF).remove("", "new")
    assert bench.queued() == [("", "around"), ("", "new"), ("", "r")]


def test_addresses_queue_their_ranges() -> None:
    """When they are new or gone, if the API servers manage them."""
    bench = begin(a_range("r", R), a_range("around", "10.9.0.0/16"), a_range("apart", "10.8.0.0/16"))
    bench.informers.put(RECORDS, record("10.9.0.7"))
    assert bench.queued() == [("", "around"), ("", "r")]
    bench.informers.put(RECORDS, record("10.9.0.7"))
    assert bench.queued() == []
    bench.informers.informer(RECORDS).remove("", "10.9.0.7")
    assert bench.queued() == [("", "around"), ("", "r")]
    bench.informers.put(RECORDS, record("10.9.0.8", {}))
    assert bench.queued() == []
