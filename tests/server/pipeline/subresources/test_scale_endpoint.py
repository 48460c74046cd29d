"""The scale endpoints of built-in kinds."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.catalog import Resource
from orchd.kinds.ir import Type
from orchd.server.pipeline.verbs.subresources.scale import custom_mapping

D = "/apis/apps/v1/namespaces/a/deployments"
MERGE = {"content-type": "application/merge-patch+json"}


def workload(name: str, replicas: int) -> dict[str, Any]:
    labels = {"x": "y"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


@pytest.fixture
def deployed(call: Any) -> None:
    assert call("POST", D, workload("d", 2)).code == 201


def test_shows_replicas_and_selector(call: Any, deployed: None) -> None:
    """A Scale has the object's identity, its replicas and its selector as text."""
    scale = call("GET", f"{D}/d/scale").json
    assert scale["kind"] == "Scale"
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 0, "selector": "x=y"}
    assert scale["metadata"]["uid"] == call("GET", f"{D}/d").json["metadata"]["uid"]


def test_put_changes_the_object(call: Any, deployed: None) -> None:
    """The object gets the new replicas, a higher generation, and a manager with the subresource."""
    scale = call("GET", f"{D}/d/scale").json
    scale["spec"]["replicas"] = 5
    assert call("PUT", f"{D}/d/scale?fieldManager=hpa", scale).json["spec"] == {"replicas": 5}
    live = call("GET", f"{D}/d").json
    assert live["spec"]["replicas"] == 5
    assert live["metadata"]["generation"] == 2
    owners = [e for e in live["metadata"]["managedFields"] if e.get("subresource") == "scale"]
    assert [(o["manager"], o["fieldsV1"]) for o in owners] == [("hpa", {"f:spec": {"f:replicas": {}}})]


def test_stale_put_is_a_conflict(call: Any, deployed: None) -> None:
    """A stale resourceVersion in a Scale is a conflict."""
    scale = call("GET", f"{D}/d/scale").json
    assert call("PUT", f"{D}/d/scale", {**scale, "spec": {"replicas": 3}}).code == 200
    response = call("PUT", f"{D}/d/scale", {**scale, "spec": {"replicas": 4}})
    assert (response.code, response.json["details"]["kind"]) == (409, "deployments")


@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        ("application/merge-patch+json", {"spec": {"replicas": 7}}),
        ("application/strategic-merge-patch+json", {"spec": {"replicas": 7}}),
        ("application/json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 7}]),
    ],
)
def test_every_patch_type_works_on_scale(call: Any, deployed: None, content_type: str, patch: Any) -> None:
    """Every patch type works on the Scale."""
    response = call("PATCH", f"{D}/d/scale", patch, headers={"content-type": content_type})
    assert (response.code, response.json["spec"]) == (200, {"replicas": 7})


def test_apply_conflicts_with_the_owner_of_replicas(call: Any, deployed: None) -> None:
    """An apply of a Scale needs to own the replicas or force."""
    applied = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}, "spec": {"replicas": 6}}
    headers = {"content-type": "application/apply-patch+yaml"}
    refused = call("PATCH", f"{D}/d/scale?fieldManager=m", applied, headers=headers)
    assert refused.code == 409
    assert refused.json["details"]["causes"][0]["field"] == ".spec.replicas"
    assert call("PATCH", f"{D}/d/scale?fieldManager=m&force=true", applied, headers=headers).json["spec"] == {
        "replicas": 6
    }


def test_dry_run_changes_nothing(call: Any, deployed: None) -> None:
    """The response has the new replicas; the object is unchanged."""
    response = call("PATCH", f"{D}/d/scale?dryRun=All", {"spec": {"replicas": 9}}, headers=MERGE)
    assert response.json["spec"] == {"replicas": 9}
    assert call("GET", f"{D}/d/scale").json["spec"] == {"replicas": 2}


def test_foreign_uid_is_a_conflict(call: Any, deployed: None) -> None:
    """A Scale with the uid of another object is rejected."""
    scale = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "d", "uid": "u"},
        "spec": {"replicas": 1},
    }
    assert call("PUT", f"{D}/d/scale", scale).code == 409


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/apis/apps/v1/namespaces/a/deployments", "deployments/scale.apps"),
        ("/apis/apps/v1/namespaces/a/replicasets", "replicasets/scale.apps"),
        ("/apis/apps/v1/namespaces/a/statefulsets", "statefulsets.apps"),
        ("/api/v1/namespaces/a/replicationcontrollers", "replicationcontrollers/scale.autoscaling"),
    ],
)
def test_missing_object_of_a_scale_is_named(call: Any, path: str, named: str) -> None:
    """The GET error for a missing object has each kind's own message."""
    response = call("GET", f"{path}/zz/scale")
    assert (response.code, response.json["message"]) == (404, f'{named} "zz" not found')


def test_scale_is_not_found_whatever_prevents_it(call: Any, deployed: None) -> None:
    """In release 1.23 GET of a Scale says "not found" for every error, such as that of a wrong resourceVersion."""
    response = call("GET", f"{D}/d/scale?resourceVersion=x")
    assert (response.code, response.json["message"]) == (404, 'deployments/scale.apps "d" not found')
    assert call("GET", f"{D}/d/scale?export=true").code == 400


def test_custom_kind_has_the_paths_of_its_definition() -> None:
    """The mapping follows the paths in the definition; without them it is None."""
    described = {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.sel",
    }
    definition = {"subresources": {"scale": described}}
    more: dict[str, Any] = {
        "group": "x",
        "version": "v1",
        "kind": "K",
        "plural": "ks",
        "namespaced": True,
        "custom": True,
    }
    mapping = custom_mapping(Resource(type=Type("struct"), definition=definition, **more))
    assert mapping is not None
    obj = {"metadata": {"name": "n"}, "spec": {"size": 3}, "status": {"size": 1, "sel": "a=b"}}
    scale = mapping.scale(obj, {})
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 1, "selector": "a=b"})
    assert mapping.scaled(obj, {"spec": {"replicas": 4}}, {}, "x/v1")["spec"] == {"size": 4}
    assert custom_mapping(Resource(type=Type("struct"), definition={}, **more)) is None


@pytest.mark.parametrize(
    ("version", "code"), [("apps/v1beta1", 422), ("extensions/v1beta1", 422), ("autoscaling/v1", 200)]
)
def test_patches_to_former_versions_are_refused(call: Any, deployed: None, version: str, code: int) -> None:
    """Scales of former versions have a map as their selector, in which the text of this one does not fit."""
    response = call("PATCH", f"{D}/d/scale", {"apiVersion": version, "spec": {"replicas": 3}}, headers=MERGE)
    assert response.code == code
    assert code == 200 or "status.selector of type map[string]string" in response.json["message"]
