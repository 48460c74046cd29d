"""Pods of a stateful set by ordinal, and the owners of their claims."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.statefulset.ordinals import claims, ordinal, ordinals, pod
from orchd.controllers.statefulset.retention import is_stale, plain_owners

CLAIM_TEMPLATES = [
    {
        "metadata": {"name": "data", "labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["f"]},
        "spec": {"x": 1},
    },
    {"metadata": {"name": "logs"}, "spec": {"x": 2}},
]


def stateful_set(**spec: Any) -> dict[str, Any]:
    whole = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, **spec}
    return {"metadata": {"name": "web", "namespace": "a", "uid": "set"}, "spec": whole}


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [({}, [0, 1]), ({"replicas": 0}, []), ({"ordinals": {"start": 5}}, [5, 6]), ({"ordinals": {}}, [0, 1]), ({"ordinals": None}, [0, 1])],
)  # fmt: skip
def test_numbers_of_a_set(spec: dict[str, Any], numbers: list[int]) -> None:
    assert list(ordinals(stateful_set(**spec))) == numbers


def test_a_set_has_one_pod_by_default() -> None:
    assert list(ordinals({"metadata": {"name": "web"}, "spec": {}})) == [0]


@pytest.mark.parametrize(
    ("name", "number"),
    [("web-0", 0), ("web-12", 12), ("web-x", None), ("web", None), ("other-0", None), ("web-1-0", None)],
)
def test_number_of_a_pod(name: str, number: int | None) -> None:
    assert ordinal(stateful_set(), {"metadata": {"name": name}}) == number


def test_claims_of_a_pod() -> None:
    """Labels of the selector override those of the template; nothing else of its metadata is copied."""
    data, logs = claims(stateful_set(volumeClaimTemplates=CLAIM_TEMPLATES), 3)
    assert data == {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"x": 1},
        "metadata": {"name": "data-web-3", "namespace": "a", "labels": {"l": "1", "app": "x"}, "annotations": {"a": "1"}},
    }  # fmt: skip
    assert logs["metadata"] == {"name": "logs-web-3", "namespace": "a", "labels": {"app": "x"}}
    assert list(claims(stateful_set(), 0)) == []


def test_pod_of_a_number() -> None:
    """Volumes of claims replace those of the template with their names."""
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "x", "n": "old"}, "annotations": {"a": "1"}, "finalizers": ["f"]},
        "spec": {"containers": [], "volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]},
    }
    parent = stateful_set(volumeClaimTemplates=CLAIM_TEMPLATES, serviceName="svc")
    whole = pod(parent, template, "rev", 3, {"n": "3"})
    (owner,) = whole["metadata"].pop("ownerReferences")
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("StatefulSet", "web", "set", True)
    assert whole["metadata"] == {
        "name": "web-3", "generateName": "web-", "namespace": "a", "annotations": {"a": "1"}, "finalizers": ["f"],
        "labels": {"app": "x", "n": "3", "controller-revision-hash": "rev"},
    }  # fmt: skip
    claimed = [
        {"name": each, "persistentVolumeClaim": {"claimName": f"{each}-web-3", "readOnly": False}}
        for each in ("data", "logs")
    ]
    assert whole["spec"] == {
        "containers": [], "hostname": "web-3", "subdomain": "svc", "volumes": [*claimed, {"name": "tmp", "emptyDir": {}}],
    }  # fmt: skip
    plain = pod(stateful_set(), {"spec": {"containers": []}}, "rev", 0, {})
    assert plain["spec"] == {"containers": [], "hostname": "web-0"}
    assert not {"annotations", "finalizers"} & set(plain["metadata"])


SET_OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set"}
POD_OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "pod"}
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "other"}


@pytest.mark.parametrize(
    ("deleted", "scaled", "number", "owners", "expected"),
    [
        ("Retain", "Retain", 1, [], None),
        ("Retain", "Retain", 1, [OTHER], None),
        ("Retain", "Retain", 1, [SET_OWNER, OTHER, POD_OWNER], [OTHER]),
        ("Delete", "Retain", 1, [], [SET_OWNER]),
        ("Delete", "Retain", 9, [], [SET_OWNER]),
        ("Delete", "Retain", 1, [SET_OWNER], None),
        ("Delete", "Retain", 1, [OTHER, POD_OWNER], [OTHER, SET_OWNER]),
        # The pod of a number that the set no longer has.
        ("Retain", "Delete", 1, [], None),
        ("Retain", "Delete", 2, [], [POD_OWNER]),
        ("Retain", "Delete", 2, [POD_OWNER], None),
        ("Delete", "Delete", 1, [POD_OWNER], [SET_OWNER]),
        ("Delete", "Delete", 2, [SET_OWNER], [POD_OWNER]),
    ],
)
def test_owners_of_claims(
    deleted: str, scaled: str, number: int, owners: list[Any], expected: list[Any] | None
) -> None:
    """As the retention policy says; None if nothing has to change."""
    parent = stateful_set(persistentVolumeClaimRetentionPolicy={"whenDeleted": deleted, "whenScaled": scaled})
    claim = {"metadata": {"name": "data-web-1", "ownerReferences": owners}}
    assert plain_owners(claim, parent, {"metadata": {"name": "web-1", "uid": "pod"}}, number) == expected


@pytest.mark.parametrize(
    ("owners", "stale"),
    [
        ([], False),
        ([POD_OWNER], True),
        ([{**POD_OWNER, "name": "web-2"}], False),
        ([{**POD_OWNER, "kind": "Job"}], False),
        ([{**POD_OWNER, "kind": "Job"}, POD_OWNER], True),
    ],
)
def test_claims_of_former_pods(owners: list[Any], stale: bool) -> None:
    assert is_stale({"metadata": {"ownerReferences": owners}}, "web-1") is stale
