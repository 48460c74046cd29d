"""The number of pods that one pass of a controller creates."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.job import JobController
from orchd.controllers.objects import JOBS, REPLICA_SETS, STATEFUL_SETS
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.testing.doubles.results import result_of
from tests.controllers.unit_support import ControllerBench


@pytest.mark.parametrize(
    ("factory", "ref", "members"),
    [
        (ReplicaSetController, REPLICA_SETS, {"replicas": 501}),
        (StatefulSetController, STATEFUL_SETS, {"replicas": 501, "podManagementPolicy": "Parallel"}),
        (JobController, JOBS, {"parallelism": 501, "backoffLimit": 6}),
    ],
)
def test_a_pass_creates_at_most_500_pods(factory: Any, ref: Any, members: dict[str, Any]) -> None:
    """A workload of 501 pods gets 500 of them in its first pass, so that others get their turn."""
    bench = ControllerBench(factory)
    result_of(bench.controller.listen())
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}}
    spec = {"selector": {"matchLabels": labels}, "template": template, "serviceName": "s", **members}
    obj = {"metadata": {"name": "w", "namespace": "a", "uid": "w", "generation": 1}, "spec": spec, "status": {}}
    bench.informers.put(ref, obj)
    bench.client.objects["w"] = obj
    result_of(bench.controller.reconcile(("a", "w")))
    assert [call[:2] for call in bench.client.calls].count(("create", "pods")) == 500
