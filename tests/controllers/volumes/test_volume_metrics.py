"""Metrics of volumes and claims, scraped from a server."""

from __future__ import annotations

from orchd.controllers.objects import CLAIMS, NODES
from orchd.testing.doubles.server import run
from tests.controllers.volumes.controller_volume_support import Storage, claim, pod, volume
from tests.controllers.volumes.test_attachment import node
from tests.samples import samples

_NAMES = ("pv_collector_", "storage_count_", "attachdetach_")


def numbers(storage: Storage) -> dict[str, float]:
    """Values of the volume metrics, by name and label values."""
    text = run(storage.cluster.server.request("GET", "/metrics")).body.decode()
    return {
        " ".join((sample.name, *(sample.labels[label] for label in sorted(sample.labels)))): sample.value
        for sample in samples(text, *_NAMES)
    }


def test_volumes_and_claims_are_counted_by_phase(storage: Storage) -> None:
    """Each volume and claim is counted in its phase while it exists."""
    storage.add_volume(volume("free"))
    storage.add_claim(claim("waits", "90Gi"))
    counts = numbers(storage)
    assert counts["pv_collector_unbound_pv_count k"] == counts["pv_collector_unbound_pvc_count a"] == 1
    storage.add_claim(claim())
    counts = numbers(storage)
    assert counts["pv_collector_bound_pv_count k"] == counts["pv_collector_bound_pvc_count a"] == 1
    assert "pv_collector_unbound_pv_count k" not in counts
    storage.cluster.delete(CLAIMS, "waits")
    storage.cluster.settle()
    assert "pv_collector_unbound_pvc_count a" not in numbers(storage)


def test_attached_volumes_are_counted_by_node(storage: Storage) -> None:
    """Volumes in use are counted by node, and attached ones separately."""
    storage.cluster.create(NODES, node(), "")
    storage.add_volume(volume())
    storage.add_claim(claim())
    storage.add_pod(pod(node="n"))
    counts = numbers(storage)
    driver = "orch.io/csi:d.example.com"
    assert counts[f"storage_count_attachable_volumes_in_use n {driver}"] == 1
    assert counts[f"attachdetach_controller_total_volumes {driver} desired_state_of_world"] == 1
    assert counts[f"attachdetach_controller_total_volumes {driver} actual_state_of_world"] == 1
    assert counts["attachdetach_controller_forced_detaches_total"] == 0
