"""The built-in plugins: what each changes and rejects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.kinds.users import User
from orchd.server.admission.interfaces import CONNECT, DELETE, UPDATE
from orchd.server.admission.plugins.namespacelifecycle import NamespaceLifecycle
from tests.server.admission.conftest import World

NODE = User(name="system:node:n1", groups=("system:nodes",))
QUOTAS = ResourceRef("", "v1", "resourcequotas")


def configmap(name: str = "a") -> Object:
    return {"metadata": {"name": name}}


# --- namespaces


def test_create_needs_an_active_namespace(world: type[World]) -> None:
    """A missing namespace is a 404 of its own; a terminating one rejects creates with a cause, and allows updates."""
    w = world()
    error = w.refusal("configmaps", configmap(), namespace="gone")
    assert (error.code, error.message) == (404, 'namespaces "gone" not found')
    w.namespace("going", phase="Terminating")
    error = w.refusal("configmaps", configmap(), namespace="going")
    assert error.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    assert error.details is not None
    assert error.details["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace going is being terminated",
            "field": "metadata.namespace",
        }
    ]
    w.run("configmaps", configmap(), configmap(), operation=UPDATE, namespace="going")
    w.run("configmaps", None, configmap(), operation=DELETE, namespace="gone")


def test_system_namespaces_cannot_be_deleted(world: type[World]) -> None:
    """The default and the system namespaces cannot be deleted."""
    w = world()
    for name in ("default", ORCH("{short}-system"), ORCH("{short}-public")):
        error = w.refusal("namespaces", None, {"metadata": {"name": name}}, operation=DELETE)
        assert error.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    w.run("namespaces", None, {"metadata": {"name": "ns"}}, operation=DELETE)


def test_deleted_namespace_is_read_live(world: type[World]) -> None:
    """After a delete the namespace is read from the store, while the informer still shows it as active."""
    w = world(only=["NamespaceLifecycle"])
    w.run("namespaces", None, {"metadata": {"name": "ns"}}, operation=DELETE)
    w.client.calls.clear()
    w.run("configmaps", configmap())
    assert w.client.calls == [("get", "namespaces", "", "ns")]
    w.now += 31
    w.run("configmaps", configmap())
    assert len(w.client.calls) == 1


def test_namespace_auto_provision(world: type[World]) -> None:
    """NamespaceAutoProvision creates missing namespaces, except in a dry run."""
    w = world(enable=["NamespaceAutoProvision"])
    w.run("configmaps", configmap(), namespace="new")
    assert ("create", "namespaces", "", "new") in w.client.calls
    assert w.refusal("configmaps", configmap(), namespace="newer", dry_run=True).code == 404
    assert world(only=["NamespaceExists"]).refusal("configmaps", configmap(), namespace="x").code == 404


def test_waiting_for_informers_is_bounded(world: type[World]) -> None:
    """A request waits up to ten seconds for the informer's first list, then is rejected."""
    from dataclasses import replace

    w = world()
    clock = Clock()
    plugin = NamespaceLifecycle(replace(w.context, runtime=replace(w.context.runtime, reactor=clock)))
    informer = w.informers.informer(ResourceRef("", "v1", "namespaces"))
    informer.synced = False
    outcomes: list[Any] = []
    Deferred.fromCoroutine(plugin.admit(w.review("configmaps", configmap()))).addBoth(outcomes.append)
    assert not outcomes
    clock.advance(11)
    assert outcomes[0].value.message == 'configmaps "a" is forbidden: not yet ready to handle request'
    Deferred.fromCoroutine(plugin.admit(w.review("configmaps", configmap()))).addBoth(outcomes.append)
    informer.sync()
    assert outcomes[1] is None


# --- pods


def test_pods_get_a_service_account_and_token(world: type[World], pod: Callable[..., Object]) -> None:
    """A pod gets the default service account, its token in every container and its pull secrets; existing settings
    stay."""
    w = world(only=["ServiceAccount"])
    w.put(
        "serviceaccounts", {"metadata": {"name": "default", "namespace": "ns"}, "imagePullSecrets": [{"name": "pull"}]}
    )
    given = pod(initContainers=[{"name": "i", "image": "i"}])
    made = w.run("pods", given)["spec"]
    assert made["serviceAccountName"] == "default" and made["imagePullSecrets"] == [{"name": "pull"}]
    (volume,) = made["volumes"]
    assert volume["name"] == ORCH("{short}-api-access-xxxxx")
    assert [next(iter(s)) for s in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    mount = {"name": volume["name"], "readOnly": True, "mountPath": ORCH("/var/run/secrets/{long}.io/serviceaccount")}
    for key in ("containers", "initContainers"):
        assert made[key][0]["volumeMounts"] == [mount]
    assert "volumeMounts" not in given["spec"]["containers"][0]


def test_token_automount_settings(world: type[World], pod: Callable[..., Object]) -> None:
    """The pod's setting overrides the account's; an existing mount at the path is kept."""
    w = world(only=["ServiceAccount"])
    assert "volumes" not in w.run("pods", pod(automountServiceAccountToken=False))["spec"]
    w.put("serviceaccounts", {"metadata": {"name": "q", "namespace": "ns"}, "automountServiceAccountToken": False})
    assert "volumes" not in w.run("pods", pod(serviceAccountName="q"))["spec"]
    assert "volumes" in w.run("pods", pod(serviceAccountName="q", automountServiceAccountToken=True))["spec"]
    own = pod()
    path = ORCH("/var/run/secrets/{long}.io/serviceaccount")
    own["spec"]["containers"][0]["volumeMounts"] = [{"name": "x", "mountPath": path}]
    assert "volumes" not in w.run("pods", own)["spec"]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s2"}}]},
            'volume with secret.secretName="s2" is not allowed because service account strict does not reference '
            "that secret",
        ),
        (
            {"imagePullSecrets": [{"name": "other"}]},
            'imagePullSecrets[0].name="other" is not allowed because service account strict does not reference '
            "that imagePullSecret",
        ),
        (
            {"initContainers": [{"name": "i", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s2"}}}]}]},
            'init container i with envVar A referencing secret.secretName="s2" is not allowed because service account '
            "strict does not reference that secret",
        ),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s1"}}]}, None),
    ],
)
def test_mountable_secrets_can_be_limited(world: type[World], pod: Callable[..., Object], spec: Any, text: str) -> None:
    """With the annotation, pods may use only the account's own secrets."""
    w = world(only=["ServiceAccount"])
    meta = {"name": "strict", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): "true"}}
    w.put("serviceaccounts", {"metadata": meta, "secrets": [{"name": "s1"}], "automountServiceAccountToken": False})
    given = pod(serviceAccountName="strict", **spec)
    if text is None:
        w.run("pods", given)
    else:
        assert w.refusal("pods", given).message == f'pods "p" is forbidden: {text}'


