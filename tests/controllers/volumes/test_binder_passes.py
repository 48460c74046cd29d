"""Binding of claims and volumes without a server: which keys a change queues, and what one pass writes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.assume_cache import AssumeCache
from orchd.controllers.volumes.binding.controller import PersistentVolumeBinder
from orchd.controllers.volumes.usage import VOLUMES
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of
from tests.controllers.recording_support import FORBIDDEN, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
CLASSES = ResourceRef("storage.orch.io", "v1", "storageclasses")
BOUND, BY_US = ORCH("pv.{long}.io/bind-completed"), ORCH("pv.{long}.io/bound-by-controller")
DEFAULT = ORCH("storageclass.{long}.io/is-default-class")
LOST = "Data on the volume is lost!"


def claim(
    phase: str = "Pending", on: str = "", annotations: Any = None, storage_class: str | None = "k", **spec: Any
) -> Entry:
    base: Entry = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if storage_class is not None:
        base["storageClassName"] = storage_class
    if on:
        base["volumeName"] = on
    metadata = {"name": "c", "namespace": "a", "uid": "c", "resourceVersion": "1", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {**base, **spec}, "status": {"phase": phase}}


def volume(
    phase: str = "Available",
    of: str | None = None,
    uid: str | None = "c",
    storage_class: str = "k",
    annotations: Any = None,
    **spec: Any,
) -> Entry:
    base: Entry = {
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}, "storageClassName": storage_class,
        "persistentVolumeReclaimPolicy": "Retain", "csi": {"driver": "d", "volumeHandle": "h"},
    }  # fmt: skip
    if of is not None:
        base["claimRef"] = {"namespace": "a", "name": of, **({} if uid is None else {"uid": uid})}
    metadata = {"name": "v", "uid": "v", "resourceVersion": "1", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {**base, **spec}, "status": {"phase": phase}}


def a_class(name: str = "k", *, delayed: bool = False, default: bool = False) -> Entry:
    mode = {"volumeBindingMode": "WaitForFirstConsumer"} if delayed else {}
    notes = {DEFAULT: "true"} if default else {}
    metadata = {"name": name, "annotations": notes, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "provisioner": "p.example.com", **mode}


def pod(name: str = "p", node: str = "") -> Entry:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {"volumes": volumes, **({"nodeName": node} if node else {})}
    return {"metadata": {"name": name, "namespace": "a", "uid": name}, "spec": spec}


def begin(*objects: tuple[ResourceRef, Entry], client: Any = None, **changes: Any) -> ControllerBench:
    bench = ControllerBench(PersistentVolumeBinder, client, **changes)
    result_of(bench.controller.listen())
    for ref, obj in objects:
        bench.informers.put(ref, obj)
        bench.client.objects[obj["metadata"]["name"]] = obj
    bench.queued()
    return bench


def phases(bench: ControllerBench) -> dict[str, str]:
    """The phases that were written, by plural."""
    calls = zip(bench.client.calls, bench.client.bodies, strict=True)
    return {what.split("/")[0]: body["status"]["phase"] for (_, what, _), body in calls if what.endswith("/status")}


V, C, K = VOLUMES, CLAIMS, CLASSES
BOTH = {"persistentvolumes": "Bound", "persistentvolumeclaims": "Bound"}
#: Objects with the claim first; then the phases that are written, and the reasons and notes of Events.
CLAIM_PASSES: dict[str, tuple[list[tuple[ResourceRef, Entry]], dict[str, str], list[tuple[str, str]]]] = {
    "finds a volume": ([(C, claim("")), (V, volume())], BOTH, []),
    "finds one that is reserved": ([(C, claim()), (V, volume(of="c", uid=None))], BOTH, []),
    "volume of another class": ([(C, claim("")), (V, volume(storage_class="l"))], {}, [
        ("ProvisioningFailed", 'storageclass.storage.orch.io "k" not found')]),
    "no class": (
        [(C, claim("", storage_class=""))],
        {"persistentvolumeclaims": "Pending"},
        [("FailedBinding", "no persistent volumes available for this claim and no storage class is set")],
    ),
    "still no class": (
        [(C, claim(storage_class=""))],
        {},
        [("FailedBinding", "no persistent volumes available for this claim and no storage class is set")],
    ),
    "waits for a pod": (
        [(C, claim()), (K, a_class(delayed=True))],
        {},
        [("WaitForFirstConsumer", "waiting for first consumer to be created before binding")],
    ),
    "waits for the node of a pod": (
        [(C, claim()), (K, a_class(delayed=True)), (PODS, pod())],
        {},
        [("WaitForPodScheduled", "waiting for pod p to be scheduled")],
    ),
    "waits for the nodes of two pods": (
        [(C, claim()), (K, a_class(delayed=True)), (PODS, pod()), (PODS, pod("q")), (PODS, pod("r", "n"))],
        {},
        [("WaitForPodScheduled", "waiting for pods p,q to be scheduled")],
    ),
    "names a missing volume": ([(C, claim("", "v"))], {"persistentvolumeclaims": "Pending"}, []),
    "names a free volume": ([(C, claim(on="v")), (V, volume())], BOTH, []),
    "names a volume that is too small": (
        [(C, claim("", "v")), (V, volume(capacity={"storage": "1Mi"}))],
        {"persistentvolumeclaims": "Pending"},
        [("VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small')],
    ),
    "names its volume": ([(C, claim(on="v")), (V, volume(of="c"))], BOTH, []),
    "names the volume of another": (
        [(C, claim("", "v")), (V, volume(of="other", uid="o"))],
        {"persistentvolumeclaims": "Pending"},
        [("FailedBinding", 'volume "v" already bound to a different claim.')],
    ),
    "got the volume of another": (
        [(C, claim("", "v", {BY_US: "yes"})), (V, volume(of="other", uid="o"))],
        {},
        [("FailedBinding", 'volume "v" already bound to a different claim.')],
    ),
    "bound": ([(C, claim("Bound", "v", {BOUND: "yes"})), (V, volume("Bound", of="c"))], {"persistentvolumeclaims": "Bound"}, []),
    "bound to a volume that lost its reference": ([(C, claim("Bound", "v", {BOUND: "yes"})), (V, volume())], BOTH, []),
    "lost its reference": (
        [(C, claim("Bound", "", {BOUND: "yes"}))],
        {"persistentvolumeclaims": "Lost"},
        [("ClaimLost", f"Bound claim has lost reference to PersistentVolume. {LOST}")],
    ),
    "lost its volume": (
        [(C, claim("Bound", "v", {BOUND: "yes"}))],
        {"persistentvolumeclaims": "Lost"},
        [("ClaimLost", f"Bound claim has lost its PersistentVolume. {LOST}")],
    ),
    "lost before": ([(C, claim("Lost", "v", {BOUND: "yes"}))], {}, []),
    "bound to the volume of another": (
        [(C, claim("Bound", "v", {BOUND: "yes"})), (V, volume("Bound", of="other", uid="o"))],
        {"persistentvolumeclaims": "Lost"},
        [("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIM_PASSES)
def test_pass_over_a_claim(name: str) -> None:
    """A claim is bound to the volume that it names or the best that there is; else an Event says what it waits for."""
    objects, expected, notes = CLAIM_PASSES[name]
    bench = begin(*objects)
    wait = result_of(bench.controller.reconcile(("a", "c")))
    assert phases(bench) == expected
    assert bench.events.notes == notes
    assert wait == (None if objects[0][1]["status"]["phase"] in ("Bound", "Lost") else 15.0)


#: Volume, claims; then the phases that are written, whether the claim is queued, and the reasons of Events.
VOLUME_PASSES: dict[str, tuple[list[tuple[ResourceRef, Entry]], dict[str, str], bool, list[str]]] = {
    "free": ([(V, volume(""))], {"persistentvolumes": "Available"}, False, []),
    "free before": ([(V, volume())], {}, False, []),
    "reserved": ([(V, volume("", of="c", uid=None))], {"persistentvolumes": "Available"}, False, []),
    "its claim does not name it yet": ([(V, volume(of="c")), (C, claim())], {}, True, []),
    "its claim has another mode": (
        [(V, volume(of="c")), (C, claim(volumeMode="Block"))],
        {},
        False,
        ["VolumeMismatch", "VolumeMismatch"],
    ),
    "bound": ([(V, volume("", of="c")), (C, claim(on="v"))], {"persistentvolumes": "Bound"}, False, []),
    "its claim is gone": ([(V, volume("Bound", of="c"))], {"persistentvolumes": "Released"}, False, []),
    "its claim is another one": (
        [(V, volume("Bound", of="c", uid="former")), (C, claim(on="v"))],
        {"persistentvolumes": "Released"},
        False,
        [],
    ),
    "released before": ([(V, volume("Released", of="c"))], {}, False, []),
    "failed before": ([(V, volume("Failed", of="c"))], {}, False, []),
}  # fmt: skip


@pytest.mark.parametrize("name", VOLUME_PASSES)
def test_pass_over_a_volume(name: str) -> None:
    """A volume is bound while its claim names it, and released when that is gone."""
    objects, expected, queued, reasons = VOLUME_PASSES[name]
    bench = begin(*objects)
    bench.client.objects.pop("c", None)
    result_of(bench.controller.reconcile(("", "v")))
    assert phases(bench) == expected
    assert bench.queued() == ([("a", "c")] if queued else [])
    assert [reason for reason, _ in bench.events.notes] == reasons


def test_claim_is_read_before_its_volume_is_released() -> None:
    """The informer may lag."""
    bench = begin((V, volume("Bound", of="c")))
    bench.client.objects["c"] = claim(on="v")
    result_of(bench.controller.reconcile(("", "v")))
    assert bench.client.calls == [("get", "persistentvolumeclaims", "c")]
    assert result_of(bench.controller.reconcile(("", "missing"))) is None
    assert result_of(bench.controller.reconcile(("a", "missing"))) is None


@pytest.mark.parametrize("by_us", [True, False])
def test_volume_whose_claim_chose_another_is_free_again(by_us: bool) -> None:
    """Its reference goes, or only the uid of a reference that somebody else wrote."""
    bench = begin((V, volume("Bound", of="c", annotations={BY_US: "yes"} if by_us else {})), (C, claim(on="w")))
    result_of(bench.controller.reconcile(("", "v")))
    reference = bench.client.bodies[0]["spec"].get("claimRef")
    assert reference == (None if by_us else {"namespace": "a", "name": "c"})


def test_default_class_is_given_afterwards() -> None:
    """In later releases, to a claim that says none; failures are counted."""
    objects = ((C, claim(storage_class=None)), (K, a_class("d", default=True)))
    bench = begin(*objects, release=NEWEST)
    result_of(bench.controller.reconcile(("a", "c")))
    assert bench.client.bodies[0]["spec"]["storageClassName"] == "d"
    assert [bench.values()[f"retroactive_storageclass_{each}"][()] for each in ("total", "errors_total")] == [1, 0]
    bench = begin(*objects, release=NEWEST, client=recording_client(update=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "c")))
    assert [bench.values()[f"retroactive_storageclass_{each}"][()] for each in ("total", "errors_total")] == [0, 1]
    for changes, objects_ in (({}, objects), ({"release": NEWEST}, ((C, claim(storage_class="")), objects[1]))):
        bench = begin(*objects_, **changes)
        result_of(bench.controller.reconcile(("a", "c")))
        assert all(
            "storageClassName" not in body["spec"] or not body["spec"]["storageClassName"]
            for body in bench.client.bodies
        )


@pytest.mark.parametrize(
    ("objects", "change", "queued"),
    [
        ([], (V, volume()), [("", "v")]),
        ([(C, claim())], (V, volume()), [("", "v"), ("a", "c")]),
        ([(C, claim(storage_class="l"))], (V, volume()), [("", "v")]),
        ([(C, claim()), (V, volume())], (V, volume(annotations={"x": "y"})), [("", "v")]),
        ([(C, claim()), (V, volume("Bound"))], (V, volume()), [("", "v"), ("a", "c")]),
        ([(C, claim()), (V, volume())], (V, volume("Bound")), [("", "v")]),
        ([(C, claim(on="v"))], (V, volume("Bound")), [("", "v"), ("a", "c")]),
        ([], (C, claim()), [("a", "c")]),
        ([(V, volume(of="c"))], (C, claim()), [("", "v"), ("a", "c")]),
        ([(V, volume(of="c")), (C, claim())], (C, claim("Bound")), [("a", "c")]),
        ([(V, volume(of="c")), (C, claim())], (C, claim(on="w")), [("", "v"), ("a", "c")]),
        ([(C, claim())], (K, a_class()), [("a", "c")]),
        ([(C, claim()), (K, a_class())], (K, a_class(delayed=True)), []),
        ([(C, claim())], (K, a_class("l")), []),
        ([(C, claim(storage_class=None))], (K, a_class("l", default=True)), []),
        ([], (PODS, pod()), []),
    ],
)
def test_changes_queue_claims_and_volumes(objects: list[Any], change: Any, queued: list[Any]) -> None:
    """The object itself, and those that it is, was or may become bound to."""
    bench = begin(*objects)
    bench.informers.put(*change)
    assert bench.queued() == queued


def test_deletions_queue_claims_and_volumes() -> None:
    bench = begin((V, volume("Bound", of="c")), (C, claim(on="v")))
    bench.informers.informer(V).remove("", "v")
    assert bench.queued() == [("a", "c")]
    bench = begin((V, volume("Bound", of="c")), (C, claim(on="v")))
    bench.informers.informer(C).remove("a", "c")
    assert bench.queued() == [("", "v")]
    bench.informers.informer(CLASSES).put(a_class())
    bench.informers.informer(CLASSES).remove("", "k")
    assert not bench.queued()


def test_new_default_class_queues_claims_without_one_in_later_releases() -> None:
    bench = begin((C, claim(storage_class=None)), release=NEWEST)
    bench.informers.put(K, a_class("l"))
    assert not bench.queued()
    bench.informers.put(K, a_class("l", default=True))
    assert bench.queued() == [("a", "c")]


def test_numbers_of_claims_and_volumes() -> None:
    """By class, namespace, plugin and mode; in later releases claims by their classes."""
    for changes, labels in (({}, ("a",)), ({"release": NEWEST}, ("a", "k", "gold"))):
        of = claim("Bound", "v", volumeAttributesClassName="gold")
        bench = begin((V, volume("Bound", volumeMode="Block")), (C, of), **changes)
        values = {name: each for name, each in bench.values().items() if name.startswith("pv_collector")}
        assert values == {
            "pv_collector_bound_pv_count": {("k",): 1},
            "pv_collector_unbound_pv_count": {},
            "pv_collector_failed_pv_count": {},
            "pv_collector_bound_pvc_count": {labels: 1},
            "pv_collector_unbound_pvc_count": {},
            "pv_collector_total_pv_count": {(ORCH("{long}.io/csi"), "Block"): 1},
        }
        bench.informers.put(V, volume("Failed"))
        bench.informers.put(C, {**of, "status": {"phase": "Lost"}})
        values = bench.values()
        assert values["pv_collector_failed_pv_count"] == {("k",): 1} and values["pv_collector_bound_pv_count"] == {}
        assert values["pv_collector_unbound_pvc_count"] == {labels: 1}
        bench.informers.put(V, volume("Released"))
        assert bench.values()["pv_collector_unbound_pv_count"] == {("k",): 1}
        bench.informers.informer(V).remove("", "v")
        bench.informers.informer(C).remove("a", "c")
        assert not any(each for name, each in bench.values().items() if name.startswith("pv_collector"))


def test_newest_version_of_an_object_is_used() -> None:
    """The response to a write, until the informer shows it or a later one, or the deletion."""
    informer = MemoryInformers().informer(VOLUMES)

    def version(number: int) -> Entry:
        return {"metadata": {"name": "v", "resourceVersion": str(number)}}

    cache = AssumeCache(informer)
    informer.add_listener(lambda event, old, new: cache.observe(old, new))
    cache.store(version(5))
    assert cache.get("", "v") is None
    informer.put(version(5))
    for number, current in ((4, 5), (5, 5), (7, 7)):
        cache.store(version(number))
        assert cache.get("", "v") == version(current)
        assert list(cache.newest(informer.list())) == [version(current)]
    for number, current in ((6, 7), (7, 7), (8, 8)):
        informer.put(version(number))
        assert cache.get("", "v") == version(current)
    cache.store(version(9))
    informer.remove("", "v")
    assert cache.get("", "v") is None
