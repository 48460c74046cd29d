"""ResourceQuota: what a write is charged, and limited resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd import errors
from orchd.client.interfaces import ResourceRef
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World, configmap

QUOTAS = ResourceRef("", "v1", "resourcequotas")


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
    """A conflict is retried with the stored quota; a quota that has changed at each of four attempts is an error."""
    w = world(only=["ResourceQuota"])
    w.put("resourcequotas", quota(configmaps="2"))
    w.client.refuse = [errors.conflict("", "resourcequotas", "q", errors.MODIFIED)] * 3
    w.run("configmaps", configmap())
    assert used(w) == {"configmaps": "1"}
    w.client.refuse = [errors.conflict("", "resourcequotas", "q", errors.MODIFIED)] * 4
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


def test_quotas_that_are_deleted_meanwhile(world: type[World]) -> None:
    """They limit nothing any more; an error other than that of a read that finds nothing is the write's."""
    w = world(only=["ResourceQuota"])
    w.put("resourcequotas", quota(configmaps="1"))
    w.client.refuse = [errors.not_found("", "resourcequotas", "q")]

    async def gone(*args: Any, **more: Any) -> Object:
        raise errors.not_found("", "resourcequotas", "q")

    w.client.get = gone  # type: ignore[method-assign]
    w.run("configmaps", configmap())
    assert used(w) == {"configmaps": "0"}

    async def broken(*args: Any, **more: Any) -> Object:
        raise errors.internal("no store")

    w.client.get = broken  # type: ignore[method-assign]
    w.client.refuse = [errors.conflict("", "resourcequotas", "q", errors.MODIFIED)]
    assert "no store" in w.refusal("configmaps", configmap()).message


def test_usage_that_the_informer_does_not_know_yet(world: type[World]) -> None:
    """What was written counts until the informer has it, or something newer, or the quota is another one."""
    w = world(only=["ResourceQuota"])
    charged: list[str] = []

    async def update(ref: ResourceRef, namespace: str, name: str, obj: Object, **more: Any) -> Object:
        charged.append(obj["status"]["used"]["configmaps"])
        version = str(int(obj["metadata"]["resourceVersion"]) + 1)
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}

    def put(version: str, uid: str = "q") -> None:
        limited = quota(configmaps="2")
        w.put(
            "resourcequotas", {**limited, "metadata": {**limited["metadata"], "resourceVersion": version, "uid": uid}}
        )

    w.client.update = update  # type: ignore[method-assign]
    put("1")
    w.run("configmaps", configmap())
    w.run("configmaps", configmap("b"))
    assert "used: configmaps=2" in w.refusal("configmaps", configmap("c")).message
    # The versions that were written are 2 and 3.
    for version, uid in (("3", "q"), ("9", "q"), ("1", "other")):
        put(version, uid)
        w.run("configmaps", configmap("c"))
    assert charged == ["1", "2", "1", "1", "1"]


def test_dry_runs_are_limited(world: type[World]) -> None:
    """A dry run is charged nothing, but is rejected where the write would be."""
    w = world(only=["ResourceQuota"])
    w.put("resourcequotas", quota(configmaps="0"))
    assert "exceeded quota: q" in w.refusal("configmaps", configmap(), dry_run=True).message


def test_quotas_of_other_writes(world: type[World], pod: Callable[..., Object]) -> None:
    """A quota that does not count a write does not limit it, also beside one that does."""
    w = world(only=["ResourceQuota"])
    w.put("resourcequotas", quota("all", pods="5"))
    other = quota("other", pods="0")
    w.put("resourcequotas", {**other, "spec": {**other["spec"], "scopes": ["BestEffort"]}})
    busy = pod()
    busy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    w.run("pods", busy)
    assert used(w, "all") == {"pods": "1"} and used(w, "other") == {"pods": "0"}


def test_limited_resources_have_a_name(world: type[World]) -> None:
    with pytest.raises(ValueError, match=r"limitedResources\[1\]\.resource: Required value"):
        section = {"limitedResources": [{"resource": "pods"}, {"resource": ""}]}
        world(only=["ResourceQuota"], configurations={"ResourceQuota": section})