@pytest.mark.parametrize("value", ["false", "yes", ""])
def test_secrets_are_limited_by_a_true_annotation_only(
    world: type[World], pod: Callable[..., Object], value: str
) -> None:
    """With another value of the annotation pods may use any secret."""
    w = world(only=["ServiceAccount"])
    meta = {"name": "lax", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): value}}
    w.put("serviceaccounts", {"metadata": meta, "automountServiceAccountToken": False})
    w.run("pods", pod(serviceAccountName="lax", volumes=[{"name": "v", "secret": {"secretName": "s2"}}]))


def test_pods_of_accounts_that_cannot_be_read(
    world: type[World], pod: Callable[..., Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod is refused if its account does not exist, after one look, and if the account cannot be read."""
    w = world(only=["ServiceAccount"])
    head = 'pods "p" is forbidden: error looking up service account ns/q: '
    assert w.refusal("pods", pod(serviceAccountName="q")).message == head + 'serviceaccount "q" not found'
    assert w.client.calls == [("get", "serviceaccounts", "ns", "q")]
    # A name that is no segment of a path is not looked up.
    refused = w.refusal("pods", pod(serviceAccountName="a/%")).message
    assert refused.endswith("""ns/a/%: invalid resource name "a/%": [may not contain '/' may not contain '%']""")
    assert len(w.client.calls) == 1

    async def broken(*args: Any, **more: Any) -> Object:
        raise errors.internal("no store")

    monkeypatch.setattr(w.client, "get", broken)
    message = w.refusal("pods", pod(serviceAccountName="q")).message
    assert message.startswith(head) and "no store" in message


def test_whole_secrets_are_limited_in_later_releases(world: type[World], pod: Callable[..., Object]) -> None:
    """From 1.30 on secrets whose keys all become variables are limited, too."""
    meta = {"name": "strict", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): "true"}}
    account = {"metadata": meta, "secrets": [{"name": "s1"}], "automountServiceAccountToken": False}
    for release in (SPECIFICATION, NEWEST):
        w = world(only=["ServiceAccount"], release=release)
        w.put("serviceaccounts", account)
        for secret, allowed in (("s1", True), ("s2", release is SPECIFICATION)):
            one = {"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": secret}}]}
            given = pod(
                serviceAccountName="strict", initContainers=[{"name": "plain"}, {**one, "name": "d"}], containers=[one]
            )
            if allowed:
                w.run("pods", given)
            else:
                assert w.refusal("pods", given).message.startswith(
                    'pods "p" is forbidden: init container d with envFrom referencing secret.secretName="s2" is not allowed'
                )


def test_secrets_of_ephemeral_containers_are_limited_in_later_releases(
    world: type[World], pod: Callable[..., Object]
) -> None:
    meta = {"name": "strict", "namespace": "ns", "annotations": {ORCH("{long}.io/enforce-mountable-secrets"): "true"}}
    container = {"name": "e", "image": "i", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s2"}}}]}
    before = pod(serviceAccountName="strict")
    after = pod(serviceAccountName="strict", ephemeralContainers=[container])
    for release in (SPECIFICATION, NEWEST):
        w = world(only=["ServiceAccount"], release=release)
        w.put("serviceaccounts", {"metadata": meta, "secrets": [{"name": "s1"}]})
        more: dict[str, Any] = {"old": before, "operation": "UPDATE", "sub": "ephemeralcontainers"}
        if release is SPECIFICATION:
            assert w.run("pods", after, **more) == after
        else:
            error = w.refusal("pods", after, **more)
            assert error.code == 500
            assert error.message.startswith('ephemeral container e with envVar A referencing secret.secretName="s2"')
        assert w.run("pods", before, old=before, operation="UPDATE") == before


def priority_class(name: str, value: Any, **more: Any) -> Object:
    return {"metadata": {"name": name}, "value": value, **more}


def test_pod_priority_comes_from_its_class(world: type[World], pod: Callable[..., Object]) -> None:
    """The priority is that of the named class, of the default one, or zero; an update keeps it."""
    w = world(only=["Priority"])
    group = "scheduling.{abbr}.io"
    made = w.run("pods", pod())["spec"]
    assert (made["priority"], made["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    w.put("priorityclasses", priority_class("high", 10, preemptionPolicy="Never"), group)
    w.put("priorityclasses", priority_class("std", 5, globalDefault=True), group)
    made = w.run("pods", pod(priorityClassName="high"))["spec"]
    assert (made["priority"], made["preemptionPolicy"]) == (10, "Never")
    made = w.run("pods", pod())["spec"]
    assert (made["priority"], made["priorityClassName"]) == (5, "std")
    kept = w.run("pods", pod(), pod(priority=7), operation=UPDATE)
    assert kept["spec"]["priority"] == 7
    error = w.refusal("priorityclasses", priority_class("x", 1, globalDefault=True), group=group)
    assert error.message.endswith("PriorityClass std is already marked as default. Only one default can exist")
    w.run("priorityclasses", priority_class("std", 5, globalDefault=True), operation=UPDATE, group=group)
    error = w.refusal("priorityclasses", priority_class("high", 10, globalDefault=True), operation=UPDATE, group=group)
    assert error.message.endswith("PriorityClass std is already marked as default. Only one default can exist")
    w.run("priorityclasses", priority_class("low", 1), group=group)
    error = w.refusal("priorityclasses", priority_class("std", 5, globalDefault=True), group=group)
    assert error.message.endswith("PriorityClass std is already marked as default. Only one default can exist")


def test_pod_priority_without_a_value(world: type[World], pod: Callable[..., Object]) -> None:
    """A class without a value has the priority 0; it is the lowest of several default classes that a race created."""
    w = world(only=["Priority"])
    group = "scheduling.{abbr}.io"
    for name, more in {"none": {}, "low": {"value": -1}, "one": {"value": 1}}.items():
        metadata = {"metadata": {"name": name}, "globalDefault": True}
        w.put("priorityclasses", {**metadata, **more}, group)
    assert w.run("pods", pod(priorityClassName="none"))["spec"]["priority"] == 0
    assert w.run("pods", pod())["spec"]["priorityClassName"] == "low"


def test_default_not_ready_tolerations(world: type[World], pod: Callable[..., Object]) -> None:
    """Missing tolerations are added after the pod's own; an empty key or effect includes them."""
    w = world(only=["DefaultTolerationSeconds"])
    keys = [ORCH("node.{long}.io/not-ready"), ORCH("node.{long}.io/unreachable")]
    made = w.run("pods", pod())["spec"]["tolerations"]
    assert [(t["key"], t["tolerationSeconds"]) for t in made] == [(k, 300) for k in keys]
    assert w.run("pods", pod(tolerations=[{"operator": "Exists"}]))["spec"]["tolerations"] == [{"operator": "Exists"}]
    one = {"key": keys[0], "operator": "Exists", "effect": "NoExecute"}
    assert [t["key"] for t in w.run("pods", pod(tolerations=[one]))["spec"]["tolerations"]] == keys


def test_runtime_classes_set_overhead_and_scheduling(world: type[World], pod: Callable[..., Object]) -> None:
    """Overhead, node selector and tolerations come from the class; conflicts are rejected."""
    w = world(only=["RuntimeClass"])
    toleration = {"key": "k", "operator": "Exists"}
    w.put(
        "runtimeclasses",
        {
            "metadata": {"name": "rc"},
            "overhead": {"podFixed": {"cpu": "1"}},
            "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [toleration]},
        },
        "node.{abbr}.io",
    )
    made = w.run("pods", pod(runtimeClassName="rc", overhead={"cpu": "1000m"}))["spec"]
    assert (made["overhead"], made["nodeSelector"], made["tolerations"]) == ({"cpu": "1"}, {"a": "b"}, [toleration])
    assert "doesn't match" in w.refusal("pods", pod(runtimeClassName="rc", overhead={"cpu": "2"})).message
    assert "conflict: " in w.refusal("pods", pod(runtimeClassName="rc", nodeSelector={"a": "c"})).message


def test_limit_range_defaults(world: type[World], pod: Callable[..., Object]) -> None:
    """Missing requests and limits get defaults, which an annotation lists."""
    w = world(only=["LimitRanger"])
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1", "memory": "1Gi"}}]
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    made = w.run("pods", pod())
    assert made["spec"]["containers"][0].items() >= pod()["spec"]["containers"][0].items()
    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"},
        "limits": {"cpu": "2"},
    }
    assert made["metadata"]["annotations"] == {
        ORCH("{long}.io/limit-ranger"): "LimitRanger plugin set: cpu, memory request for container c; "
        "cpu limit for container c"
    }


def test_limit_range_counts_the_larger_of_containers_and_largest_init_container(
    world: type[World], pod: Callable[..., Object]
) -> None:
    """The limits of a pod apply to the sum of its containers, or to the largest init container if that is more."""
    w = world(only=["LimitRanger"])
    item = {"type": "Pod", "max": {"cpu": "4"}}
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": [item]}})

    def sized(name: str, cpu: str) -> Object:
        return {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}}

    def made(containers: str, inits: str) -> Object:
        return pod(
            containers=[sized(f"c{i}", cpu) for i, cpu in enumerate(containers.split())],
            initContainers=[sized(f"i{i}", cpu) for i, cpu in enumerate(inits.split())],
        )

    w.run("pods", made("2 2", "3 4 1"))
    for containers, inits, total in (("2 3", "1", 5), ("1", "5 2", 5), ("1", "2 6", 6), ("3 2", "", 5)):
        message = w.refusal("pods", made(containers, inits)).message
        assert f"maximum cpu usage per Pod is 4, but limit is {total}" in message


