"""Claims of devices that are made from templates, and their release."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.objects import PODS
from orchd.controllers.resource_claims import DEVICE_CLAIM_TEMPLATES, DEVICE_CLAIMS, generated_base
from orchd.dialect import ORCH
from orchd.testing.doubles.server import run
from tests.controllers.cluster_support import Cluster
from tests.samples import samples

RUNNING_CONTROLLERS = ("resourceclaim-controller",)
SERVER_FLAGS = ("--emulated-version=1.35",)
_FINALIZER = ORCH("resource.{long}.io/delete-protection")
_ENTRY = ORCH("resource.{long}.io/pod-claim-name")
_DEVICES = {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}


def _refs() -> Any:
    """The resources of claims and of templates."""
    return [type(ref)(ORCH(ref.group), ref.version, ref.plural) for ref in (DEVICE_CLAIMS, DEVICE_CLAIM_TEMPLATES)]


CLAIMS, TEMPLATES = _refs()


def _pod(cluster: Cluster, name: str = "p", node: str = "", **claim: str) -> None:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "x"}], "resourceClaims": [{"name": "gpu", **claim}]}
    cluster.create(PODS, {"metadata": {"name": name}, "spec": {**spec, **({"nodeName": node} if node else {})}})


def _template(cluster: Cluster) -> None:
    spec = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"devices": _DEVICES}}
    cluster.create(TEMPLATES, {"metadata": {"name": "t"}, "spec": spec})


def _allocated(cluster: Cluster, pod_uid: str, name: str = "own") -> None:
    """A claim that a scheduler has allocated and reserved for a pod named p."""
    claim = cluster.create(
        CLAIMS, {"metadata": {"name": name, "finalizers": [_FINALIZER]}, "spec": {"devices": _DEVICES}}
    )
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": pod_uid}],
    }
    assert claim["metadata"]["name"] == name
    cluster.patch(CLAIMS, name, {"status": status}, subresource="status")


def test_a_claim_is_made_from_a_template_and_named_in_the_pod(cluster: Cluster) -> None:
    """It has the labels and annotations of the template, the name of the entry, and the pod as its owner."""
    _template(cluster)
    _pod(cluster, resourceClaimTemplateName="t")
    cluster.settle(2)
    (claim,) = cluster.items(CLAIMS)
    metadata, pod = claim["metadata"], cluster.get(PODS, "p")
    assert pod is not None
    assert metadata["name"].startswith("p-gpu-") and metadata["labels"] == {"a": "b"}
    assert metadata["annotations"] == {"c": "d", _ENTRY: "gpu"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"], "controller": True}
    assert metadata["ownerReferences"] == [owner]
    assert pod["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": metadata["name"]}]


def test_claims_are_counted(cluster: Cluster) -> None:
    """Those that are made, and those that there are, by what they are made from and whether they are allocated."""
    _template(cluster)
    _pod(cluster, resourceClaimTemplateName="t")
    cluster.settle(2)
    pod = cluster.get(PODS, "p")
    assert pod is not None
    _allocated(cluster, pod["metadata"]["uid"])
    text = run(cluster.server.request("GET", "/metrics")).body.decode()

    def numbers(name: str) -> dict[tuple[tuple[str, str], ...], float]:
        found = samples(text, f"resourceclaim_controller_{name}")
        return {tuple(sorted(each.labels.items())): each.value for each in found if not each.name.endswith("_created")}

    assert numbers("creates_total") == {(("admin_access", "false"), ("status", "success")): 1}
    made, own = ("source", "resource_claim_template"), ("source", "")
    no_access = ("admin_access", "false")
    assert numbers("resource_claims") == {
        (no_access, ("allocated", "false"), made): 1,
        (no_access, ("allocated", "true"), own): 1,
    }


def test_a_claim_that_was_deleted_is_made_again(cluster: Cluster) -> None:
    """The status of the pod names the new one."""
    _template(cluster)
    _pod(cluster, resourceClaimTemplateName="t")
    cluster.settle(2)
    (first,) = cluster.names(CLAIMS)
    cluster.delete(CLAIMS, first)
    cluster.settle(5)
    (second,) = cluster.names(CLAIMS)
    pod = cluster.get(PODS, "p")
    assert pod is not None and second != first
    assert pod["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": second}]


def test_a_missing_template_is_waited_for(cluster: Cluster) -> None:
    """The claim is made when the template is there."""
    _pod(cluster, resourceClaimTemplateName="t")
    cluster.settle(2)
    assert cluster.items(CLAIMS) == []
    _template(cluster)
    cluster.settle(60)
    assert len(cluster.items(CLAIMS)) == 1


@pytest.mark.parametrize("gone", [True, False])
def test_the_last_user_of_a_claim_releases_its_devices(cluster: Cluster, gone: bool) -> None:
    """Whether the pod was deleted or has ended."""
    _pod(cluster, node="n", resourceClaimName="own")
    pod = cluster.get(PODS, "p")
    assert pod is not None
    _allocated(cluster, pod["metadata"]["uid"])
    cluster.settle(2)
    kept = cluster.get(CLAIMS, "own")
    assert kept is not None and "allocation" in kept["status"]
    if gone:
        cluster.delete(PODS, "p", gracePeriodSeconds=0)
    else:
        cluster.patch(PODS, "p", {"status": {"phase": "Succeeded"}}, subresource="status")
    cluster.settle(5)
    claim = cluster.get(CLAIMS, "own")
    assert claim is not None
    assert claim.get("status") in (None, {}) and "finalizers" not in claim["metadata"]


def test_a_claim_that_was_made_for_a_pod_ends_with_it(cluster: Cluster) -> None:
    """It is deleted when the pod has ended, though the pod is still there."""
    _template(cluster)
    _pod(cluster, node="n", resourceClaimTemplateName="t")
    cluster.settle(2)
    assert len(cluster.items(CLAIMS)) == 1
    cluster.patch(PODS, "p", {"status": {"phase": "Failed"}}, subresource="status")
    cluster.settle(5)
    assert cluster.items(CLAIMS) == []


def test_a_deleted_claim_without_users_goes(cluster: Cluster) -> None:
    """Its allocation and its finalizer are removed."""
    _allocated(cluster, "somebody-else")
    cluster.settle(5)
    cluster.delete(CLAIMS, "own")
    cluster.settle(5)
    assert cluster.items(CLAIMS) == []


def test_an_allocated_claim_is_reserved_for_a_pod_that_was_bound_otherwise(cluster: Cluster) -> None:
    """Next to the pods that use it already."""
    _pod(cluster, node="n", resourceClaimName="own")
    pod = cluster.get(PODS, "p")
    assert pod is not None
    _allocated(cluster, pod["metadata"]["uid"])
    _pod(cluster, "q", node="n", resourceClaimName="own")
    cluster.settle(5)
    claim = cluster.get(CLAIMS, "own")
    assert claim is not None
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["p", "q"]


def test_long_names_are_cut_in_proportion() -> None:
    """So that a part of both names is left, and room for the generated part."""
    assert generated_base("p", "gpu") == "p-gpu-"
    base = generated_base("p" * 60, "c" * 60)
    assert base == "p" * 28 + "-" + "c" * 28
