"""Claims of ephemeral volumes and the expansion of claims, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.loop import RetryError
from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.ephemeral import EphemeralVolumeController
from orchd.controllers.volumes.expansion import VolumeExpansion
from orchd.controllers.volumes.usage import VOLUMES
from orchd.dialect import ORCH
from orchd.kinds.release import NEWEST
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.recording_support import FORBIDDEN, RecordingClient, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
GONE: Entry = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True, "blockOwnerDeletion": True}
TEMPLATE = {"metadata": {"labels": {"a": "b"}, "name": "x"}, "spec": {"size": 1}}
EPHEMERAL: Entry = {"name": "v", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}


def pod(*volumes: Entry, **metadata: Any) -> Entry:
    return {"metadata": {"name": "p", "namespace": "a", "uid": "p", **metadata}, "spec": {"volumes": list(volumes)}}


def owned(uid: str = "p", name: str = "p-v") -> Entry:
    return {"metadata": {"name": name, "namespace": "a", "ownerReferences": [{**OWNER, "uid": uid}]}}


def begin(factory: Any, client: Any = None, **changes: Any) -> ControllerBench:
    bench = ControllerBench(factory, client, **changes)
    result_of(bench.controller.listen())
    return bench


def numbers(bench: ControllerBench) -> list[float]:
    prefix, values = "ephemeral_volume_controller_create", bench.values()
    return [values[f"{prefix}_total"][()], values[f"{prefix}_failures_total"][()]]


@pytest.mark.parametrize(
    ("of", "claims", "created"),
    [
        (pod(EPHEMERAL), [], ["p-v"]),
        (pod({"name": "w"}, EPHEMERAL), [], ["p-v"]),
        (pod(EPHEMERAL, {**EPHEMERAL, "name": "w"}), [owned()], ["p-w"]),
        (pod(EPHEMERAL), [owned()], []),
        (pod({"name": "v"}), [], []),
        (pod(EPHEMERAL, **GONE), [], []),
    ],
)
def test_claims_of_a_pod(of: Entry, claims: list[Entry], created: list[str]) -> None:
    bench = begin(EphemeralVolumeController)
    bench.informers.put(PODS, of)
    bench.informers.put(CLAIMS, *claims)
    assert result_of(bench.controller.reconcile(("a", "p"))) is None
    assert [name for _, _, name in bench.client.calls] == created
    assert numbers(bench) == [len(created), 0]
    if created == ["p-v"]:
        assert bench.client.bodies == [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "p-v", "labels": {"a": "b"}, "ownerReferences": [OWNER]},
                "spec": {"size": 1},
            }
        ]


@pytest.mark.parametrize(
    ("claims", "client", "note", "counted"),
    [
        ([owned("q")], None, "PVC a/p-v was not created for pod a/p (pod is not owner)", [0, 0]),
        ([], recording_client(create=FORBIDDEN), "create PVC p-v: refused", [1, 1]),
    ],
)
def test_claims_that_cannot_be_made(claims: list[Entry], client: Any, note: str, counted: list[float]) -> None:
    """An Event says why, and the pod is tried again."""
    bench = begin(EphemeralVolumeController, client)
    bench.informers.put(PODS, pod(EPHEMERAL))
    bench.informers.put(CLAIMS, *claims)
    with pytest.raises(RetryError):
        result_of(bench.controller.reconcile(("a", "p")))
    assert bench.events.notes == [("FailedBinding", f"ephemeral volume v: {note}")]
    assert numbers(bench) == counted


def test_new_pods_and_deleted_claims_queue_pods() -> None:
    """With an ephemeral volume, unless the pod is being deleted."""
    bench = begin(EphemeralVolumeController)
    bench.informers.put(PODS, pod({"name": "v"}))
    assert not bench.queued()
    bench.informers.put(PODS, pod(EPHEMERAL))
    assert not bench.queued()
    bench.informers.informer(PODS).remove("a", "p")
    assert not bench.queued()
    bench.informers.put(PODS, pod(EPHEMERAL))
    assert bench.queued() == [("a", "p")]
    bench.informers.put(CLAIMS, owned())
    assert not bench.queued()
    bench.informers.informer(CLAIMS).remove("a", "p-v")
    assert bench.queued() == [("a", "p")]
    bench.informers.put(PODS, pod(EPHEMERAL, **GONE))
    bench.informers.put(CLAIMS, owned())
    bench.informers.informer(CLAIMS).remove("a", "p-v")
    assert not bench.queued()
    assert result_of(bench.controller.reconcile(("a", "missing"))) is None


# -- expansion

PRE_RESIZE, RESIZER = ORCH("volume.alpha.{long}.io/pre-resize-capacity"), ORCH("volume.{long}.io/storage-resizer")
FLEX = {"flexVolume": {"driver": "x/y"}}


def claim(requested: str = "2Gi", size: str | None = "1Gi", phase: str = "Bound", conditions: Any = ()) -> Entry:
    capacity = {} if size is None else {"storage": size}
    return {
        "metadata": {"name": "c", "namespace": "a", "uid": "c"},
        "spec": {"volumeName": "v", "resources": {"requests": {"storage": requested}}},
        "status": {"phase": phase, "capacity": capacity, "conditions": list(conditions)},
    }


def volume(size: str = "1Gi", marked: bool = False, uid: str = "c", namespace: str = "a", **source: Any) -> Entry:
    return {
        "metadata": {"name": "v", "annotations": {PRE_RESIZE: "1Gi"} if marked else {}},
        "spec": {"capacity": {"storage": size}, "claimRef": {"namespace": namespace, "uid": uid}, **(source or FLEX)},
    }


class _Whole(RecordingClient):
    """Patches return the object."""

    async def patch(self, ref: Any, namespace: str, name: str, patch: Any, **more: Any) -> Any:
        return self.objects.get(name, await super().patch(ref, namespace, name, patch, **more))


def expand(of: Entry, on: Entry | None, **changes: Any) -> ControllerBench:
    bench = begin(VolumeExpansion, _Whole(of), **changes)
    bench.informers.put(CLAIMS, of)
    if on is not None:
        bench.informers.put(VOLUMES, on)
    assert result_of(bench.controller.reconcile(("a", "c"))) is None
    return bench


@pytest.mark.parametrize(
    ("of", "on"),
    [
        (claim("1Gi"), volume()),
        (claim("1Gi", "2Gi"), volume()),
        (claim(phase="Pending"), volume()),
        (claim(phase="Pending"), None),
    ],
)
def test_claims_that_need_no_expansion(of: Entry, on: Entry | None) -> None:
    assert not expand(of, on).client.calls


@pytest.mark.parametrize("on", [None, volume(uid="x"), volume(namespace="b")])
def test_claims_whose_volume_is_not_known_yet_are_retried(on: Entry | None) -> None:
    with pytest.raises(RetryError):
        expand(claim(), on)


def test_nodes_expand_flex_volumes() -> None:
    """The volume gets the size, the claim the conditions in turn, and an Event says what is left to do."""
    bench = expand(claim(conditions=[{"type": "Other"}]), volume())
    resizing, size, pending = bench.client.bodies
    fresh = {"status": "True", "lastTransitionTime": timestamp(NOW)}
    assert resizing["metadata"] == {"annotations": {RESIZER: "x/y"}}
    assert resizing["status"]["conditions"] == [{"type": "Other"}, {"type": "Resizing", **fresh}]
    assert size == {"spec": {"capacity": {"storage": "2Gi"}}, "metadata": {"annotations": {PRE_RESIZE: "1Gi"}}}
    assert pending["status"]["conditions"][-1]["type"] == "FileSystemResizePending"
    assert [reason for reason, _ in bench.events.notes] == ["FileSystemResizeRequired"]


@pytest.mark.parametrize(
    ("of", "on", "plurals"),
    [
        (claim(), volume("2Gi", marked=True), ["persistentvolumeclaims/status"] * 2),
        (claim(), volume("2Gi"), ["persistentvolumeclaims/status"] * 2),
        (claim(size="2Gi"), volume("2Gi", marked=True), ["persistentvolumes"]),
        (claim(size=None), volume("2Gi", marked=True), ["persistentvolumeclaims/status"] * 2),
        (
            claim("3Gi", "2Gi"),
            volume("2Gi", marked=True),
            ["persistentvolumeclaims/status", "persistentvolumes", "persistentvolumeclaims/status"],
        ),
        (claim("1Gi", "2Gi"), volume("3Gi", marked=True), ["persistentvolumeclaims/status"] * 2),
    ],
)
def test_steps_of_an_expansion(of: Entry, on: Entry, plurals: list[str]) -> None:
    """The volume is written if it is too small, and its mark goes when the node has done its part."""
    bench = expand(of, on)
    assert [what for _, what, _ in bench.client.calls] == plurals
    if plurals == ["persistentvolumes"]:
        assert bench.client.bodies == [{"metadata": {"annotations": {PRE_RESIZE: None}}}]
    elif len(plurals) == 3:
        assert bench.client.bodies[1] == {"spec": {"capacity": {"storage": "3Gi"}}}


def test_condition_that_is_there_keeps_its_time() -> None:
    before = {"type": "Resizing", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    bench = expand(claim(conditions=[before]), volume())
    assert bench.client.bodies[0]["status"]["conditions"] == [before]
    over = {**before, "status": "False"}
    bench = expand(claim(conditions=[over]), volume())
    assert bench.client.bodies[0]["status"]["conditions"] == [{**before, "lastTransitionTime": timestamp(NOW)}]


@pytest.mark.parametrize(
    ("source", "changes", "note"),
    [
        (
            {"csi": {"driver": "d"}},
            {},
            "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller "
            "to process this PVC.",
        ),
        ({"csi": {"driver": "d"}}, {"release": NEWEST}, "waiting for an external controller to expand this PVC"),
    ],
)
def test_other_volumes_are_left_to_others(source: Entry, changes: Entry, note: str) -> None:
    bench = expand(claim(), volume(**source), **changes)
    assert bench.events.notes == [("ExternalExpanding", note)] and not bench.client.calls


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, claim(), True),
        (None, claim(phase="Pending"), False),
        (claim("1Gi"), claim(), True),
        (claim(), claim(), False),
        (claim(), claim("1Gi"), False),
        (claim(), claim(size="2Gi"), True),
        (claim(), None, False),
    ],
)
def test_changes_of_sizes_queue_claims(old: Entry | None, new: Entry | None, queued: bool) -> None:
    bench = begin(VolumeExpansion)
    if old is not None:
        bench.informers.put(CLAIMS, old)
    bench.queued()
    if new is None:
        bench.informers.informer(CLAIMS).remove("a", "c")
    else:
        bench.informers.put(CLAIMS, new)
    assert bench.queued() == ([("a", "c")] if queued else [])
