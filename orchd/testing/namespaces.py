"""Fresh namespaces for single tests."""

from __future__ import annotations

import secrets

from orchd.testing.cluster import Cluster
from orchd.testing.cluster_channel import ClusterError


def create_namespace(cluster: Cluster, prefix: str = "test-") -> str:
    """Create a namespace with a unique name; with controllers, its default service account exists on return. Raises
    ClusterError."""
    name = prefix + secrets.token_hex(5)
    code, answer = cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    if code != 201:
        raise ClusterError(f"namespace {name} was not created: {code} {answer}")
    if cluster.runs_controllers("serviceaccount"):
        cluster.wait_for_object(f"/api/v1/namespaces/{name}/serviceaccounts/default")
    return name


def remove_namespace(cluster: Cluster, name: str) -> None:
    """Delete a namespace with what is in it, and wait until it is gone; without the controller that empties namespaces, the
    namespace alone is removed. Raises ClusterError."""
    path = f"/api/v1/namespaces/{name}"
    code, answer = cluster.request("DELETE", path)
    if code == 404:
        return
    if code not in (200, 202):
        raise ClusterError(f"namespace {name} was not deleted: {code} {answer}")
    if cluster.runs_controllers("namespace"):
        cluster.wait_for_absence(path)
        return
    code, found = cluster.request("GET", path)
    if code == 200:
        cluster.request("PUT", f"{path}/finalize", {**found, "spec": {"finalizers": []}})