def test_limit_range_ignores_objects_that_are_being_deleted(world: type[World]) -> None:
    """An update of a claim that is being deleted, such as the removal of its finalizers, is not checked."""
    w = world(only=["LimitRanger"])
    item = {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": [item]}})
    claim: Object = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    leaving = {**claim, "metadata": {"name": "c", "deletionTimestamp": "2030-01-01T00:00:00Z"}}
    message = w.refusal("persistentvolumeclaims", claim, claim, operation=UPDATE).message
    assert "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi" in message
    assert w.run("persistentvolumeclaims", leaving, claim, operation=UPDATE) == leaving


@pytest.mark.parametrize(
    ("bound", "request_", "limit", "problem"),
    [
        ("min=2", "", "", "minimum cpu usage per Container is 2.  No request is specified"),
        ("min=2", "1", "3", "minimum cpu usage per Container is 2, but request is 1"),
        ("min=2", "2", "1", "minimum cpu usage per Container is 2, but limit is 1"),
        ("min=2", "2", "", ""),
        ("min=2", "2", "2", ""),
        ("max=2", "1", "", "maximum cpu usage per Container is 2.  No limit is specified"),
        ("max=2", "1", "3", "maximum cpu usage per Container is 2, but limit is 3"),
        ("max=2", "3", "2", "maximum cpu usage per Container is 2, but request is 3"),
        ("max=2", "2", "2", ""),
        ("max=2", "", "2", ""),
        ("maxLimitRequestRatio=2", "", "1", "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"),
        ("maxLimitRequestRatio=2", "1", "", "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"),
        ("maxLimitRequestRatio=2", "1", "0", "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"),
        ("maxLimitRequestRatio=2", "2", "5", "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000"),
        ("maxLimitRequestRatio=2", "2", "4", ""),
    ],
)  # fmt: skip
def test_limit_range_bounds_of_containers(
    world: type[World], pod: Callable[..., Object], bound: str, request_: str, limit: str, problem: str
) -> None:
    """Amounts at a bound are allowed, those beyond it and missing ones are not; an update of a pod is not checked."""
    w = world(only=["LimitRanger"])
    name, _, value = bound.partition("=")
    limits = [{"type": "Container", name: {"cpu": value}}]
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    requests, most = ({"cpu": each} if each else {} for each in (request_, limit))
    made = pod(containers=[{"name": "c", "image": "i", "resources": {"requests": requests, "limits": most}}])
    w.run("pods", made, made, operation=UPDATE)
    if problem:
        assert w.refusal("pods", made).message.endswith(f" is forbidden: {problem}")
    else:
        w.run("pods", made)


@pytest.mark.parametrize(
    ("bound", "request_", "problem"),
    [
        ("min=2Gi", "1Gi", "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"),
        ("min=2Gi", "2Gi", ""),
        ("max=2Gi", "", "maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified"),
        ("max=2Gi", "3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
        ("max=2Gi", "2Gi", ""),
    ],
)
def test_limit_range_bounds_of_claims(world: type[World], bound: str, request_: str, problem: str) -> None:
    """Requests of claims at a bound are allowed; items of other types do not apply to claims."""
    w = world(only=["LimitRanger"])
    name, _, value = bound.partition("=")
    limits = [
        {"type": "PersistentVolumeClaim", name: {"storage": value}},
        {"type": "Container", "max": {"storage": "1"}},
    ]
    w.put("limitranges", {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    requests = {"storage": request_} if request_ else {}
    claim: Object = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": requests}}}
    if problem:
        assert w.refusal("persistentvolumeclaims", claim).message.endswith(f" is forbidden: {problem}")
    else:
        assert w.run("persistentvolumeclaims", claim) == claim


# --- policies that are off by default


def test_always_pull_images_and_extended_resource_tolerations(world: type[World], pod: Callable[..., Object]) -> None:
    """Images are always pulled, and extended resources get tolerations."""
    w = world(only=["AlwaysPullImages", "ExtendedResourceToleration"])
    given = pod()
    given["spec"]["containers"][0].update(imagePullPolicy="Never", resources={"requests": {"acme.com/gpu": "1"}})
    made = w.run("pods", given)["spec"]
    assert made["containers"][0]["imagePullPolicy"] == "Always"
    assert made["tolerations"] == [{"key": "acme.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_namespace_node_selector(world: type[World], pod: Callable[..., Object]) -> None:
    """The annotation's selector, or the cluster's default, is merged in; only labels that the configuration allows are
    accepted."""
    config = {"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "region=west", "wl": "env=prod"}}
    w = world(only=["PodNodeSelector"], configurations={"PodNodeSelector": config})
    assert w.run("pods", pod())["spec"]["nodeSelector"] == {"region": "west"}
    key = ORCH("scheduler.alpha.{long}.io/node-selector")
    w.namespace("own", annotations={key: "env=test,tier=a"})
    w.client.calls.clear()
    made = w.run("pods", pod(nodeSelector={"x": "y"}), namespace="own")["spec"]["nodeSelector"]
    assert w.client.calls == []
    assert made == {"env": "test", "tier": "a", "x": "y"}
    assert "conflicts with" in w.refusal("pods", pod(nodeSelector={"env": "x"}), namespace="own").message
    w.namespace("bad", annotations={key: "env in (a,b)"})
    error = w.refusal("pods", pod(), namespace="bad")
    assert (error.code, error.message) == (500, "invalid selector: [env in (a]")
    w.namespace("wl", annotations={key: ""})
    w.run("pods", pod(nodeSelector={"env": "prod"}), namespace="wl")
    assert "whitelist" in w.refusal("pods", pod(nodeSelector={"a": "b"}), namespace="wl").message


def test_namespace_tolerations(world: type[World], pod: Callable[..., Object]) -> None:
    """Default tolerations are merged in; with a whitelist, others are rejected."""
    w = world(only=["PodTolerationRestriction"])
    x = {"key": "dedicated", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
    w.namespace(
        "tol",
        annotations={
            ORCH("scheduler.alpha.{long}.io/defaultTolerations"): json.dumps([x]),
            ORCH("scheduler.alpha.{long}.io/tolerationsWhitelist"): json.dumps([x]),
        },
    )
    assert w.run("pods", pod(), namespace="tol")["spec"]["tolerations"] == [x]
    error = w.refusal("pods", pod(tolerations=[{**x, "value": "y"}]), namespace="tol")
    assert (error.code, error.reason) == (500, "")
    own = {"key": "own", "operator": "Exists"}
    w.namespace("open", annotations={ORCH("scheduler.alpha.{long}.io/defaultTolerations"): json.dumps([x])})
    assert w.run("pods", pod(tolerations=[own]), namespace="open")["spec"]["tolerations"] == [own, x]
    w.namespace("broken", annotations={ORCH("scheduler.alpha.{long}.io/defaultTolerations"): "not json"})
    error = w.refusal("pods", pod(), namespace="broken")
    assert error.message == "invalid character 'o' in literal null (expecting 'u')"
    busy = pod()
    busy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert w.run("pods", busy)["spec"]["tolerations"][0]["key"] == ORCH("node.{long}.io/memory-pressure")


def test_event_rate_limit(world: type[World]) -> None:
    """Each namespace has a token bucket that refills with time."""
    limits = {"limits": [{"type": "Namespace", "qps": 1, "burst": 2}]}
    w = world(only=["EventRateLimit"], configurations={"EventRateLimit": limits})
    w.run("events", configmap())
    w.run("events", configmap())
    error = w.refusal("events", configmap())
    assert (error.code, error.message) == (429, "Too many requests: limit reached on type Namespace for key ns")
    w.now += 1
    w.run("events", configmap())


def test_event_rate_limit_of_each_namespace(world: type[World]) -> None:
    """Namespaces have buckets of their own, and `cacheSize` is the number of buckets that are kept."""
    limits = {"limits": [{"type": "Namespace", "qps": 1, "burst": 1, "cacheSize": 2}]}
    w = world(only=["EventRateLimit"], configurations={"EventRateLimit": limits})
    for name in ("ns", "b"):
        w.namespace(name)
        w.run("events", configmap(), namespace=name)
    assert w.refusal("events", configmap()).code == 429
    w.namespace("c")
    w.run("events", configmap(), namespace="c")
    # The least recently used bucket was dropped.
    w.run("events", configmap(), namespace="b")


def test_owner_changes_need_permission(world: type[World]) -> None:
    """Changing owners requires permission to delete; blockOwnerDeletion requires permission for the owner's
    finalizers."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    owned = {"metadata": {"name": "a", "ownerReferences": [owner]}}
    w = world(only=["OwnerReferencesPermissionEnforcement"], allowed=lambda action: False)
    w.run("configmaps", owned)
    error = w.refusal("configmaps", owned, configmap(), operation=UPDATE)
    assert error.message.endswith("cannot set an ownerRef on a resource you can't delete: , <nil>")
    w.run("configmaps", owned, owned, operation=UPDATE)
    w.run("pods", owned, {"metadata": {"name": "a"}}, operation=UPDATE, sub="status")
    blocking = {"metadata": {"name": "a", "ownerReferences": [{**owner, "blockOwnerDeletion": True}]}}
    assert "you can't set finalizers on: , <nil>" in w.refusal("configmaps", blocking).message


def node(name: str = "n1", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name, **({"labels": labels} if labels else {})}, "spec": spec}


@pytest.mark.parametrize(
    ("new", "old", "text"),
    [
        (node(taints=[{"key": "a"}]), node(), 'node "n1" is not allowed to modify taints'),
        (node(labels={"a/b": "c"}), node(), None),
        (node(labels={ORCH("{long}.io/hostname"): "c"}), node(), None),
        (node(labels={ORCH("{long}.io/foo"): "c"}), node(), ORCH("is not allowed to modify labels: {long}.io/foo")),
        (node("n2"), node("n2"), 'node "n1" is not allowed to modify node "n2"'),
    ],
)
def test_node_restriction_on_nodes(world: type[World], new: Any, old: Any, text: str) -> None:
    """A node cannot change its taints or the product's labels."""
    w = world(only=["NodeRestriction"])
    if text is None:
        w.run("nodes", new, old, operation=UPDATE, user=NODE)
    else:
        assert w.refusal("nodes", new, old, operation=UPDATE, user=NODE).message.endswith(text)


def test_node_name_is_checked_before_labels(world: type[World]) -> None:
    """The name of another node is rejected before its labels; a new node may have only its own labels."""
    w = world(only=["NodeRestriction"])
    label = {ORCH("node-restriction.{long}.io/x"): "y"}
    assert w.refusal("nodes", node("n2", label), user=NODE).message.endswith('is not allowed to modify node "n2"')
    assert "is not allowed to set the following labels" in w.refusal("nodes", node("n1", label), user=NODE).message


def test_node_delete_of_a_missing_pod(world: type[World], pod: Callable[..., Object]) -> None:
    """Errors about deleting or evicting a missing pod name the kind in the singular."""
    w = world(only=["NodeRestriction"])
    eviction = {"metadata": {"name": "none"}}
    error = w.refusal("pods", eviction, user=NODE, sub="eviction")
    assert (error.code, error.details) == (404, {"name": "none", "kind": "pod"})


def test_nodes_cannot_change_pod_labels(world: type[World], pod: Callable[..., Object]) -> None:
    """A node that writes a pod's status cannot change labels."""
    w = world(only=["NodeRestriction"])
    old = {**pod("p"), "spec": {"nodeName": "n1"}}
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    error = w.refusal("pods", new, old, operation=UPDATE, user=NODE, sub="status")
    assert error.message.endswith('node "n1" cannot update labels through pod status')


def test_nodes_delete_only_their_own_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """A node cannot delete, evict or request tokens for pods of other nodes."""
    w = world(only=["NodeRestriction"])
    other = {**pod("q"), "metadata": {"name": "q", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "n2"}}
    w.put("pods", other)
    assert "can only delete pods" in w.refusal("pods", None, other, operation=DELETE, user=NODE).message
    assert "can only evict pods" in w.refusal("pods", {"metadata": {"name": "q"}}, sub="eviction", user=NODE).message
    request = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "u"}}}
    error = w.refusal("serviceaccounts", request, sub="token", user=NODE, name="default")
    assert "scheduled on a different node" in error.message


def test_certificate_approval_and_signing_need_permission(world: type[World]) -> None:
    """Approving and signing require the verb on the signer, by name or by domain."""
    group = "certificates.{abbr}.io"
    csr = {"metadata": {"name": "c"}, "spec": {"signerName": "example.com/s"}}
    w = world(allowed=lambda action: action.verb == "approve" and action.name == "example.com/*")
    w.run("certificatesigningrequests", csr, csr, group=group, operation=UPDATE, sub="approval")
    w.run("certificatesigningrequests", csr, csr, group=group, operation=UPDATE, sub="status")
    signed = {**csr, "status": {"certificate": "x"}}
    error = w.refusal("certificatesigningrequests", signed, csr, group=group, operation=UPDATE, sub="status")
    assert error.message.endswith('user not permitted to sign requests with signerName "example.com/s"')


# --- storage and quota


def test_storage_plugins_on_claims(world: type[World]) -> None:
    """A claim gets the finalizer and the default class, and may grow only if the class allows it."""
    w = world()
    group = "storage.{abbr}.io"
    mark = {ORCH("storageclass.{long}.io/is-default-class"): "true"}
    w.put("storageclasses", {"metadata": {"name": "std", "annotations": mark}}, group)
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    made = w.run("persistentvolumeclaims", claim)
    assert made["metadata"]["finalizers"] == [ORCH("{long}.io/pvc-protection")]
    assert made["spec"]["storageClassName"] == "std"
    bound = {**made, "status": {"phase": "Bound"}}
    grown = {**bound, "spec": {**made["spec"], "resources": {"requests": {"storage": "2Gi"}}}}
    assert "only dynamically provisioned" in w.refusal("persistentvolumeclaims", grown, bound, operation=UPDATE).message
    w.put("storageclasses", {"metadata": {"name": "std"}, "allowVolumeExpansion": True}, group)
    w.run("persistentvolumeclaims", grown, bound, operation=UPDATE)


def quota(name: str = "q", **hard: Any) -> Object:
    values = {k.replace("__", "/").replace("_", "."): v for k, v in hard.items()}
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"},
        "spec": {"hard": values},
        "status": {"hard": values, "used": dict.fromkeys(values, "0")},
    }


def used(w: World, name: str = "q") -> Any:
    held = w.informers.informer(QUOTAS).get("ns", name)
    assert held is not None
    return held["status"]["used"]


def test_quota_is_charged_before_the_write(world: type[World]) -> None:
    """Every create is added to the quota's status; one beyond the limit is rejected; a dry run charges nothing."""
    w = world(only=["ResourceQuota"])
    w.put("resourcequotas", quota(configmaps="2", count__configmaps="5"))
    w.run("configmaps", configmap(), dry_run=True)
    w.run("configmaps", configmap())
    w.run("configmaps", configmap("b"))
    assert used(w) == {"configmaps": "2", "count/configmaps": "2"}
    assert w.refusal("configmaps", configmap("c")).message == (
        'configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, '
        "limited: configmaps=2"
    )


def test_quota_charges_the_difference_on_update(world: type[World]) -> None:
    """A service that becomes a NodePort is charged for node ports only."""
    w = world(only=["ResourceQuota"])
    w.put("resourcequotas", quota(services="1", services_nodeports="1"))
    service: Object = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}]}}
    nodeport = {**service, "spec": {**service["spec"], "type": "NodePort"}}
    w.run("services", service)
    w.run("services", nodeport, service, operation=UPDATE)
    assert used(w) == {"services": "1", "services.nodeports": "1"}


