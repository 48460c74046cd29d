"""The pods that default spread constraints count: those of a pod's services and owner."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.scheduler.plugins.defaultspread import SERVICES, DefaultSelectors
from tests.scheduler.volume_support import Cluster

CONTROLLERS = ResourceRef("", "v1", "replicationcontrollers")
REPLICA_SETS, STATEFUL_SETS = (ResourceRef("apps", "v1", plural) for plural in ("replicasets", "statefulsets"))


def _selecting(name: str, selector: Any, namespace: str = "ns") -> Any:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}


def _owner(kind: str, version: str = "apps/v1", name: str = "o", *, controller: bool = True) -> Any:
    return {"kind": kind, "apiVersion": version, "name": name, "uid": "u", "controller": controller}


APP, TIER, BOTH = {"app": "a"}, {"tier": "t"}, {"app": "a", "tier": "t"}
SET = {"matchLabels": TIER}


@pytest.mark.parametrize(
    ("present", "owner", "selected", "left_out"),
    [
        ([], None, [], []),
        ([(SERVICES, _selecting("s", APP))], None, [APP, BOTH], [TIER]),
        ([(SERVICES, _selecting("s", APP)), (SERVICES, _selecting("t", TIER))], None, [BOTH], [APP, TIER]),
        ([(SERVICES, _selecting("s", {"app": "b"}))], None, [], []),
        ([(SERVICES, _selecting("s", APP, "elsewhere"))], None, [], []),
        ([(SERVICES, _selecting("s", None)), (SERVICES, _selecting("t", {}))], None, [], []),
        ([(CONTROLLERS, _selecting("o", APP))], _owner("ReplicationController", "v1"), [APP, BOTH], [TIER]),
        ([(REPLICA_SETS, _selecting("o", SET))], _owner("ReplicaSet"), [TIER, BOTH], [APP]),
        ([(STATEFUL_SETS, _selecting("o", SET))], _owner("StatefulSet"), [TIER, BOTH], [APP]),
        ([(REPLICA_SETS, _selecting("o", SET)), (SERVICES, _selecting("s", APP))], _owner("ReplicaSet"), [BOTH],
         [APP, TIER]),
        ([(REPLICA_SETS, _selecting("o", {"matchLabels": {"app": "b"}})), (SERVICES, _selecting("s", APP))],
         _owner("ReplicaSet"), [], [APP, BOTH, {"app": "b"}]),
        # Another kind, another version, another name, an owner that does not control.
        ([(REPLICA_SETS, _selecting("o", SET))], _owner("StatefulSet"), [], []),
        ([(REPLICA_SETS, _selecting("o", SET))], _owner("ReplicaSet", "extensions/v1beta1"), [], []),
        ([(REPLICA_SETS, _selecting("o", SET))], _owner("ReplicaSet", name="p"), [], []),
        ([(REPLICA_SETS, _selecting("o", SET))], _owner("ReplicaSet", controller=False), [], []),
        ([(REPLICA_SETS, _selecting("o", SET))], _owner("Job", "batch/v1"), [], []),
    ],
)  # fmt: skip
def test_selector_of_services_and_owner(present: Any, owner: Any, selected: list[Any], left_out: list[Any]) -> None:
    """The selectors of all services that select the pod, and that of its owner, hold together. None of a pod that
    nothing selects."""
    cluster = Cluster()
    selectors = DefaultSelectors(cluster.handle)
    for ref, obj in present:
        cluster.informers.put(ref, obj)
    metadata = {"namespace": "ns", "name": "p", "uid": "p", "labels": BOTH, "ownerReferences": [owner] if owner else []}
    selector = selectors.selector(cluster.templates.pod({"metadata": metadata, "spec": {"containers": []}}).template)
    if not selected and not left_out:
        assert selector is None
        return
    assert selector is not None
    assert [labels for labels in (APP, TIER, BOTH, {"app": "b"}) if selector.matches(labels)] == selected
    assert not any(selector.matches(labels) for labels in left_out)


@pytest.mark.parametrize("ref", [SERVICES, CONTROLLERS, REPLICA_SETS, STATEFUL_SETS])
def test_changed_selectors_raise_the_epoch(ref: ResourceRef) -> None:
    """So does an object that comes or goes, unlike another change of one."""
    cluster = Cluster()
    selectors = DefaultSelectors(cluster.handle)
    epochs = []
    for obj in (_selecting("s", APP), {**_selecting("s", APP), "status": {}}, _selecting("s", TIER)):
        cluster.informers.put(ref, obj)
        epochs.append(selectors.epoch)
    cluster.informers.informer(ref).remove("ns", "s")
    assert [*epochs, selectors.epoch] == [1, 1, 2, 3]
