"""Steps of reclaiming a volume without its claim, with a client that records writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd.controllers.settings import ControllerSettings
from orchd.controllers.volumes.binding.reclaimer import Reclaimer
from orchd.controllers.volumes.migration import MIGRATED_TO, PROVISIONED_BY
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.testing.doubles.server import run
from tests.controllers.recording_support import CONFLICT, FORBIDDEN, MISSING, recording_client
from tests.controllers.volumes.controller_volume_support import volume

HOST_PATH: Any = {"hostPath": {"path": "/tmp/x"}}
BY, TO = ORCH(PROVISIONED_BY), ORCH(MIGRATED_TO)


def released(policy: str = "Delete", annotations: Any = None, **spec: Any) -> dict[str, Any]:
    """A volume whose claim was deleted."""
    reference = {"namespace": "a", "name": "c", "uid": "claim"}
    obj = volume("v", policy=policy, **{"claimRef": reference, **(spec or HOST_PATH)})
    obj["metadata"].update({"uid": "u", "annotations": annotations or {}})
    return obj


def pod(name: str, uid: str = "p", phase: str = "Running", **status: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "default", "name": name, "uid": uid}, "status": {"phase": phase, **status}}


class Writer:
    """A writer of volumes that notes what it is asked for."""

    dialect = ORCH

    def __init__(self, claims: dict[str, Any]) -> None:
        self.notes: list[str] = []
        self.claims = SimpleNamespace(get=lambda namespace, name: claims.get(f"{namespace}/{name}"))

    async def volume_failed(self, obj: Any, reason: str, note: str) -> None:
        self.notes.append(f"failed {reason}: {note}")

    async def unbind(self, obj: Any) -> None:
        self.notes.append("unbind")

    def record_volume(self, obj: Any, type_: str, reason: str, note: str) -> None:
        self.notes.append(f"{type_} {reason}: {note}")


class Bench:
    """A reclaimer of `obj`, which the server has as `live`. `pods` are those of its claim, and its recycler's."""

    def __init__(
        self,
        obj: Any,
        *pods: Any,
        live: Any = None,
        claims: Any = None,
        release: Release = SPECIFICATION,
        **failures: ApiError,
    ) -> None:
        self.volume = obj
        self.client = recording_client(*([] if live is MISSING else [live or obj]), **failures)
        self.writer = Writer(claims or {})
        self.pods = {each["metadata"]["name"]: each for each in pods}
        #: Whether the pods name the claim.
        self.used = True
        informer: Any = SimpleNamespace(
            get=lambda namespace, name: self.pods.get(name),
            by_index=lambda index, key: list(self.pods.values()) if self.used else [],
        )
        writer: Any = self.writer
        self.reclaimer = Reclaimer(self.client, writer, informer, ControllerSettings(), release)

    def step(self) -> list[str]:
        """One step: the calls of the client but reads of the volume, then what was noted."""
        self.client.calls.clear()
        self.client.bodies.clear()
        self.writer.notes.clear()
        run(self.reclaimer.reclaim(self.volume))
        calls = [f"{verb} {plural} {name}" for verb, plural, name in self.client.calls if verb != "get"]
        return calls + self.writer.notes


DELETED = ["delete persistentvolumes v"]
NO_PLUGIN = 'error getting deleter volume plugin for volume "v": no deletable volume plugin matched'
STEPS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "retained": (released("Retain"), []),
    "migrated": (released(annotations={TO: "d"}), []),
    "unknown policy": (
        released("Shred"),
        ["failed VolumeUnknownReclaimPolicy: Volume has unrecognized PersistentVolumeReclaimPolicy"],
    ),
    "deleted": (released(), DELETED),
    "of our provisioner": (released(annotations={BY: ORCH("{long}.io/host-path")}), DELETED),
    "of another provisioner": (released(annotations={BY: "d.example.com"}), []),
    "of a built-in provisioner that does not delete": (
        released(annotations={BY: ORCH("{long}.io/other")}),
        ["failed VolumeFailedDelete: no volume plugin matched"],
    ),
    "outside of /tmp": (
        released(hostPath={"path": "/data"}),
        ["failed VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /data"],
    ),
    "without a deleter": (released(nfs={}), [f"failed VolumeFailedDelete: {NO_PLUGIN}"]),
    "without a plugin": (
        released(iscsi={}),
        ['failed VolumeFailedDelete: error getting deleter volume plugin for volume "v": no volume plugin matched'],
    ),
    "never bound": (released(claimRef={"namespace": "a", "name": "c"}, **HOST_PATH), []),
    "without a recycler": (
        released("Recycle", iscsi={}),
        ["failed VolumeFailedRecycle: No recycler plugin found for the volume!"],
    ),
    "recycled": (released("Recycle"), ["create pods recycler-for-v"]),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_by_policy_and_source(name: str) -> None:
    obj, expected = STEPS[name]
    assert Bench(obj).step() == expected


