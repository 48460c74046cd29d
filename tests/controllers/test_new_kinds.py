"""Garbage collection and namespace deletion with kinds that were just defined and groups that cannot be discovered."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CONFIG_MAPS
from tests.controllers.cluster_support import NAMESPACES, Cluster

DEFINITIONS = ResourceRef("apiextensions.orch.io", "v1", "customresourcedefinitions")
API_SERVICES = ResourceRef("apiregistration.orch.io", "v1", "apiservices")
THINGS = ResourceRef("example.com", "v1", "things")


def define(cluster: Cluster) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    cluster.create(DEFINITIONS, {"metadata": {"name": "things.example.com"}, "spec": spec}, "")


def thing(cluster: Cluster, name: str) -> str:
    body = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}}
    return str(cluster.create(THINGS, body)["metadata"]["uid"])


def dependent(cluster: Cluster, name: str, uid: str) -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": uid}
    cluster.create(CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": [owner]}})


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.2, 0.5, 2.0])
def test_dependents_of_a_new_kind_are_deleted_with_the_owner(cluster: Cluster, wait: float) -> None:
    """The dependents of an owner of a new kind are deleted with it, however soon after the definition."""
    # Between two periodic comparisons of the catalog.
    cluster.settle(0.3)
    define(cluster)
    cluster.settle(0.05)
    dependent(cluster, "d", thing(cluster, "t"))
    if wait:
        cluster.settle(wait)
    cluster.delete(THINGS, "t")
    cluster.settle(2)
    assert cluster.get(CONFIG_MAPS, "d") is None


def test_dependents_stay_while_the_owner_of_a_new_kind_exists(cluster: Cluster) -> None:
    """A dependent stays if its owner exists, even if the dependent is older than the definition of the owner's kind."""
    dependent(cluster, "early", "1")
    # Long enough for the backoff to reach its maximum.
    cluster.settle(3000)
    assert cluster.get(CONFIG_MAPS, "early") is not None
    define(cluster)
    cluster.settle(0.05)
    dependent(cluster, "d", thing(cluster, "t"))
    cluster.settle(3)
    assert cluster.get(CONFIG_MAPS, "d") is not None
    # The owner reference has the name of another object.
    assert cluster.get(CONFIG_MAPS, "early") is None


def conditions(cluster: Cluster) -> dict[str, tuple[str, str]]:
    namespace = cluster.get(NAMESPACES, "a", "")
    assert namespace is not None
    result: dict[str, Any] = {c["type"]: (c["status"], c["reason"]) for c in namespace["status"]["conditions"]}
    return result


def test_a_namespace_waits_for_discovery(cluster: Cluster) -> None:
    """While an aggregated server is unavailable, a terminating namespace stays, and its conditions give the reason."""
    service = {"namespace": "default", "name": "absent"}
    spec = {
        "group": "x.example.com",
        "version": "v1",
        "groupPriorityMinimum": 10,
        "versionPriority": 10,
        "service": service,
    }
    body = {"metadata": {"name": "v1.x.example.com"}, "spec": {**spec, "insecureSkipTLSVerify": True}}
    cluster.create(API_SERVICES, body, "")
    cluster.settle(2)
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "m"}})
    cluster.delete(NAMESPACES, "a", "")
    cluster.settle(2)
    assert conditions(cluster)["NamespaceDeletionDiscoveryFailure"] == ("True", "DiscoveryFailed")
    assert cluster.names(CONFIG_MAPS) == []
    cluster.delete(API_SERVICES, "v1.x.example.com", "")
    cluster.settle(30)
    assert cluster.get(NAMESPACES, "a", "") is None