def test_quota_conflict_is_retried(world: type[World]) -> None:
    """A conflict is retried with the stored quota; a quota that keeps changing is an error."""
    w = world(only=["ResourceQuota"])
    w.put("resourcequotas", quota(configmaps="2"))
    w.client.refuse = [errors.conflict("", "resourcequotas", "q", errors.MODIFIED)]
    w.run("configmaps", configmap())
    assert used(w) == {"configmaps": "1"}
    w.client.refuse = [errors.conflict("", "resourcequotas", "q", errors.MODIFIED)] * 9
    assert w.refusal("configmaps", configmap("b")).code == 409


def test_quota_scopes_select_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """A BestEffort quota does not count pods with requests."""
    w = world(only=["ResourceQuota"])
    limited = quota(pods="0")
    w.put("resourcequotas", {**limited, "spec": {**limited["spec"], "scopes": ["BestEffort"]}})
    busy = pod()
    busy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    w.run("pods", busy)
    assert "exceeded quota" in w.refusal("pods", pod()).message


@pytest.mark.parametrize(
    ("host", "escalating", "privileged"),
    [
        ({}, "", ""),
        ({"hostNetwork": True}, "", ""),
        ({"hostPID": True}, "using host pid", ""),
        ({"hostIPC": True}, "using host ipc", ""),
        ({"containers": [{"securityContext": {"privileged": True}}]}, "privileged", "privileged"),
        ({"initContainers": [{"securityContext": {"privileged": True}}]}, "privileged", "privileged"),
        ({"containers": [{"securityContext": {"privileged": False}}]}, "", ""),
    ],
)
def test_exec_into_pods_with_access_to_the_host(
    world: type[World], host: Object, escalating: str, privileged: str
) -> None:
    """Exec and attach are rejected for the pods that each plugin names; other subresources are not reviewed."""
    for plugin, word in (("DenyEscalatingExec", escalating), ("DenyExecOnPrivileged", privileged)):
        w = world(only=[plugin])
        w.put("pods", {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{}], **host}})
        for sub in ("exec", "attach"):
            if word:
                error = w.refusal("pods", None, operation=CONNECT, sub=sub, name="p")
                assert error.code == 403 and error.message.startswith(
                    'pods "p" is forbidden: cannot exec into or attach to a '
                )
                assert word in error.message
            else:
                w.run("pods", None, operation=CONNECT, sub=sub, name="p")
        w.run("pods", None, operation=CONNECT, sub="portforward", name="p")
        assert w.refusal("pods", None, operation=CONNECT, sub="exec", name="q").code == 403


