"""Protection of volumes and claims without a server."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.protection import ClaimProtection, VolumeProtection, shut_down, uses
from orchd.controllers.volumes.usage import VOLUMES
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.results import result_of
from tests.controllers.recording_support import FORBIDDEN, MISSING, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
GONE: Entry = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
FINALIZERS = {VOLUMES: ORCH("{long}.io/pv-protection"), CLAIMS: ORCH("{long}.io/pvc-protection")}


def volume(*finalizers: str, phase: str = "Available", **metadata: Any) -> Entry:
    return {"metadata": {"name": "v", "finalizers": list(finalizers), **metadata}, "status": {"phase": phase}}


def claim(*finalizers: str, **metadata: Any) -> Entry:
    return {"metadata": {"name": "c", "namespace": "a", "uid": "c", "finalizers": list(finalizers), **metadata}}


def pod(node: str = "n", claim: str = "c", grace: int | None = None, source: Any = None, **metadata: Any) -> Entry:
    volume = {"name": "v", **(source or {"persistentVolumeClaim": {"claimName": claim}})}
    more = {} if grace is None else {**GONE, "deletionGracePeriodSeconds": grace}
    own = {"name": "p", "namespace": "a", "uid": "p", **more, **metadata}
    return {"metadata": own, "spec": {"volumes": [volume], **({"nodeName": node} if node else {})}}


def begin(factory: Any, client: Any = None) -> ControllerBench:
    bench = ControllerBench(factory, client)
    result_of(bench.controller.listen())
    return bench


OWN = FINALIZERS[VOLUMES]


@pytest.mark.parametrize(
    ("obj", "finalizers"),
    [
        (volume(), [OWN]),
        (volume("x"), ["x", OWN]),
        (volume(OWN), None),
        (volume("x", OWN, **GONE), ["x"]),
        (volume("x", **GONE), None),
        (volume(OWN, phase="Bound", **GONE), None),
        (volume(phase="Bound"), [OWN]),
    ],
)
def test_volumes_have_the_finalizer_until_they_are_free(obj: Entry, finalizers: list[str] | None) -> None:
    """Volumes without work are not queued."""
    bench = begin(VolumeProtection)
    bench.informers.put(VOLUMES, obj)
    bound = obj["status"]["phase"] == "Bound" and "deletionTimestamp" in obj["metadata"]
    assert bench.queued() == ([] if finalizers is None and not bound else [("", "v")])
    result_of(bench.controller.reconcile(("", "v")))
    written = [body["metadata"]["finalizers"] for body in bench.client.bodies]
    assert written == ([] if finalizers is None else [finalizers])
    bench.informers.informer(VOLUMES).remove("", "v")
    assert not bench.queued() and result_of(bench.controller.reconcile(("", "v"))) is None


def test_volumes_that_are_gone_are_no_failure() -> None:
    for error in (MISSING, FORBIDDEN):
        bench = begin(VolumeProtection, recording_client(update=error))
        bench.informers.put(VOLUMES, volume())
        if error is MISSING:
            assert result_of(bench.controller.reconcile(("", "v"))) is None
            continue
        with pytest.raises(ApiError):
            result_of(bench.controller.reconcile(("", "v")))


class _Lists:
    """A client of which lists of pods give these."""

    def __init__(self, *pods: Entry) -> None:
        self.pods, self.lists = list(pods), 0
        self.updated: list[str] = []

    async def list(self, ref: Any, namespace: str, **options: Any) -> Entry:
        self.lists += 1
        return {"metadata": {}, "items": self.pods}

    async def update(self, ref: Any, namespace: str, name: str, obj: Any, **options: Any) -> Any:
        self.updated.append(name)
        return obj


EPHEMERAL: Entry = {"ephemeral": {"volumeClaimTemplate": {}}}


@pytest.mark.parametrize(
    ("each", "used"),
    [
        (pod(), True),
        (pod(""), False),
        (pod(claim="other"), False),
        (pod(source={"emptyDir": {}}), False),
        (pod(grace=0), True),
    ],
)
def test_users_of_a_claim(each: Entry, used: bool) -> None:
    """Pods with a node, also those that are being deleted."""
    assert uses(each, claim()) == used
    for known in (True, False):
        client: Any = _Lists(each)
        bench = begin(ClaimProtection, client)
        if known:
            bench.informers.put(PODS, each)
        bench.informers.put(CLAIMS, claim(FINALIZERS[CLAIMS], **GONE))
        result_of(bench.controller.reconcile(("a", "c")))
        assert client.updated == ([] if used else ["c"])


def test_users_of_a_claim_that_was_made_for_a_pod() -> None:
    """The pod, until it has shut down."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}]
    made = claim(ownerReferences=owners)
    made["metadata"]["name"] = "p-v"
    assert uses(pod(source=EPHEMERAL), made) and uses(pod(source=EPHEMERAL, grace=30), made)
    assert not uses(pod(source=EPHEMERAL, grace=0), made) and not uses(pod(source=EPHEMERAL, uid="q"), made)


def test_one_list_serves_claims_that_are_deleted_together() -> None:
    """One that was deleted after the list, or that it has a user of, or of another namespace, needs its own."""
    client: Any = _Lists(pod(claim="named", node=""))
    bench = begin(ClaimProtection, client)
    own = FINALIZERS[CLAIMS]
    for name in ("c", "d", "named"):
        bench.informers.put(CLAIMS, claim(own, name=name, uid=name, **GONE))
    for name, lists in (("c", 1), ("d", 1), ("named", 2)):
        result_of(bench.controller.reconcile(("a", name)))
        assert client.lists == lists
    bench.informers.put(CLAIMS, claim(own, name="late", uid="late", **GONE))
    result_of(bench.controller.reconcile(("a", "late")))
    assert client.lists == 3
    bench.informers.put(CLAIMS, claim(own, name="far", uid="far", namespace="b", **GONE))
    result_of(bench.controller.reconcile(("b", "far")))
    assert client.lists == 4 and client.updated == ["c", "d", "named", "late", "far"]


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (pod(), None, True),
        (pod(), pod(resourceVersion="2"), False),
        (pod(), pod(uid="q"), True),
        (None, pod(), False),
        (None, pod(grace=0), True),
        (None, pod(grace=30), False),
    ],
)
def test_pods_queue_their_claims_when_they_end(old: Entry | None, new: Entry | None, queued: bool) -> None:
    bench = begin(ClaimProtection)
    if old is not None:
        bench.informers.put(PODS, old)
    if new is None:
        bench.informers.informer(PODS).remove("a", "p")
    else:
        bench.informers.put(PODS, new)
    assert bench.queued() == ([("a", "c")] if queued else [])
    assert shut_down(pod(grace=0)) and not shut_down(pod(grace=1)) and not shut_down(pod())
