"""What objects count as in resource quotas, and the scopes that they are in."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects.quota.scopes import in_scopes, matching_scopes, scopes_of
from orchd.kinds.objects.quota.usage import concerned_names, unspecified, usage_of

Object = dict[str, Any]
CATALOG = builtin_catalog(KUBERNETES)


def resource(plural: str, group: str = "") -> Resource:
    resource = CATALOG.resource(group, "v1", plural)
    assert resource is not None
    return resource


def usage(plural: str, obj: Object, group: str = "") -> dict[str, str]:
    return {name: str(amount) for name, amount in usage_of(resource(plural, group), obj, KUBERNETES).items()}


def amounts(requests: Object | None = None, limits: Object | None = None, name: str = "c") -> Object:
    return {"name": name, "resources": {"requests": requests or {}, "limits": limits or {}}}


@pytest.mark.parametrize(
    "requests, limits, expected",
    [
        ({}, {}, {}),
        (
            {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Mi"},
            {"cpu": "2"},
            {
                "cpu": "1",
                "requests.cpu": "1",
                "memory": "1Gi",
                "requests.memory": "1Gi",
                "ephemeral-storage": "1Mi",
                "requests.ephemeral-storage": "1Mi",
                "limits.cpu": "2",
            },
        ),
        ({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"}),
        # Extended resources have requests alone; those of the product's domains are none.
        ({"example.com/gpu": "2"}, {"example.com/gpu": "2"}, {"requests.example.com/gpu": "2"}),
        ({"kubernetes.io/x": "2", "a.kubernetes.io/x": "2", "requests.a/b": "1"}, {}, {}),
    ],
)
def test_pods(requests: Object, limits: Object, expected: dict[str, str]) -> None:
    """A pod counts with the requests and limits of its containers."""
    pod = {"spec": {"containers": [amounts(requests, limits)]}}
    assert usage("pods", pod) == {"count/pods": "1", "pods": "1", **expected}


@pytest.mark.parametrize(
    "phase, counted", [("Pending", True), ("Running", True), ("Succeeded", False), ("Failed", False)]
)
def test_ended_pods(phase: str, counted: bool) -> None:
    """A pod that has ended counts as an object alone."""
    pod = {"spec": {"containers": [amounts({"cpu": "1"})]}, "status": {"phase": phase}}
    expected = {"pods": "1", "cpu": "1", "requests.cpu": "1"} if counted else {}
    assert usage("pods", pod) == {"count/pods": "1", **expected}


@pytest.mark.parametrize(
    "spec, node_ports, balancers",
    [
        ({"type": "ClusterIP", "ports": [{}, {}]}, "0", "0"),
        ({"type": "NodePort", "ports": [{}, {}]}, "2", "0"),
        ({"type": "NodePort"}, "0", "0"),
        ({"type": "LoadBalancer", "ports": [{}, {"nodePort": 1}]}, "2", "1"),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{}, {"nodePort": 1}]}, *("1", "1")),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True, "ports": [{}]}, "1", "1"),
    ],
)
def test_services(spec: Object, node_ports: str, balancers: str) -> None:
    """A service counts with the node ports that it gets, and with its load balancer."""
    expected = {"services": "1", "services.nodeports": node_ports, "services.loadbalancers": balancers}
    assert usage("services", {"spec": spec}) == {"count/services": "1", **expected}


@pytest.mark.parametrize(
    "annotations, spec, expected",
    [
        ({}, {}, {}),
        ({}, {"resources": {"requests": {"storage": "1500m"}}}, {"requests.storage": "2"}),
        (
            {},
            {"storageClassName": "a", "resources": {"requests": {"storage": "1Gi"}}},
            {
                "requests.storage": "1Gi",
                "a.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
                "a.storageclass.storage.k8s.io/requests.storage": "1Gi",
            },
        ),
        (
            {"volume.beta.kubernetes.io/storage-class": "b"},
            {"storageClassName": "a"},
            {"b.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
        ),
        ({"volume.beta.kubernetes.io/storage-class": ""}, {"storageClassName": "a"}, {}),
    ],
)
def test_claims(annotations: Object, spec: Object, expected: dict[str, str]) -> None:
    """A claim counts in total and for its class, with whole bytes."""
    claim = {"metadata": {"annotations": annotations}, "spec": spec}
    base = {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1"}
    assert usage("persistentvolumeclaims", claim) == {**base, **expected}


def test_other_objects() -> None:
    """Objects of other kinds count by kind and group; some kinds have a name of their own besides."""
    assert usage("deployments", {}, "apps") == {"count/deployments.apps": "1"}
    assert usage("secrets", {}) == {"count/secrets": "1", "secrets": "1"}


NAMES = (
    *("count/pods", "count/secrets", "count/x/y", "pods", "secrets", "cpu", "requests.cpu", "limits.memory"),
    *("requests.hugepages-2Mi", "requests.example.com/gpu", "requests.kubernetes.io/x", "requests.a.kubernetes.io/x"),
    *("services", "services.nodeports", "services.loadbalancers", "persistentvolumeclaims", "requests.storage"),
    *("a.storageclass.storage.k8s.io/requests.storage", "b.storageclass.storage.k8s.io/persistentvolumeclaims"),
)


@pytest.mark.parametrize(
    "plural, expected",
    [
        (
            "pods",
            {
                *("count/pods", "pods", "cpu", "requests.cpu", "limits.memory", "requests.hugepages-2Mi"),
                "requests.example.com/gpu",
            },
        ),
        ("secrets", {"count/secrets", "secrets"}),
        ("services", {"services", "services.nodeports", "services.loadbalancers"}),
        (
            "persistentvolumeclaims",
            {
                *("persistentvolumeclaims", "requests.storage", "a.storageclass.storage.k8s.io/requests.storage"),
                "b.storageclass.storage.k8s.io/persistentvolumeclaims",
            },
        ),
    ],
)
def test_names_that_concern_a_kind(plural: str, expected: set[str]) -> None:
    """Objects of a kind change the amounts of some names of a quota alone."""
    assert concerned_names(resource(plural), NAMES, KUBERNETES) == expected


def test_unspecified_amounts() -> None:
    """Every container has to specify what a quota limits, unless the pod does for all of them."""
    spec: Object = {
        "initContainers": [amounts({"cpu": "1"}, name="b")],
        "containers": [amounts({"cpu": "1"}, {"memory": "1"}, name="c"), amounts(name="a")],
    }
    names = ("cpu", "limits.memory", "pods", "requests.ephemeral-storage")
    assert unspecified({"spec": spec}, names, KUBERNETES) == {"cpu": ["a"], "limits.memory": ["a", "b"]}
    assert unspecified({"spec": spec}, ("pods",), KUBERNETES) == {}
    for member in ("requests", "limits"):
        assert unspecified({"spec": {**spec, "resources": {member: {"cpu": "1"}}}}, names, KUBERNETES) == {}
    assert unspecified({"spec": {**spec, "resources": {"requests": {"a/b": "1"}}}}, names, KUBERNETES) != {}


def affinity(member: str, **term: Any) -> Object:
    required = [{"topologyKey": "x"}, term]
    return {"affinity": {member: {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


PREFERRED: Object = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {"namespaceSelector": {}}}]
    }
}
BURST: Object = {"containers": [amounts({"cpu": "1"})]}


@pytest.mark.parametrize(
    "scope, spec, inside",
    [
        ("Terminating", {"activeDeadlineSeconds": 0}, True),
        ("Terminating", {}, False),
        ("NotTerminating", {"activeDeadlineSeconds": 1}, False),
        ("NotTerminating", {}, True),
        ("BestEffort", {"containers": [amounts()]}, True),
        ("BestEffort", BURST, False),
        ("NotBestEffort", {"containers": [amounts()]}, False),
        ("NotBestEffort", BURST, True),
        ("CrossNamespacePodAffinity", {}, False),
        ("CrossNamespacePodAffinity", affinity("podAffinity"), False),
        ("CrossNamespacePodAffinity", affinity("podAffinity", namespaces=["a"]), True),
        ("CrossNamespacePodAffinity", affinity("podAntiAffinity", namespaceSelector={}), True),
        ("CrossNamespacePodAffinity", affinity("nodeAffinity", namespaces=["a"]), False),
        ("CrossNamespacePodAffinity", {"affinity": PREFERRED}, True),
        ("PriorityClass", {"priorityClassName": "a"}, True),
        ("PriorityClass", {}, False),
        ("Unknown", {"priorityClassName": "a"}, False),
    ],
)
def test_scopes(scope: str, spec: Object, inside: bool) -> None:
    """A pod is in a scope by its spec."""
    assert in_scopes(resource("pods"), {"spec": spec}, {"spec": {"scopes": [scope]}}) is inside


@pytest.mark.parametrize(
    "operator, values, name, inside",
    [
        ("In", ["a", "b"], "a", True),
        ("In", ["a", "b"], "c", False),
        ("NotIn", ["a", "b"], "a", False),
        ("NotIn", ["a", "b"], "c", True),
        ("NotIn", ["a"], "", True),
        ("Exists", [], "a", True),
        ("Exists", [], "", False),
        ("DoesNotExist", [], "", True),
        ("DoesNotExist", [], "a", False),
    ],
)
def test_priority_classes(operator: str, values: list[str], name: str, inside: bool) -> None:
    """A pod is in the scope of its priority class by the operator and values of the selector."""
    requirement = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    quota = {"spec": {"scopeSelector": {"matchExpressions": [requirement]}}}
    assert in_scopes(resource("pods"), {"spec": {"priorityClassName": name}}, quota) is inside


def test_all_scopes_hold() -> None:
    """An object has to be in each scope, those of the selector included; objects of other kinds are in none."""
    requirement = {"scopeName": "PriorityClass", "operator": "Exists"}
    quota = {"spec": {"scopes": ["BestEffort"], "scopeSelector": {"matchExpressions": [requirement]}}}
    scopes = scopes_of(quota)
    assert [scope.name for scope in scopes] == ["BestEffort", "PriorityClass"]
    pod = {"spec": {"containers": [amounts()]}}
    assert matching_scopes(resource("pods"), pod, scopes) == scopes[:1]
    assert not in_scopes(resource("pods"), pod, quota)
    assert in_scopes(resource("pods"), {"spec": {**pod["spec"], "priorityClassName": "a"}}, quota)
    assert matching_scopes(resource("services"), pod, scopes) == []
    assert in_scopes(resource("services"), {}, {"spec": {}})
