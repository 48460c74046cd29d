"""The states of claims and volumes that the binder writes, by table."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.settings import ControllerSettings
from orchd.controllers.volumes.binding import recycler
from orchd.controllers.volumes.binding.states import (
    best_volume,
    bound_claim,
    mismatch,
    unbound_volume,
    with_claim_phase,
    with_volume_phase,
)
from orchd.controllers.volumes.migration import with_migration
from orchd.dialect import ORCH

COMPLETED, BY_CONTROLLER = "pv.orch.io/bind-completed", "pv.orch.io/bound-by-controller"


def claim(size: str = "1Gi", *modes: str, **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": list(modes or ("ReadWriteOnce",)), "resources": {"requests": {"storage": size}}, **spec}
    return {"metadata": {"name": "c", "namespace": "a", "uid": "1"}, "spec": wanted}


def volume(name: str = "v", size: str = "5Gi", *modes: str, phase: str = "Available", **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": list(modes or ("ReadWriteOnce",)), "capacity": {"storage": size}, **spec}
    return {"metadata": {"name": name}, "spec": wanted, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("status", "phase", "with_volume", "expected"),
    [
        ({}, "Pending", False, {"phase": "Pending"}),
        (
            {"phase": "Pending"},
            "Bound",
            True,
            {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}},
        ),
        (
            {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}},
            "Bound",
            True,
            {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}},
        ),
        (
            {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "conditions": []},
            "Lost",
            False,
            {"phase": "Lost", "conditions": []},
        ),
    ],
)
def test_claim_status_of_each_phase(status: Any, phase: str, with_volume: bool, expected: Any) -> None:
    """A bound claim has its volume's access modes and, once it becomes bound, its capacity; others have neither."""
    given = {**claim(), "status": status}
    found = with_claim_phase(given, phase, volume() if with_volume else None)
    assert found["status"] == expected
    assert (found is given) == (status == expected)


def test_volume_message_belongs_to_its_phase() -> None:
    """The message is removed when the phase changes, and stays with the same phase."""
    failed = with_volume_phase(volume(), "Failed", "broken")
    assert failed["status"] == {"phase": "Failed", "message": "broken"}
    assert with_volume_phase(failed, "Failed", "") is failed
    assert with_volume_phase(failed, "Released", "")["status"] == {"phase": "Released"}


@pytest.mark.parametrize(
    ("given", "marks"),
    [(claim(), {COMPLETED: "yes", BY_CONTROLLER: "yes"}), (claim(volumeName="v"), {COMPLETED: "yes"})],
)
def test_claim_with_a_users_volume_is_not_marked_as_bound_by_controller(given: Any, marks: Any) -> None:
    """The bound-by-controller annotation is not set if the user chose the volume."""
    found = bound_claim(given, volume(), ORCH)
    assert (found["spec"]["volumeName"], found["metadata"]["annotations"]) == ("v", marks)
    assert bound_claim(found, volume(), ORCH) is found


def test_unbinding_keeps_a_users_reservation() -> None:
    """Unbinding removes a binding of the controller; a reservation of the user loses only the uid."""
    reserved = volume(claimRef={"name": "c", "namespace": "a", "uid": "1"})
    assert unbound_volume(reserved, ORCH)["spec"]["claimRef"] == {"name": "c", "namespace": "a"}
    chosen = {**reserved, "metadata": {"name": "v", "annotations": {BY_CONTROLLER: "yes", "x": "y"}}}
    found = unbound_volume(chosen, ORCH)
    assert "claimRef" not in found["spec"] and found["metadata"]["annotations"] == {"x": "y"}


@pytest.mark.parametrize(
    ("offered", "wanted", "expected"),
    [
        (volume(), claim(), ""),
        (volume(), claim("6Gi"), "requested PV is too small"),
        (volume(storageClassName="x"), claim(), "storageClassName does not match"),
        (volume(volumeMode="Block"), claim(), "incompatible volumeMode"),
        (volume(), claim("1Gi", "ReadWriteMany"), "incompatible accessMode"),
        (
            {**volume(), "metadata": {"name": "v", "deletionTimestamp": "now"}},
            claim(),
            'the volume is marked for deletion "v"',
        ),
    ],
)
def test_mismatch_between_claim_and_volume_is_named(offered: Any, wanted: Any, expected: str) -> None:
    """The message says why a claim cannot have the volume that it names."""
    assert mismatch(offered, wanted, ORCH) == expected


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([volume("big", "9Gi"), volume("small", "2Gi")], "small"),
        ([volume("both", "2Gi", "ReadWriteOnce", "ReadWriteMany"), volume("one", "9Gi")], "one"),
        ([volume("other", "2Gi", "ReadWriteMany")], None),
        ([volume("used", "2Gi", phase="Released"), volume("free", "3Gi")], "free"),
        (
            [volume("free", "2Gi"), volume("mine", "9Gi", phase="Pending", claimRef={"name": "c", "namespace": "a"})],
            "mine",
        ),
    ],
)
def test_best_volume_by_reservation_modes_and_size(volumes: Any, expected: str | None) -> None:
    """A reservation takes precedence, then the fewest access modes, then the size."""
    found = best_volume(claim(), volumes, ORCH, delayed=False)
    assert (found and found["metadata"]["name"]) == expected


def test_delayed_claim_gets_reserved_volumes_only() -> None:
    """A claim with delayed binding gets only volumes that are reserved for it."""
    reserved = volume("mine", "9Gi", claimRef={"name": "c", "namespace": "a"})
    assert best_volume(claim(), [volume()], ORCH, delayed=True) is None
    assert best_volume(claim(), [volume(), reserved], ORCH, delayed=True) is reserved


def test_migration_annotation_follows_the_plugin() -> None:
    """The annotation names the CSI driver of a migrated plugin, and is removed for others."""
    made = {"metadata": {"name": "v", "annotations": {"pv.orch.io/provisioned-by": "orch.io/aws-ebs"}}}
    found = with_migration(made, ORCH, claim=False)
    assert found["metadata"]["annotations"]["pv.orch.io/migrated-to"] == "ebs.csi.aws.com"
    assert with_migration(found, ORCH, claim=False) is found
    other = {
        **found,
        "metadata": {"annotations": {**found["metadata"]["annotations"], "pv.orch.io/provisioned-by": "x"}},
    }
    assert with_migration(other, ORCH, claim=False)["metadata"]["annotations"] == {"pv.orch.io/provisioned-by": "x"}
    assert with_migration(claim(), ORCH, claim=True) == claim()


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (volume("v", "1Gi", hostPath={}), 60),
        (volume("v", "3Gi", hostPath={}), 90),
        (volume("v", "3Gi", nfs={}), 300),
        (volume("v", "11Gi", nfs={}), 330),
    ],
)
def test_recycler_deadline_depends_on_the_size(given: Any, seconds: int) -> None:
    """The deadline is a number of seconds per GiB, with a minimum by source."""
    assert recycler.deadline(given, ControllerSettings()) == seconds
