"""PodNodeSelector and PodTolerationRestriction."""

from __future__ import annotations

import json
from collections.abc import Callable

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from tests.server.admission.conftest import World


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