def test_csi_volumes_are_left_to_their_driver_since_1_32() -> None:
    """Those that no provisioner made."""
    csi = released(csi={"driver": "d"})
    assert Bench(csi).step() == [f"failed VolumeFailedDelete: {NO_PLUGIN}"]
    assert Bench(csi, release=NEWEST).step() == []


def test_volume_is_read_again_before_it_is_reclaimed() -> None:
    """Nothing is done with one that is gone, replaced or being deleted, or whose claim is back."""
    other, ending = released(), released()
    other["metadata"]["uid"] = "other"
    ending["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    unbound = released(claimRef={"namespace": "a", "name": "c"}, **HOST_PATH)
    for live in (MISSING, other, ending, unbound):
        assert Bench(released(), live=live).step() == []
    assert Bench(released("Recycle"), live={**ending, "spec": released("Recycle")["spec"]}).step() == [
        "create pods recycler-for-v"
    ]


@pytest.mark.parametrize(
    ("uid", "volume_name", "expected"),
    [("claim", "v", []), ("claim", "", []), ("claim", "w", DELETED), ("other", "v", DELETED)],
)
def test_volume_of_a_claim_is_released_if_the_claim_is_another_or_elsewhere(
    uid: str, volume_name: str, expected: list[str]
) -> None:
    claim = {"metadata": {"namespace": "a", "name": "c", "uid": uid}, "spec": {"volumeName": volume_name}}
    assert Bench(released(), claims={"a/c": claim}).step() == expected


def test_deletion_is_of_the_volume_that_was_read() -> None:
    """One that is gone or changed is no error; the next event asks again."""
    bench = Bench(released())
    bench.step()
    assert bench.client.bodies[-1] == {"preconditions": {"uid": "u"}}
    for error in (MISSING, CONFLICT):
        assert Bench(released(), delete=error).step() == DELETED
    with pytest.raises(ApiError):
        Bench(released(), delete=FORBIDDEN).step()


def test_used_volume_is_not_recycled() -> None:
    """Pods that have not ended and name the claim are named; those of a new claim of the name do not count."""
    pods = [pod("one"), pod("another"), pod("ended", phase="Succeeded")]
    used = ["Normal VolumeFailedRecycle: Volume is used by pods: default/another,default/one"]
    assert Bench(released("Recycle"), *pods).step() == used
    claim = {"metadata": {"namespace": "a", "name": "c", "uid": "new"}, "spec": {}}
    assert Bench(released("Recycle"), *pods, claims={"a/c": claim}).step() == ["create pods recycler-for-v"]


END_POD = ["delete pods recycler-for-v"]


def _recycling() -> Bench:
    """A bench whose reclaimer has created a recycler pod of uid "r"."""
    bench = Bench(released("Recycle"))
    create = bench.client.create

    async def with_uid(ref: Any, namespace: str, obj: Any, **options: Any) -> Any:
        created = await create(ref, namespace, obj, **options)
        return {**created, "metadata": {**created["metadata"], "uid": "r"}}

    bench.client.create = with_uid
    assert bench.step() == ["create pods recycler-for-v"]
    return bench


@pytest.mark.parametrize(
    ("uid", "phase", "message", "expected"),
    [
        ("r", "Running", "", []),
        ("r", "Succeeded", "", [*END_POD, "Normal VolumeRecycled: Volume recycled", "unbind"]),
        ("r", "Failed", "no space", [*END_POD, "failed VolumeFailedRecycle: Recycle failed: no space"]),
        (
            "r",
            "Failed",
            "",
            [*END_POD, "failed VolumeFailedRecycle: Recycle failed: pod failed, pod.Status.Message unknown"],
        ),
        ("other", "Succeeded", "", END_POD),
    ],
)
def test_recycler_pod_decides(uid: str, phase: str, message: str, expected: list[str]) -> None:
    """Only the pod that this process created; another one of the name is deleted."""
    bench = _recycling()
    assert bench.step() == []
    bench.pods["recycler-for-v"] = pod("recycler-for-v", uid, phase, **({"message": message} if message else {}))
    bench.used = False
    assert bench.step() == expected
    if expected:
        assert bench.client.bodies[-1] == {"preconditions": {"uid": uid}}
        bench.pods.clear()
        assert bench.step() == ["create pods recycler-for-v"]


def test_recycler_pod_that_is_gone_is_made_again() -> None:
    """After its deletion, or that of the volume; the end of other pods does not count."""
    bench = _recycling()
    bench.reclaimer.pod_deleted(pod("recycler-for-v", "other"))
    assert bench.step() == []
    bench.reclaimer.pod_deleted(pod("recycler-for-v", "r"))
    assert bench.step() == ["create pods recycler-for-v"]
    bench.reclaimer.forget(bench.volume)
    assert bench.step() == ["create pods recycler-for-v"]
