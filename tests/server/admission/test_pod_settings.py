"""What plugins set in new pods and updates of pods, and what they refuse to: accounts, priorities, runtime classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import UPDATE
from orchd.server.admission.plugins.serviceaccount import ServiceAccount
from tests.server.admission.conftest import World

ACCOUNTS = ResourceRef("", "v1", "serviceaccounts")
MIRROR = {ORCH("{long}.io/config.mirror"): "hash"}
TOKEN_PATH = ORCH("/var/run/secrets/{long}.io/serviceaccount")
SCHEDULING, NODE = "scheduling.{abbr}.io", "node.{abbr}.io"
NOT_READY, UNREACHABLE = ORCH("node.{long}.io/not-ready"), ORCH("node.{long}.io/unreachable")


def test_token_volume_of_a_pod(world: type[World], pod: Callable[..., Object]) -> None:
    """The volume has a token for about an hour, the CA certificates and the namespace, after the pod's own volumes."""
    own = {"name": "v", "emptyDir": {}}
    volumes = world(only=["ServiceAccount"]).run("pods", pod(volumes=[own]))["spec"]["volumes"]
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": ORCH("{short}-root-ca.crt"), "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]  # fmt: skip
    name = ORCH("{short}-api-access-xxxxx")
    assert volumes == [own, {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}]


def test_token_volume_that_a_pod_has_is_mounted(world: type[World], pod: Callable[..., Object]) -> None:
    """A volume of the generated sort is mounted instead of another one, after the mounts of each container."""
    volume = {"name": ORCH("{short}-api-access-abcde"), "projected": {"sources": []}}
    other = {"name": "v", "mountPath": "/v"}
    containers = [{"name": "c", "image": "i", "volumeMounts": [other]}]
    spec = world(only=["ServiceAccount"]).run("pods", pod(volumes=[volume], containers=containers))["spec"]
    assert spec["volumes"] == [volume]
    assert spec["containers"][0]["volumeMounts"] == [
        other,
        {"name": volume["name"], "readOnly": True, "mountPath": TOKEN_PATH},
    ]


def test_account_of_the_old_field_and_pull_secrets_of_the_pod(world: type[World], pod: Callable[..., Object]) -> None:
    """The account may be named by the deprecated field; pull secrets of the pod remain instead of the account's."""
    w = world(only=["ServiceAccount"])
    metadata = {"name": "q", "namespace": "ns"}
    w.put("serviceaccounts", {"metadata": metadata, "imagePullSecrets": [{"name": "a"}, {"name": "b"}]})
    spec = w.run("pods", pod(serviceAccount="q"))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("q", "q")
    assert spec["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    own = [{"name": "c"}]
    assert w.run("pods", pod(serviceAccountName="q", imagePullSecrets=own))["spec"]["imagePullSecrets"] == own


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, ""),
        ({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "projected": {"sources": [{"downwardAPI": {}}]}}]}, ""),
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "a mirror pod may not reference secrets"),
        ({"imagePullSecrets": [{"name": "s"}]}, "a mirror pod may not reference secrets"),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {}}, {"serviceAccountToken": {}}]}}]},
         "a mirror pod may not use ServiceAccountToken volume projections"),
    ],
)  # fmt: skip
def test_mirror_pods_have_no_account(
    world: type[World], pod: Callable[..., Object], spec: Object, problem: str
) -> None:
    """A mirror pod gets no account and no token, and may not use any, nor secrets."""
    w = world(only=["ServiceAccount"])
    new = {**pod(**spec), "metadata": {"name": "p", "annotations": MIRROR}}
    if problem:
        assert w.refusal("pods", new).message == f'pods "p" is forbidden: {problem}'
    else:
        assert w.run("pods", new) == new


