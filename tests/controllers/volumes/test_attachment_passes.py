"""Attachment of volumes without a server: which nodes a change queues, and what one pass over a node does."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, NODES, PODS
from orchd.controllers.settings import ControllerSettings
from orchd.controllers.volumes.attachment.attachable import Attachable, attachment_name
from orchd.controllers.volumes.attachment.controller import AttachDetachController
from orchd.controllers.volumes.usage import VOLUMES
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.testing.doubles.results import result_of
from tests.controllers.recording_support import EXISTS, FORBIDDEN, MISSING, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
Objects = list[tuple[ResourceRef, Entry]]
ATTACHMENTS = ResourceRef("storage.orch.io", "v1", "volumeattachments")
DRIVERS = ResourceRef("storage.orch.io", "v1", "csidrivers")
MANAGED = {ORCH("volumes.{long}.io/controller-managed-attach-detach"): "true"}
GONE: Entry = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
UNIQUE = ORCH("{long}.io/csi/") + "d.example.com^h-v"
ISCSI = ORCH("{long}.io/iscsi/") + "t:i:0"


def called(node: str = "n", handle: str = "h-v") -> str:
    volume = Attachable(unique_name="", volume="", driver="d.example.com", handle=handle)
    return attachment_name(volume, node)


def node(name: str = "n", attached: Any = (), used: Any = (), managed: bool = True) -> tuple[ResourceRef, Entry]:
    status = {"volumesAttached": [{"name": each, "devicePath": ""} for each in attached], "volumesInUse": list(used)}
    return NODES, {"metadata": {"name": name, "annotations": MANAGED if managed else {}}, "status": status}


def pod(
    name: str = "p", on: str = "n", claim: str = "c", phase: str = "Running", **more: Any
) -> tuple[ResourceRef, Entry]:
    volume = more.pop("volume", {"persistentVolumeClaim": {"claimName": claim}})
    return PODS, {
        "metadata": {"name": name, "namespace": "a", "uid": name, **more},
        "spec": {"nodeName": on, "volumes": [{"name": "v", **volume}]}
        if on
        else {"volumes": [{"name": "v", **volume}]},
        "status": {"phase": phase},
    }


def claim(phase: str = "Bound") -> tuple[ResourceRef, Entry]:
    return CLAIMS, {
        "metadata": {"name": "c", "namespace": "a", "uid": "c"}, "spec": {"volumeName": "v"}, "status": {"phase": phase}
    }  # fmt: skip


def volume(modes: Any = ("ReadWriteOnce",), uid: str = "c", **source: Any) -> tuple[ResourceRef, Entry]:
    sources = source or {"csi": {"driver": "d.example.com", "volumeHandle": "h-v"}}
    reference = {"namespace": "a", "name": "c", "uid": uid}
    return VOLUMES, {"metadata": {"name": "v"}, "spec": {"accessModes": list(modes), "claimRef": reference, **sources}}


def attachment(
    on: str = "n", attached: bool = True, error: str = "", name: str = "", **metadata: Any
) -> tuple[ResourceRef, Entry]:
    status: Entry = {"attached": attached, **({"attachError": {"message": error}} if error else {})}
    spec = {"attacher": "d.example.com", "nodeName": on, "source": {"persistentVolumeName": "v"}}
    return ATTACHMENTS, {"metadata": {"name": name or called(on), **metadata}, "spec": spec, "status": status}


def begin(*objects: tuple[ResourceRef, Entry], client: Any = None, **changes: Any) -> ControllerBench:
    bench = ControllerBench(AttachDetachController, client, **changes)
    result_of(bench.controller.listen())
    for ref, obj in objects:
        bench.informers.put(ref, obj)
    bench.queued()
    return bench


def calls(bench: ControllerBench) -> list[tuple[str, str, str]]:
    return list(bench.client.calls)


USED: Objects = [node(), claim(), volume(), pod()]
CREATE, DELETE, REPORT = (
    ("create", "volumeattachments", called()),
    ("delete", "volumeattachments", called()),
    ("patch", "nodes/status", "n"),
)
#: Objects; then the calls, the seconds until the next pass, and the reasons of Events.
PASSES: dict[str, tuple[Objects, list[Any], float | None, list[str]]] = {
    "new": (USED, [CREATE], 60.0, []),
    "nothing": ([node()], [], None, []),
    "unmanaged node": ([node(managed=False), *USED[1:]], [], None, []),
    "attached": ([*USED, attachment()], [REPORT], 60.0, []),
    "attached and reported": ([node(attached=[UNIQUE]), *USED[1:], attachment()], [], 60.0, []),
    "not attached yet": ([*USED, attachment(attached=False)], [], 60.0, []),
    "failed": ([*USED, attachment(attached=False, error="no")], [], 0.5, ["FailedAttachVolume"]),
    "being detached": ([*USED, attachment(**GONE)], [], 60.0, []),
    "reported, but no longer attached": (
        [node(attached=[UNIQUE]), *USED[1:], attachment(attached=False)],
        [REPORT],
        60.0,
        [],
    ),
    "unused": ([node(), volume(), attachment()], [DELETE], None, []),
    "unused and reported": ([node(attached=[UNIQUE]), volume(), attachment()], [REPORT, DELETE], None, []),
    "unused and still mounted": ([node(attached=[UNIQUE], used=[UNIQUE]), volume(), attachment()], [], 360.0, []),
    "unused, being detached": ([node(), volume(), attachment(**GONE)], [], None, []),
    "unused, of a volume that is gone": ([node(), attachment()], [DELETE], None, []),
    "unused and mounted, of a volume that is gone": (
        [node(used=[UNIQUE]), attachment()],
        [],
        360.0,
        [],
    ),
    "of another": ([node(), volume(), attachment(name="own")], [], None, []),
    "of another, of a volume that is gone": ([node(), attachment(name="own")], [], None, []),
    "deleted node": ([volume(), attachment()], [DELETE], None, []),
    "deleted node with its pod": ([*USED[1:], attachment()], [], 60.0, []),
    "driver that needs none": (
        [*USED, (DRIVERS, {"metadata": {"name": "d.example.com"}, "spec": {"attachRequired": False}})],
        [],
        None,
        [],
    ),
    "driver that needs it": (
        [*USED, (DRIVERS, {"metadata": {"name": "d.example.com"}, "spec": {"attachRequired": True}})],
        [CREATE],
        60.0,
        [],
    ),
    "unbound claim": ([node(), claim("Pending"), volume(), pod()], [], None, []),
    "volume of another claim": ([node(), claim(), volume(uid="x"), pod()], [], None, []),
    "ended pod": ([node(), claim(), volume(), pod(phase="Succeeded")], [], None, []),
    "on another node": ([*USED, node("m"), attachment("m")], [], 60.0, ["FailedAttachVolume"]),
    "shared, on another node": (
        [node(), claim(), volume(("ReadWriteMany",)), pod(), attachment("m")],
        [CREATE],
        60.0,
        [],
    ),
    "without a driver": ([node(), claim(), volume(iscsi={"targetPortal": "t", "iqn": "i"}), pod()], [REPORT], 60.0, ["SuccessfulAttachVolume"]),
    "without a driver, reported": (
        [node(attached=[ISCSI]), claim(), volume(iscsi={"targetPortal": "t", "iqn": "i"}), pod()],
        [],
        60.0,
        [],
    ),
    "without a driver, unused": ([node(attached=[ISCSI])], [REPORT], None, []),
    "without a driver, still mounted": ([node(attached=[ISCSI], used=[ISCSI])], [], 360.0, []),
    "without a driver, still mounted beside others": (
        [node(attached=["other/x", UNIQUE, ISCSI], used=[ISCSI]), volume(), attachment()],
        [REPORT, DELETE],
        360.0,
        [],
    ),
    "without a driver, on another node": (
        [node(), node("m", attached=[ISCSI]), claim(), volume(iscsi={"targetPortal": "t", "iqn": "i"}), pod()],
        [],
        60.0,
        ["FailedAttachVolume"],
    ),
    "reported by another": ([node(attached=["other/x"])], [], None, []),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_one_pass(name: str) -> None:
    """Wanted volumes are attached and reported, others are detached as soon as the node no longer has them mounted."""
    objects, expected, wait, reasons = PASSES[name]
    bench = begin(*objects)
    assert result_of(bench.controller.reconcile(("", "n"))) == wait
    assert calls(bench) == expected
    assert [reason for reason, _ in bench.events.notes] == reasons


def test_reported_volumes() -> None:
    """Sorted by name, with the paths of before; none is null."""
    ref, obj = node(attached=[ISCSI, "other/x"])
    obj["status"]["volumesAttached"][1]["devicePath"] = "/dev/x"
    bench = begin((ref, obj), *USED[1:], attachment())
    result_of(bench.controller.reconcile(("", "n")))
    listed = [{"name": "other/x", "devicePath": "/dev/x"}, {"name": UNIQUE, "devicePath": ""}]
    listed.sort(key=lambda each: each["name"])
    assert bench.client.bodies[0] == {"status": {"volumesAttached": listed}}
    bench = begin(node(attached=[ISCSI]))
    result_of(bench.controller.reconcile(("", "n")))
    assert bench.client.bodies == [{"status": {"volumesAttached": None}}]


@pytest.mark.parametrize(
    ("client", "expected", "wait", "reasons"),
    [
        (recording_client(create=FORBIDDEN), [CREATE], 0.5, ["FailedAttachVolume"]),
        (recording_client(create=EXISTS), [CREATE], 60.0, []),
    ],
)
def test_attachments_that_cannot_be_created(client: Any, expected: Any, wait: float, reasons: list[str]) -> None:
    """An Event says why; one that exists already is followed."""
    bench = begin(*USED, client=client)
    assert result_of(bench.controller.reconcile(("", "n"))) == wait
    assert (calls(bench), [reason for reason, _ in bench.events.notes]) == (expected, reasons)


def test_nodes_that_cannot_be_written() -> None:
    """One that is gone has nothing mounted; other errors are retried."""
    objects = (node(attached=[UNIQUE], used=[]), volume(), attachment())
    bench = begin(*objects, client=recording_client(patch=MISSING))
    assert result_of(bench.controller.reconcile(("", "n"))) is None
    assert calls(bench) == [REPORT, DELETE]
    bench = begin(*objects, client=recording_client(patch=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("", "n")))


def test_node_that_mounts_a_volume_meanwhile_keeps_it() -> None:
    """The response to the report is newer than the informer."""
    client = recording_client()

    async def patch(*args: Any, **more: Any) -> Any:
        client.calls.append(REPORT)
        return node(used=[UNIQUE])[1]

    client.patch = patch
    bench = begin(node(attached=[UNIQUE]), volume(), attachment(), client=client)
    assert result_of(bench.controller.reconcile(("", "n"))) == 360.0
    assert calls(bench) == [REPORT]


def test_mounted_volumes_are_forced_after_six_minutes() -> None:
    """And counted, from some release on with the reason; a volume that is wanted again begins anew."""
    objects = (node(attached=[UNIQUE], used=[UNIQUE]), volume(), attachment())
    bench = begin(*objects, release=NEWEST)
    result_of(bench.controller.reconcile(("", "n")))
    bench.clock.advance(100)
    assert result_of(bench.controller.reconcile(("", "n"))) == 260.0
    bench.informers.put(*claim())
    bench.informers.put(*pod())
    assert result_of(bench.controller.reconcile(("", "n"))) == 60.0
    bench.informers.informer(PODS).remove("a", "p")
    assert result_of(bench.controller.reconcile(("", "n"))) == 360.0
    bench.clock.advance(360)
    assert result_of(bench.controller.reconcile(("", "n"))) is None
    assert calls(bench)[-1] == DELETE
    name = "attach_detach_controller_attachdetach_controller_forced_detaches"
    assert bench.values()[name][("timeout",)] >= 1
    early = begin(*objects)
    result_of(early.controller.reconcile(("", "n")))
    early.clock.advance(360)
    result_of(early.controller.reconcile(("", "n")))
    assert early.values()["attachdetach_controller_forced_detaches"][()] >= 1


def test_success_is_recorded_for_new_attachments_only() -> None:
    bench = begin(*USED)
    result_of(bench.controller.reconcile(("", "n")))
    bench.informers.put(*attachment())
    for _ in range(2):
        result_of(bench.controller.reconcile(("", "n")))
    note = 'AttachVolume.Attach succeeded for volume "v" '
    assert bench.events.notes == [("SuccessfulAttachVolume", note)]


def test_failure_names_the_error_or_the_silent_driver() -> None:
    bench = begin(*USED, attachment(attached=False, error="no"))
    result_of(bench.controller.reconcile(("", "n")))
    assert bench.events.notes == [("FailedAttachVolume", 'AttachVolume.Attach failed for volume "v" : no')]
    silent = begin(*USED)
    result_of(silent.controller.reconcile(("", "n")))
    silent.informers.put(*attachment(attached=False))
    silent.clock.advance(120)
    result_of(silent.controller.reconcile(("", "n")))
    late = "timed out waiting for external-attacher of d.example.com CSI driver to attach volume h-v"
    assert silent.events.notes == [("FailedAttachVolume", f'AttachVolume.Attach failed for volume "v" : {late}')]


def test_conflict_is_recorded_once_and_ends() -> None:
    """Nodes that wait are queued when another one releases a volume."""
    other = pod("q", "m")
    bench = begin(*USED, node("m"), other, attachment("m"))
    for _ in range(2):
        result_of(bench.controller.reconcile(("", "n")))
    note = 'Multi-Attach error for volume "v" Volume is already used by pod(s) q'
    assert bench.events.notes == [("FailedAttachVolume", note)]
    bench.queued()
    bench.informers.informer(ATTACHMENTS).remove("", called("m"))
    assert bench.queued() == [("", "m"), ("", "n")]
    result_of(bench.controller.reconcile(("", "n")))
    assert calls(bench)[-1] == CREATE
    bench.informers.put(*attachment("m", attached=False))
    assert bench.queued() == [("", "m")]
    bench.informers.informer(NODES).remove("", "m")
    assert bench.queued() == [("", "m")]


def test_attachment_that_the_informer_does_not_show_yet_blocks_other_nodes() -> None:
    bench = begin(*USED, node("m"), pod("q", "m"))
    result_of(bench.controller.reconcile(("", "n")))
    result_of(bench.controller.reconcile(("", "m")))
    assert [name for _, _, name in calls(bench)] == [called()]
    refused = begin(*USED, node("m"), pod("q", "m"), client=recording_client(create=FORBIDDEN))
    for each in "nm":
        result_of(refused.controller.reconcile(("", each)))
    assert [name for _, _, name in calls(refused)] == [called("n"), called("m")]


def _changed(obj: tuple[ResourceRef, Entry], **members: Any) -> tuple[ResourceRef, Entry]:
    ref, whole = obj
    return ref, {**whole, **{key: {**whole.get(key, {}), **value} for key, value in members.items()}}


@pytest.mark.parametrize(
    ("change", "queued"),
    [
        (node(), []),
        (node(used=[UNIQUE]), ["n"]),
        (node(attached=[UNIQUE]), ["n"]),
        (node("m"), ["m"]),
        (pod(), []),
        (pod(phase="Succeeded"), ["n"]),
        (pod("q", "m"), ["m"]),
        (pod("q", ""), []),
        (pod("q", "m", volume={"emptyDir": {}}), []),
        (claim("Pending"), ["n"]),
        (_changed(claim(), metadata={"labels": {"x": "y"}}), []),
        (volume(), []),
        (volume(("ReadOnlyMany",)), ["n"]),
        (_changed(volume(), metadata={"labels": {"x": "y"}}), []),
        (attachment(), ["n"]),
    ],
)
def test_changes_queue_nodes(change: tuple[ResourceRef, Entry], queued: list[str]) -> None:
    """That of the object, or those of the pods that use it."""
    bench = begin(*USED)
    bench.informers.put(*change)
    assert bench.queued() == [("", each) for each in queued]


@pytest.mark.parametrize(
    ("ref", "namespace", "name"), [(NODES, "", "n"), (PODS, "a", "p"), (CLAIMS, "a", "c"), (VOLUMES, "", "v"), (ATTACHMENTS, "", called())]
)  # fmt: skip
def test_deletions_queue_nodes(ref: ResourceRef, namespace: str, name: str) -> None:
    bench = begin(*USED, attachment())
    bench.informers.informer(ref).remove(namespace, name)
    assert bench.queued() == [("", "n")]


@pytest.mark.parametrize(
    ("settings", "wait"),
    [
        ({"disable_attach_detach_reconcile_sync": True}, None),
        ({"attach_detach_reconcile_sync_period": 1.0}, 1.0),
        ({"attach_detach_reconcile_sync_period": 0.5}, None),
    ],
)
def test_period_of_checks(settings: Entry, wait: float | None) -> None:
    objects = (node(attached=[UNIQUE]), *USED[1:], attachment())
    bench = begin(*objects, settings=ControllerSettings(**settings))
    assert result_of(bench.controller.reconcile(("", "n"))) == wait


def test_numbers_of_volumes() -> None:
    """By node and plugin those that pods use, and those that are attached."""
    bench = begin(*USED, attachment(), attachment("m", name="x"))
    result_of(bench.controller.reconcile(("", "n")))
    plugin = ORCH("{long}.io/csi:d.example.com")
    values = bench.values()
    assert values["storage_count_attachable_volumes_in_use"] == {("n", plugin): 1}
    assert values["attachdetach_controller_total_volumes"] == {
        (plugin, "desired_state_of_world"): 1,
        (plugin, "actual_state_of_world"): 2,
    }
    bench.informers.informer(PODS).remove("a", "p")
    result_of(bench.controller.reconcile(("", "n")))
    assert bench.values()["storage_count_attachable_volumes_in_use"] == {}
