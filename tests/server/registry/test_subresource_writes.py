"""What writes of an object and of its subresources change, and what they leave as it was."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from orchd.testing.doubles.server import make_server, run
from tests.server.conftest import Space

_numbers = count()


@pytest.fixture(scope="module")
def newest_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    server = make_server(tmp_path_factory.mktemp("newest"), "--emulated-version=1.35")
    yield server
    server.stop()


@pytest.fixture
def newest(newest_server: Any) -> Space:
    name = f"newest-{next(_numbers)}"
    assert run(newest_server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})).code == 201
    space = Space(newest_server, name)
    space.make("serviceaccounts", {"metadata": {"name": "default"}})
    return space


def _pod(name: str = "p", **metadata: Any) -> Any:
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize("release", ["space", "newest"])
def test_status_of_a_pod_leaves_owners_and_spec(release: str, request: pytest.FixtureRequest) -> None:
    """A write of the status adds, changes and removes no owners, and changes no spec; labels are written."""
    space = request.getfixturevalue(release)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    for name, owners in (("owned", [owner]), ("free", [])):
        pod = space.make("pods", _pod(name, **({"ownerReferences": owners} if owners else {})))
        for sent in ([], [{**owner, "uid": "v"}]):
            metadata = {**pod["metadata"], "labels": {"a": "b"}, "ownerReferences": sent}
            metadata.pop("resourceVersion")
            spec = {**pod["spec"], "activeDeadlineSeconds": 5}
            body = {**pod, "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}
            written = space("PUT", f"pods/{name}/status", body)
            assert written.code == 200, written.body
            assert written.json["metadata"].get("ownerReferences", []) == owners
            assert written.json["spec"] == pod["spec"]
            assert written.json["status"]["phase"] == "Running"
            assert written.json["metadata"]["labels"] == {"a": "b"}


def test_update_of_an_object_leaves_its_status(space: Space) -> None:
    """A write of the object keeps the stored status, and a new object has none of what was sent."""
    claim = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Lost"},
    }
    created = space.make("persistentvolumeclaims", claim)
    assert created["status"] == {"phase": "Pending"}
    updated = space("PUT", "persistentvolumeclaims/c", {**created, "status": {"phase": "Lost"}}).json
    assert updated["status"] == {"phase": "Pending"}
    status = {**created, "metadata": {"name": "c"}, "status": {"phase": "Lost"}}
    assert space("PUT", "persistentvolumeclaims/c/status", status).json["status"] == {"phase": "Lost"}


def test_resize_changes_resources_alone(newest: Space) -> None:
    """A resize writes the resources of containers, and nothing else; other containers are refused."""

    def sized(name: str, cpu: str) -> Any:
        return {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "1"}}}

    pod = _pod()
    pod["spec"]["containers"] = [sized("c", "100m"), sized("d", "200m")]
    pod["spec"]["initContainers"] = [{**sized("i", "100m"), "restartPolicy": "Always"}]
    stored = newest.make("pods", pod)

    def resize(change: Any) -> Any:
        spec = {**stored["spec"], "activeDeadlineSeconds": 5, **change}
        metadata = {"name": "p", "labels": {"a": "b"}}
        return newest("PUT", "pods/p/resize", {**stored, "metadata": metadata, "spec": spec})

    first, second = stored["spec"]["containers"]
    for containers in ([first], [first, {**second, "name": "e"}], [first, second, {**second, "name": "e"}]):
        assert resize({"containers": containers}).code == 422
    resources = {"requests": {"cpu": "150m"}, "limits": {"cpu": "1"}}
    response = resize({"containers": [{**first, "image": "other", "resources": resources}, second]})
    assert response.code == 200, response.body
    assert response.json["spec"] == {**stored["spec"], "containers": [{**first, "resources": resources}, second]}
    (sidecar,) = stored["spec"]["initContainers"]
    response = resize({"initContainers": [{**sidecar, "image": "other", "resources": resources}]})
    assert response.json["spec"]["initContainers"] == [{**sidecar, "resources": resources}]


def test_finalizers_of_a_namespace_change_by_their_subresource_only(space: Space) -> None:
    """An update keeps the finalizers of the spec, and adds none where there are none."""
    server = space.server
    path = f"/api/v1/namespaces/{space.name}"

    def put(rest: str, finalizers: list[str]) -> Any:
        namespace = run(server.request("GET", path)).json
        body = {**namespace, "spec": {"finalizers": finalizers}}
        response = run(server.request("PUT", path + rest, body=body))
        assert response.code == 200, response.body
        return response.json["spec"]

    (finalizer,) = run(server.request("GET", path)).json["spec"]["finalizers"]
    assert put("", []) == {"finalizers": [finalizer]}
    assert put("", ["example.org/a"]) == {"finalizers": [finalizer]}
    assert put("/finalize", ["example.org/a"]) == {"finalizers": ["example.org/a"]}
    assert put("/finalize", []) == {}
    assert put("", [finalizer]) == {}
    assert put("", []) == {}


def test_deletion_of_a_pod_with_finalizers(space: Space) -> None:
    """The first deletion marks a pod with its grace period, a shorter one shortens it, and without finalizers it
    goes."""
    pod = _pod(finalizers=["example.org/hold"])
    pod["spec"]["nodeName"] = "n"
    space.make("pods", pod)
    first = space("DELETE", "pods/p", {"gracePeriodSeconds": 60}).json["metadata"]
    assert first["deletionGracePeriodSeconds"] == 60
    second = space("DELETE", "pods/p", {"gracePeriodSeconds": 5}).json["metadata"]
    assert second["deletionGracePeriodSeconds"] == 5
    assert second["deletionTimestamp"] < first["deletionTimestamp"]
    last = space("DELETE", "pods/p", {"gracePeriodSeconds": 0}).json["metadata"]
    assert last["deletionGracePeriodSeconds"] == 0
    released = {**space("GET", "pods/p").json["metadata"], "finalizers": []}
    current = space("GET", "pods/p").json
    assert space("PUT", "pods/p", {**current, "metadata": released}).code == 200
    assert space("GET", "pods/p").code == 404


def test_deletion_of_an_object_with_finalizers(space: Space) -> None:
    """Without grace periods a held object is marked once: later deletions leave time and generation as they are."""
    space.make("configmaps", {"metadata": {"name": "m", "finalizers": ["example.org/hold"]}})
    first = space("DELETE", "configmaps/m").json["metadata"]
    assert first["deletionGracePeriodSeconds"] == 0 and first["deletionTimestamp"]
    space.server.clock.advance(5)
    second = space("DELETE", "configmaps/m").json["metadata"]
    assert second["deletionTimestamp"] == first["deletionTimestamp"]
    assert second.get("generation") == first.get("generation")
