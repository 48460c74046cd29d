"""Fresh namespaces for single tests."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Iterator
from typing import Any

from orchd.testing.cluster.channel import ClusterError
from orchd.testing.cluster.cluster import Cluster

#: Seconds that a finalizer's owner has to remove it, when nothing else keeps the namespace.
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
    the namespace alone is removed. Where only finalizers keep objects, their owners get a second; then the finalizers
    are removed, and a warning names the objects. Raises ClusterError."""
    path = f"/api/v1/namespaces/{name}"
    code, response = cluster.request("DELETE", path)
    if code == 404:
        return
    if code not in (200, 202):
        raise ClusterError(f"namespace {name} was not deleted: {code} {response}")
    if cluster.runs_controllers("namespace"):
        if not _is_gone(cluster, path) and (left := sorted(_release(cluster, name))):
            warnings.warn(f"the test left objects with finalizers, which were removed: {', '.join(left)}", stacklevel=2)
        cluster.wait_for_absence(path)
        return
    code, namespace = cluster.request("GET", path)
    if code == 200:
        cluster.request("PUT", f"{path}/finalize", {**namespace, "spec": {"finalizers": []}})


def _is_gone(cluster: Cluster, path: str) -> bool:
    """Wait until the namespace is gone, or nothing but finalizers has kept its contents for `_GRACE` seconds."""
    since: list[float] = []

    def outcome() -> str:
        code, obj = cluster.request("GET", path)
        if code == 404:
            return "gone"
        conditions = obj.get("status", {}).get("conditions", ()) if code == 200 else ()
        if not any(each["type"] == "NamespaceFinalizersRemaining" and each["status"] == "True" for each in conditions):
            since.clear()
            return ""
        since.append(time.monotonic())
        return "kept" if since[-1] - since[0] >= _GRACE else ""

    return cluster.wait_for(outcome, what=f"{path} is gone") == "gone"


def _release(cluster: Cluster, namespace: str) -> Iterator[str]:
    """Remove the finalizers of the objects that are being deleted, and name those objects."""
    for base, resource in _namespaced(cluster):
        collection = f"{base}/namespaces/{namespace}/{resource}"
        code, page = cluster.request("GET", collection)
        for item in page["items"] if code == 200 else ():
            metadata = item["metadata"]
            if metadata.get("finalizers") and metadata.get("deletionTimestamp"):
                yield f"{resource}/{metadata['name']} ({', '.join(metadata['finalizers'])})"
                patch = {"metadata": {"finalizers": None}}
                cluster.request(
                    "PATCH", f"{collection}/{metadata['name']}", patch, content_type="application/merge-patch+json"
                )


def _namespaced(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """The path of the group version and the name of each resource that is listed and patched in namespaces."""
    groups: list[Any] = cluster.request("GET", "/apis")[1]["groups"]
    for base in ("/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)):
        code, listing = cluster.request("GET", base)
        for resource in listing["resources"] if code == 200 else ():
            if resource["namespaced"] and {"list", "patch"} <= set(resource["verbs"]):
                yield base, resource["name"]