LIMITED = {"limitedResources": [
    {"resource": "pods", "matchContains": ["cpu"], "matchScopes": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high", "top"]}]},
    {"resource": "configmaps", "matchContains": ["count/"]},
]}  # fmt: skip


def test_limited_resources_need_a_quota(world: type[World], pod: Callable[..., Object]) -> None:
    """A limited resource can be consumed only where a quota covers it, also in a namespace without quotas."""
    w = world(only=["ResourceQuota"], configurations={"ResourceQuota": LIMITED})
    busy = pod()
    busy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    w.run("pods", pod())
    w.run("secrets", {"metadata": {"name": "a"}})
    assert w.refusal("pods", busy).message == 'pods "p" is forbidden: insufficient quota to consume: cpu,requests.cpu'
    assert (
        w.refusal("configmaps", configmap()).message
        == 'configmaps "a" is forbidden: insufficient quota to consume: count/configmaps'
    )
    w.put("resourcequotas", quota(cpu="2"))
    assert w.refusal("pods", busy).message == 'pods "p" is forbidden: insufficient quota to consume: requests.cpu'
    w.put("resourcequotas", quota(cpu="2", requests_cpu="2", count__configmaps="1"))
    w.run("pods", busy)
    w.run("configmaps", configmap())
    assert used(w)["cpu"] == "1"


def test_limited_scopes_need_a_quota(world: type[World], pod: Callable[..., Object]) -> None:
    """A pod in a limited scope needs a quota with that scope for it; a quota of another scope does not count."""
    w = world(only=["ResourceQuota"], configurations={"ResourceQuota": LIMITED})
    important = pod(priorityClassName="high")
    w.run("pods", pod(priorityClassName="low"))
    error = w.refusal("pods", important)
    assert (error.code, error.message) == (
        500,
        "insufficient quota to match these scopes: [{PriorityClass In [high top]}]",
    )
    limits = quota(pods="1")
    w.put("resourcequotas", {**limits, "spec": {**limits["spec"], "scopes": ["BestEffort"]}})
    assert w.refusal("pods", important).code == 500
    expression = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    w.put("resourcequotas", {**limits, "spec": {**limits["spec"], "scopeSelector": {"matchExpressions": [expression]}}})
    w.run("pods", important)
    assert used(w) == {"pods": "1"}


def test_new_nodes_are_tainted(world: type[World]) -> None:
    """A new node has the not-ready taint."""
    made = world().run("nodes", node())
    assert made["spec"]["taints"] == [{"key": ORCH("node.{long}.io/not-ready"), "effect": "NoSchedule"}]


def test_default_ingress_class(world: type[World]) -> None:
    """An ingress without a class or the old annotation gets the default class."""
    w = world()
    group = "networking.{abbr}.io"
    mark = {ORCH("ingressclass.{long}.io/is-default-class"): "true"}
    w.put("ingressclasses", {"metadata": {"name": "i", "annotations": mark}}, group)
    assert w.run("ingresses", {"metadata": {"name": "a"}}, group=group)["spec"] == {"ingressClassName": "i"}
    old = {"metadata": {"name": "a", "annotations": {ORCH("{long}.io/ingress.class"): "x"}}}
    assert "spec" not in w.run("ingresses", old, group=group)


def test_always_deny_refuses_everything(world: type[World]) -> None:
    """Every request is rejected."""
    assert "denying all" in world(enable=["AlwaysDeny"]).refusal("configmaps", configmap()).message


def test_stricter_pod_security_level_warns_of_existing_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """The warnings list pods that would be rejected, those of one controller once."""
    w = world(only=["PodSecurity"])
    privileged = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
    for name in ("p36", "p37"):
        w.put("pods", {"metadata": {"name": name, "namespace": "ns"}, "spec": {"containers": [privileged]}})
    old = {"metadata": {"name": "ns", "labels": {}}}
    new = {"metadata": {"name": "ns", "labels": {ORCH("pod-security.{long}.io/enforce"): "baseline"}}}
    w.run("namespaces", new, old, operation=UPDATE)
    assert w.warnings == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "p36 (and 1 other pod): privileged",
    ]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        (
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            ['hostPath volumes (volume "v")', 'restricted volume type "hostPath"'],
        ),
        (
            {"containers": [{"name": "c", "image": "i", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]},
            ["non-default capabilities", "unrestricted capabilities"],
        ),
        (
            {"securityContext": {"seLinuxOptions": {"user": "u"}}},
            ["seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: )"],
        ),
        (
            {"securityContext": {"seLinuxOptions": {"user": "u", "type": "t"}}},
            ['securityContext.seLinuxOptions: type "t"; user may not be set)'],
        ),
    ],
)
def test_restricted_pods_are_judged_by_the_baseline_too(world: type[World], spec: Object, named: list[str]) -> None:
    """At the restricted level a pod is refused with the violations of the baseline, and then with those of that
    level."""
    w = world(only=["PodSecurity"])
    label = {ORCH("pod-security.{long}.io/enforce"): "restricted"}
    w.put("namespaces", {"metadata": {"name": "ns", "labels": label}})
    new = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    message = w.refusal("pods", new).message
    places = [message.find(text) for text in named]
    assert -1 not in places and places == sorted(places)


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({"spec": {"containers": [{"name": "c", "image": "j"}]}}, True),
        ({"spec": {"initContainers": [{"name": "i", "image": "j"}]}}, True),
        ({"spec": {"ephemeralContainers": [{"name": "e", "image": "j"}]}}, True),
        ({"annotations": {"seccomp.security.alpha.{long}.io/pod": "unconfined"}}, True),
        ({"annotations": {"container.seccomp.security.alpha.{long}.io/c": "unconfined"}}, True),
        ({"annotations": {"example.org/a": "b"}}, False),
        ({"labels": {"a": "b"}}, False),
        ({"spec": {"activeDeadlineSeconds": 5, "tolerations": [{"operator": "Exists"}]}}, False),
    ],
)
def test_pod_security_evaluates_relevant_updates_only(world: type[World], change: Object, judged: bool) -> None:
    """Only new images, containers or profiles are evaluated; pods older than the policy may change otherwise."""
    w = world(only=["PodSecurity"])
    label = {ORCH("pod-security.{long}.io/enforce"): "restricted"}
    w.put("namespaces", {"metadata": {"name": "ns", "labels": label}})
    old: Object = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    metadata = {**old["metadata"], "labels": change.get("labels", {})}
    metadata["annotations"] = {ORCH(key): value for key, value in change.get("annotations", {}).items()}
    new = {"metadata": metadata, "spec": {**old["spec"], **change.get("spec", {})}}
    if judged:
        assert "violates PodSecurity" in w.refusal("pods", new, old, operation=UPDATE).message
    else:
        w.run("pods", new, old, operation=UPDATE)


def test_refusals_name_the_object(world: type[World]) -> None:
    """The message has the object's name, or its generateName."""
    error = world(enable=["AlwaysDeny"]).refusal("configmaps", {"metadata": {"generateName": "gen-"}})
    assert isinstance(error, ApiError) and error.message.startswith('configmaps "gen-" is forbidden: ')