def test_update_of_a_pod_needs_no_account(world: type[World], pod: Callable[..., Object]) -> None:
    """An update neither sets an account nor looks for it."""
    w = world(only=["ServiceAccount"])
    assert w.run("pods", pod(), pod(), operation=UPDATE) == pod()
    assert w.client.calls == []


@pytest.mark.parametrize(("name", "attempts"), [("default", 10), ("other", 1)])
def test_default_account_of_a_new_namespace_is_awaited(
    world: type[World], pod: Callable[..., Object], name: str, attempts: int
) -> None:
    """A controller creates the default account after its namespace, so it is looked for ten times."""
    w, clock = world(), Clock()
    w.namespace("new")
    w.informers.informer(ACCOUNTS).remove("new", "default")
    plugin = ServiceAccount(replace(w.context, runtime=replace(w.context.runtime, reactor=clock)))
    outcomes: list[Any] = []
    review = w.review("pods", pod(serviceAccountName=name), namespace="new")
    Deferred.fromCoroutine(plugin.admit(review)).addBoth(outcomes.append)
    clock.pump([0.15] * 8)
    assert bool(outcomes) is (attempts == 1)
    clock.advance(0.15)
    assert w.client.calls == [("get", "serviceaccounts", "new", name)] * attempts
    assert outcomes[0].value.message == (
        f'pods "p" is forbidden: error looking up service account new/{name}: serviceaccount "{name}" not found'
    )


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"priorityClassName": "high", "priority": 10, "preemptionPolicy": "Never"}, ""),
        ({"priority": 0}, ""),
        ({"priorityClassName": "high", "priority": 0}, "the integer value of priority (0) must not be provided in pod spec; "
         "priority admission controller computed 10 from the given PriorityClass name"),
        ({"priority": 1}, "the integer value of priority (1) must not be provided in pod spec; "
         "priority admission controller computed 0 from the given PriorityClass name"),
        ({"preemptionPolicy": "Never"}, "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
         "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"),
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
    ],
)  # fmt: skip
def test_priority_of_a_pod_is_that_of_its_class(
    world: type[World], pod: Callable[..., Object], spec: Object, problem: str
) -> None:
    """A pod may repeat the priority and policy of its class, and have no others."""
    w = world(only=["Priority"])
    w.put("priorityclasses", {"metadata": {"name": "high"}, "value": 10, "preemptionPolicy": "Never"}, SCHEDULING)
    if problem:
        assert w.refusal("pods", pod(**spec)).message == f'pods "p" is forbidden: {problem}'
    else:
        assert w.run("pods", pod(**spec))["spec"].items() >= spec.items()


def test_update_of_a_pod_keeps_priority_and_policy(world: type[World], pod: Callable[..., Object]) -> None:
    """An update without them has those of the pod; a pod without any gets none, and other values are not replaced."""
    w = world(only=["Priority"])
    both = {"priority": 0, "preemptionPolicy": "Never"}
    for old, new, kept in (
        (both, {}, both),
        (both, {"priority": 7}, {**both, "priority": 7}),
        ({}, {}, {}),
        ({"priority": 3}, {"preemptionPolicy": "Never"}, {"priority": 3, "preemptionPolicy": "Never"}),
    ):
        assert w.run("pods", pod(**new), pod(**old), operation=UPDATE) == pod(**kept)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, ""),
        ({"runtimeClassName": "plain"}, ""),
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        ({"overhead": {"cpu": "1"}}, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        ({"runtimeClassName": "plain", "overhead": {"cpu": "1"}},
         "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        ({"runtimeClassName": "heavy", "overhead": {"cpu": "1000m"}}, ""),
        ({"runtimeClassName": "heavy", "overhead": {"cpu": "2"}},
         "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"runtimeClassName": "heavy", "overhead": {"cpu": "1", "memory": "1"}},
         "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"runtimeClassName": "heavy", "nodeSelector": {"a": "c"}},
         "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c"),
    ],
)  # fmt: skip
def test_overhead_of_a_pod_is_that_of_its_runtime_class(
    world: type[World], pod: Callable[..., Object], spec: Object, problem: str
) -> None:
    """A pod may repeat the overhead of its class; other overhead, selectors that conflict and missing classes are
    refused."""
    w = world(only=["RuntimeClass"])
    heavy = {"overhead": {"podFixed": {"cpu": "1"}}, "scheduling": {"nodeSelector": {"a": "b"}}}
    w.put("runtimeclasses", {"metadata": {"name": "heavy"}, **heavy}, NODE)
    w.put("runtimeclasses", {"metadata": {"name": "plain"}, "handler": "h"}, NODE)
    if problem:
        assert w.refusal("pods", pod(**spec)).message == f'pods "p" is forbidden: {problem}'
    else:
        w.run("pods", pod(**spec))


