"""Jobs that are deleted some time after their end."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.objects import JOBS
from orchd.controllers.ttl_after_finished import TtlAfterFinished, finish_time
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.unit_support import ControllerBench

METRIC = "ttl_after_finished_controller_job_deletion_duration_seconds"


def job(
    ended: float | None = NOW - 10, *, ttl: int | None = 20, type_: str = "Complete", **metadata: Any
) -> dict[str, Any]:
    conditions = [{"type": "Suspended", "status": "False"}]
    if ended is not None:
        conditions.append({"type": type_, "status": "True", "lastTransitionTime": timestamp(ended)})
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    return {
        "metadata": {"name": "j", "namespace": "a", "uid": "u", **metadata},
        "spec": spec,
        "status": {"conditions": conditions},
    }


@pytest.mark.parametrize(
    ("given", "ended"),
    [
        (job(5), 5),
        (job(5, type_="Failed"), 5),
        (job(5, type_="SuccessCriteriaMet"), None),
        (job(None), None),
        (
            {"status": {"conditions": [{"type": "Complete", "status": "False", "lastTransitionTime": timestamp(5)}]}},
            None,
        ),
        ({"status": {}}, None),
    ],
)
def test_end_of_a_job(given: dict[str, Any], ended: float | None) -> None:
    assert finish_time(given) == ended


@pytest.mark.parametrize(
    ("known", "live", "again", "calls"),
    [
        (job(), job(), 10, []),
        (job(NOW - 19), job(NOW - 19), 1, []),
        (job(NOW - 20), job(NOW - 20), None, ["get", "delete"]),
        (job(NOW, ttl=0), job(NOW, ttl=0), None, ["get", "delete"]),
        (job(ttl=None), job(), None, []),
        (job(None), job(), None, []),
        (job(NOW - 30, deletionTimestamp="t"), job(), None, []),
        (None, job(), None, []),
        # What the server has counts.
        (job(NOW - 30), job(NOW - 30, ttl=60), 30, ["get"]),
        (job(NOW - 30), job(NOW - 30, ttl=None), None, ["get"]),
        (job(NOW - 30), None, None, ["get"]),
    ],
)
def test_jobs_are_deleted_after_their_time_to_live(
    known: Any, live: Any, again: float | None, calls: list[str]
) -> None:
    bench = ControllerBench(TtlAfterFinished)
    if known is not None:
        bench.informers.put(JOBS, known)
    if live is not None:
        bench.client.objects["j"] = live
    assert result_of(bench.controller.reconcile(("a", "j"))) == again
    assert [verb for verb, _, _ in bench.client.calls] == calls
    if "delete" in calls:
        assert bench.client.bodies[-1] == {"preconditions": {"uid": "u"}, "propagationPolicy": "Foreground"}


@pytest.mark.parametrize(
    ("given", "queued"), [(job(), 1), (job(None), 0), (job(ttl=None), 0), (job(deletionTimestamp="t"), 0)]
)
def test_only_jobs_with_an_end_are_queued(given: dict[str, Any], queued: int) -> None:
    bench = ControllerBench(TtlAfterFinished)
    result_of(bench.controller.listen())
    bench.informers.put(JOBS, given)
    assert len(bench.controller.queue) == queued
    bench.informers.informer(JOBS).remove("a", "j")
    assert len(bench.controller.queue) == queued
