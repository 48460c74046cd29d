"""Matching of volumes with claims, and of nodes with volumes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.node_selectors import matches_terms
from orchd.kinds.objects.volumes import claims
from orchd.kinds.objects.volumes.matching import find_volume
from orchd.kinds.objects.volumes.topology import allowed_terms, selector_terms, usable_on, zones


def volume(name: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": spec.pop("labels", {}), **spec.pop("metadata", {})}
    phase = spec.pop("phase", "Available")
    return {
        "metadata": metadata,
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s", **spec},
        "status": {"phase": phase},
    }


def claim(size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "n", "name": "c", "uid": "u", "resourceVersion": "7", **spec.pop("metadata", {})},
        "spec": {
            "resources": {"requests": {"storage": size}},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "s",
            **spec,
        },
    }


def on(host: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "host", "operator": "In", "values": [host]}]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}


def reserved(uid: str | None = None) -> dict[str, Any]:
    return {"claimRef": {"namespace": "n", "name": "c", **({"uid": uid} if uid else {})}}


NODE = {"host": "n1"}
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str | None]] = {
    "the smallest": (claim(), [volume("big", "3Gi"), volume("small", "1Gi"), volume("middle", "2Gi")], "small"),
    "large enough": (claim("2Gi"), [volume("small"), volume("fits", "2048Mi")], "fits"),
    "the first of one size": (claim(), [volume("a"), volume("b")], "a"),
    "none": (claim(), [], None),
    "class": (claim(), [volume("a", storageClassName="t")], None),
    "no class": (claim(storageClassName=""), [volume("a"), volume("b", storageClassName="")], "b"),
    "class by annotation": (
        claim(metadata={"annotations": {"volume.beta.orch.io/storage-class": "t"}}), [volume("a"), volume("b", storageClassName="t")], "b",
    ),
    "access modes": (claim(accessModes=["ReadWriteMany"]), [volume("a"), volume("b", accessModes=["ReadWriteOnce", "ReadWriteMany"])], "b"),
    "volume mode": (claim(volumeMode="Block"), [volume("a"), volume("b", volumeMode="Block")], "b"),
    "default volume mode": (claim(volumeMode="Filesystem"), [volume("a")], "a"),
    "selector": (claim(selector={"matchLabels": {"a": "b"}}), [volume("a"), volume("b", labels={"a": "b"})], "b"),
    "phase": (claim(), [volume("a", phase="Released"), volume("b")], "b"),
    "going away": (claim(), [volume("a", metadata={"deletionTimestamp": "x"})], None),
    "another's": (claim(), [volume("a", claimRef={"namespace": "n", "name": "d"})], None),
    "reserved by name": (claim(), [volume("a"), volume("b", "9Gi", phase="Pending", **reserved())], "b"),
    "reserved twice": (claim(), [volume("a", **reserved()), volume("b", **reserved())], "a"),
    "reserved in another class": (claim(), [volume("b", storageClassName="t", **reserved())], "b"),
    "reserved for a claim of the past": (claim(), [volume("a", **reserved("old"))], None),
    "reserved but too small": (claim("2Gi"), [volume("a", **reserved()), volume("b", "3Gi")], "b"),
    "node": (claim(), [volume("a", **on("n2")), volume("b", **on("n1"))], "b"),
    "reserved elsewhere": (claim(), [volume("a"), volume("b", **reserved(), **on("n2"))], None),
    "excluded": (claim(), [volume("x"), volume("y", "2Gi")], "y"),
    "reserved and excluded": (claim(), [volume("x", **reserved()), volume("y", "2Gi")], "y"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_smallest_suitable_volume_is_chosen(case: str) -> None:
    """A claim gets the volume reserved for it, else the smallest suitable volume on the node."""
    claim, volumes, expected = CASES[case]
    found = find_volume(claim, volumes, ORCH, node=NODE, excluded={"x"}, delayed=True)
    assert (found and found["metadata"]["name"]) == expected


def test_without_a_node_topology_does_not_matter() -> None:
    """Without a node, topology is ignored; a claim that waits for its consumer gets only a reserved volume."""
    far, own = volume("a", **on("n2")), volume("b", "9Gi", **on("n2"), **reserved())
    assert find_volume(claim(), [far], ORCH) is far
    assert find_volume(claim(), [far], ORCH, delayed=True) is None
    assert find_volume(claim(), [far, own], ORCH, delayed=True) is own


def test_bound_volume_names_its_claim() -> None:
    """A bound volume references its claim and is annotated as bound by the controller, unless the user had reserved
    it."""
    bound, changed = claims.bind(volume("a"), claim(), ORCH)
    assert changed
    assert bound["spec"]["claimRef"] == {
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "n", "name": "c", "uid": "u", "resourceVersion": "7",
    }  # fmt: skip
    assert bound["metadata"]["annotations"] == {"pv.orch.io/bound-by-controller": "yes"}
    assert claims.bind(bound, claim(), ORCH) == (bound, False)
    chosen, changed = claims.bind(volume("a", **reserved()), claim(), ORCH)
    assert changed
    assert chosen["spec"]["claimRef"]["uid"] == "u"
    assert "annotations" not in chosen["metadata"]


def test_claim_is_fully_bound_after_the_binding() -> None:
    """A claim is fully bound once it has a volume and the bind-completed annotation."""
    done = {"annotations": {"pv.orch.io/bind-completed": "yes"}}
    assert claims.is_fully_bound(claim(volumeName="v", metadata=done), ORCH)
    assert not claims.is_fully_bound(claim(volumeName="v"), ORCH)
    assert not claims.is_fully_bound(claim(metadata=done), ORCH)
    assert claims.select_node(claim(), "n1", ORCH)["metadata"]["annotations"] == {"volume.orch.io/selected-node": "n1"}


EXPRESSIONS: list[tuple[str, str, list[str], bool]] = [
    ("a", "In", ["1", "5"], True), ("a", "In", ["1"], False), ("b", "In", [""], False), ("a", "NotIn", ["5"], False),
    ("b", "NotIn", ["5"], True), ("a", "Exists", [], True), ("b", "Exists", [], False), ("b", "DoesNotExist", [], True),
    ("a", "DoesNotExist", [], False), ("a", "Gt", ["4"], True), ("a", "Gt", ["5"], False), ("a", "Lt", ["6"], True),
    ("a", "Lt", ["x"], False), ("b", "Gt", ["0"], False), ("a", "Unknown", [], False),
]  # fmt: skip


@pytest.mark.parametrize(("key", "operator", "values", "expected"), EXPRESSIONS)
def test_node_selector_expressions(key: str, operator: str, values: list[str], expected: bool) -> None:
    """Expressions of node selector terms match as in the reference."""
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    assert matches_terms([term], {"a": "5"}) is expected


def test_node_selector_terms_are_ored() -> None:
    """Terms are ORed; an empty term, and no terms at all, match nothing. Fields match the node's name."""
    yes = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    assert matches_terms([{}, yes], {"a": ""})
    assert not matches_terms([{}], {"a": ""})
    assert not matches_terms([], {"a": ""})
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    assert matches_terms([named], {}, "n1")
    assert not matches_terms([named], {})
    assert usable_on(volume("a"), {})


def test_allowed_topologies_and_label_selectors() -> None:
    """A class without topologies allows every node; an empty label selector matches every node, a missing one none."""
    assert allowed_terms({}) is None
    allowed = allowed_terms({"allowedTopologies": [{"matchLabelExpressions": [{"key": "z", "values": ["a", "b"]}]}]})
    assert allowed is not None
    assert matches_terms(allowed, {"z": "b"})
    assert not matches_terms(allowed, {"z": "c"})
    assert selector_terms({}) is None
    assert selector_terms(None) == ()
    both = selector_terms({"matchLabels": {"z": "a"}, "matchExpressions": [{"key": "y", "operator": "Exists"}]})
    assert both is not None
    assert matches_terms(both, {"z": "a", "y": ""})
    assert not matches_terms(both, {"z": "a"})


@pytest.mark.parametrize(
    ("label", "expected"), [("a", {"a"}), ("a__b", {"a", "b"}), (" a __b", {"a", "b"}), ("", None), ("a__", None)]
)
def test_zone_labels_with_several_zones(label: str, expected: set[str] | None) -> None:
    """Zones in a label are separated by two underscores; with an empty zone the label is ignored."""
    assert zones(label) == expected