def test_scheduling_of_a_runtime_class_is_added(world: type[World], pod: Callable[..., Object]) -> None:
    """Node selector and tolerations of the class are added to the pod's own; a class with one of them adds no other."""
    w = world(only=["RuntimeClass"])
    first, second = ({"key": key, "operator": "Exists"} for key in ("a", "b"))
    for name, scheduling in (("selecting", {"nodeSelector": {"a": "b"}}), ("tolerating", {"tolerations": [second]})):
        w.put("runtimeclasses", {"metadata": {"name": name}, "scheduling": scheduling}, NODE)
    own = pod(runtimeClassName="selecting", nodeSelector={"a": "b", "x": "y"})
    assert w.run("pods", own) == own
    selected = w.run("pods", pod(runtimeClassName="selecting", nodeSelector={"x": "y"}))["spec"]
    assert selected["nodeSelector"] == {"x": "y", "a": "b"} and "tolerations" not in selected
    tolerated = w.run("pods", pod(runtimeClassName="tolerating", tolerations=[first]))["spec"]
    assert tolerated["tolerations"] == [first, second] and "nodeSelector" not in tolerated


@pytest.mark.parametrize(
    ("plugin", "spec"), [("RuntimeClass", {"runtimeClassName": "c"}), ("Priority", {"priorityClassName": "c"})]
)
def test_classes_that_cannot_be_read(
    world: type[World], pod: Callable[..., Object], monkeypatch: pytest.MonkeyPatch, plugin: str, spec: Object
) -> None:
    """An error of the store is not a missing class."""
    w = world(only=[plugin])

    async def broken(*args: Any, **more: Any) -> Object:
        raise errors.internal("no store")

    monkeypatch.setattr(w.client, "get", broken)
    refusal: ApiError = w.refusal("pods", pod(**spec))
    assert refusal.code == 500 and "no store" in refusal.message


def _toleration(key: str, **more: Any) -> Object:
    return {**({"key": key} if key else {}), "operator": "Exists", **more}


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([_toleration(NOT_READY, effect="NoExecute")], [UNREACHABLE]),
        ([_toleration(NOT_READY)], [UNREACHABLE]),
        ([_toleration(UNREACHABLE, effect="NoSchedule")], [NOT_READY, UNREACHABLE]),
        ([_toleration("", effect="NoExecute")], []),
        ([_toleration("", effect="NoSchedule")], [NOT_READY, UNREACHABLE]),
        ([_toleration("other", effect="NoExecute")], [NOT_READY, UNREACHABLE]),
    ],
)
def test_tolerations_of_failed_nodes_that_pods_lack(
    world: type[World], pod: Callable[..., Object], own: list[Object], added: list[str]
) -> None:
    """A pod tolerates failed nodes for five minutes, unless a toleration of its own includes eviction from them."""
    spec = pod(tolerations=own) if own else pod()
    tolerations = world(only=["DefaultTolerationSeconds"]).run("pods", spec)["spec"].get("tolerations", [])
    assert tolerations == own + [_toleration(key, effect="NoExecute", tolerationSeconds=300) for key in added]
