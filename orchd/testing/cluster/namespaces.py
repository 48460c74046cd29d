"""Fresh namespaces for single tests."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orchd.testing.cluster.channel import ClusterError
from orchd.testing.cluster.cluster import Cluster

#: Seconds between two looks at the objects that finalizers keep; their owners have at least so long to remove them.
_GRACE = 1.0


def create_namespace(cluster: Cluster, prefix: str = "test-") -> str:
    """Create a namespace with a unique name; with controllers, its default service account exists on return. Raises
    ClusterError."""
    name = prefix + secrets.token_hex(5)
    code, response = cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    if code != 201:
        raise ClusterError(f"namespace {name} was not created: {code} {response}")
    if cluster.runs_controllers("serviceaccount"):
        cluster.wait_for_object(f"/api/v1/namespaces/{name}/serviceaccounts/default")
    return name


def remove_namespace(cluster: Cluster, name: str) -> None:
    """Delete a namespace with what is in it, and wait until it is gone; without the controller that empties namespaces,
    the namespace alone is removed. Owners of finalizers get a second; then the finalizers of what is being deleted are
    removed, and a warning names the objects. Raises ClusterError."""
    path = f"/api/v1/namespaces/{name}"
    code, response = cluster.request("DELETE", path)
    if code == 404:
        return
    if code not in (200, 202):
        raise ClusterError(f"namespace {name} was not deleted: {code} {response}")
    if cluster.runs_controllers("namespace"):
        left: set[str] = set()
        try:
            cluster.wait_for(_removal(cluster, name, left), what=f"{path} is gone")
        finally:
            if left:
                names = ", ".join(sorted(left))
                warnings.warn(f"the test left objects with finalizers, which were removed: {names}", stacklevel=2)
        return
    code, namespace = cluster.request("GET", path)
    if code == 200:
        cluster.request("PUT", f"{path}/finalize", {**namespace, "spec": {"finalizers": []}})


def _removal(cluster: Cluster, name: str, left: set[str]) -> Callable[[], bool]:
    """A condition that is true when the namespace is gone, and removes finalizers that two looks in a row saw: pods go
    before other objects, and all before the namespace. It adds the titles of these objects to `left`."""
    path = f"/api/v1/namespaces/{name}"
    kept: dict[str, str] = {}
    due = time.monotonic() + _GRACE

    def is_gone() -> bool:
        nonlocal kept, due
        code, namespace = cluster.request("GET", path)
        if code == 404:
            return True
        if code == 200 and time.monotonic() >= due:
            now = dict(_kept(cluster, path, namespace))
            for each in now.keys() & kept.keys():
                left.add(now[each])
                _patch(cluster, each, {"finalizers": None})
            if now.keys() & kept.keys():
                # The controller looks again at once, not after its pause for finalizers.
                _patch(cluster, path, {"annotations": {"released": str(len(left))}})
            kept, due = now, time.monotonic() + _GRACE
        return False

    return is_gone


def _patch(cluster: Cluster, path: str, metadata: Mapping[str, Any]) -> None:
    cluster.request("PATCH", path, {"metadata": metadata}, content_type="application/merge-patch+json")


def _kept(cluster: Cluster, path: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Paths and titles of the objects that nothing but finalizers keeps: those of the namespace, and the namespace."""
    for base, resource in _namespaced(cluster):
        collection = f"{base}{path.removeprefix('/api/v1')}/{resource}"
        code, page = cluster.request("GET", collection)
        for item in page["items"] if code == 200 else ():
            if title := _title(resource, item):
                yield f"{collection}/{item['metadata']['name']}", title
    if title := _title("namespaces", namespace):
        yield path, title


def _title(resource: str, obj: Mapping[str, Any]) -> str:
    """Name and finalizers of an object that is being deleted and has no grace period; "" for any other."""
    metadata = obj["metadata"]
    finalizers = ", ".join(metadata.get("finalizers", ()))
    if not (finalizers and metadata.get("deletionTimestamp")) or metadata.get("deletionGracePeriodSeconds"):
        return ""
    return f"{resource}/{metadata['name']} ({finalizers})"


def _namespaced(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """The path of the group version and the name of each resource that is listed and patched in namespaces."""
    groups: list[Any] = cluster.request("GET", "/apis")[1]["groups"]
    for base in ("/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)):
        code, listing = cluster.request("GET", base)
        for resource in listing["resources"] if code == 200 else ():
            if resource["namespaced"] and {"list", "patch"} <= set(resource["verbs"]):
                yield base, resource["name"]
