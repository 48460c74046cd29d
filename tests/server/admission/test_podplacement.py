"""PodNodeSelector and PodTolerationRestriction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import UPDATE
from orchd.testing.doubles.results import result_of
from tests.server.admission.conftest import World, admit_review


def test_namespace_node_selector(world: type[World], pod: Callable[..., Object]) -> None:
    """The annotation's selector, or the cluster's default, is merged in; only labels that the configuration allows are
    accepted."""
    config = {"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "region=west", "wl": "env=prod"}}
    w = world(only=["PodNodeSelector"], configurations={"PodNodeSelector": config})
    assert w.run("pods", pod())["spec"]["nodeSelector"] == {"region": "west"}
    key = ORCH("scheduler.alpha.{long}.io/node-selector")
    w.namespace("own", annotations={key: "env=test,tier=a"})
    w.client.calls.clear()
    selector = w.run("pods", pod(nodeSelector={"x": "y"}), namespace="own")["spec"]["nodeSelector"]
    assert w.client.calls == []
    assert selector == {"env": "test", "tier": "a", "x": "y"}
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


DEFAULTS, WHITELIST = (
    ORCH(f"scheduler.alpha.{{long}}.io/{name}") for name in ("defaultTolerations", "tolerationsWhitelist")
)
A, B, C = ({"key": key, "operator": "Exists"} for key in "abc")
PRESSURE = {"key": ORCH("node.{long}.io/memory-pressure"), "operator": "Exists", "effect": "NoSchedule"}
REFUSED = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"
BUSY: Object = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}


@pytest.mark.parametrize(
    ("config", "annotations", "spec", "stored"),
    [
        ({}, {}, {}, None),
        ({}, {}, {"tolerations": [A]}, [A]),
        ({"default": [A]}, {}, {}, [A]),
        ({"default": [A]}, {}, {"tolerations": [B]}, [B, A]),
        ({"default": [A]}, {DEFAULTS: json.dumps([C])}, {"tolerations": [B]}, [B, C]),
        ({"default": [A]}, {DEFAULTS: ""}, {"tolerations": [B]}, [B]),
        ({"default": [A]}, {DEFAULTS: "[]"}, {}, None),
        ({"whitelist": [A, B]}, {}, {"tolerations": [B]}, [B]),
        ({"whitelist": [A]}, {}, {"tolerations": [B]}, REFUSED),
        ({"whitelist": [A]}, {}, {}, None),
        ({"whitelist": [A]}, {WHITELIST: json.dumps([B])}, {"tolerations": [B]}, [B]),
        ({"whitelist": [A]}, {WHITELIST: json.dumps([B])}, {"tolerations": [A]}, REFUSED),
        ({"whitelist": [A]}, {WHITELIST: ""}, {"tolerations": [B]}, [B]),
        ({"whitelist": [A], "default": [B]}, {}, {}, REFUSED),
        ({}, {}, BUSY, [PRESSURE]),
        ({}, {}, {**BUSY, "tolerations": [A]}, [A, PRESSURE]),
        ({}, {}, {**BUSY, "tolerations": [PRESSURE]}, [PRESSURE]),
        ({"whitelist": [A]}, {}, BUSY, REFUSED),
        ({}, {}, {"tolerations": [{**A, "effect": "NoSchedule"}, A]}, [A]),
        ({}, {DEFAULTS: "{}"}, {}, f"{DEFAULTS}: a list of tolerations is needed"),
        ({}, {WHITELIST: "[1]"}, {"tolerations": [A]}, f"{WHITELIST}: a list of tolerations is needed"),
        ({}, {WHITELIST: "{}"}, {}, None),
    ],
)
def test_tolerations_of_the_namespace_or_the_configuration(
    world: type[World], pod: Callable[..., Object], config: Object, annotations: Any, spec: Object, stored: Any
) -> None:
    """The annotations of a namespace, also empty ones, replace the configured lists. Pods with requests or limits
    tolerate memory pressure. What a pod has at last must be on the list of allowed ones."""
    w = world(only=["PodTolerationRestriction"], configurations={"PodTolerationRestriction": config})
    w.namespace("ns", annotations=annotations)
    if isinstance(stored, str):
        error = w.refusal("pods", pod(**spec))
        assert (error.code, error.message) == (500, stored)
        # Before other plugins and webhooks change the pod.
        with pytest.raises(ApiError, match=re.escape(stored)):
            result_of(admit_review(w.chain, w.review("pods", pod(**spec))))
    else:
        assert w.run("pods", pod(**spec))["spec"].get("tolerations") == stored


def test_updates_get_no_default_tolerations(world: type[World], pod: Callable[..., Object]) -> None:
    """Defaults are those of new pods; an update is judged by the list of allowed ones all the same."""
    config = {"default": [A], "whitelist": [A]}
    w = world(only=["PodTolerationRestriction"], configurations={"PodTolerationRestriction": config})
    assert "tolerations" not in w.run("pods", pod(), pod(), operation=UPDATE)["spec"]
    assert w.refusal("pods", pod(tolerations=[B]), pod(), operation=UPDATE).message == REFUSED


@pytest.mark.parametrize("name", ["default", "whitelist"])
def test_invalid_tolerations_of_the_configuration(world: type[World], name: str) -> None:
    """The start fails with the path of an invalid toleration."""
    config = {name: [{"key": "a", "operator": "Gt"}]}
    with pytest.raises(ValueError, match=rf"{name}\[0\]\.operator: Unsupported value"):
        world(only=["PodTolerationRestriction"], configurations={"PodTolerationRestriction": config})


def test_invalid_selectors_of_the_configuration(world: type[World]) -> None:
    """The start fails with the name of the namespace and the selector."""
    config = {"podNodeSelectorPluginConfig": {"a": "x=y", "b": "x"}}
    with pytest.raises(ValueError, match=r"podNodeSelectorPluginConfig\.b: invalid selector: \[x\]"):
        world(only=["PodNodeSelector"], configurations={"PodNodeSelector": config})


def test_placement_of_pods_in_new_namespaces(world: type[World], pod: Callable[..., Object]) -> None:
    """A namespace that the informer has not seen is read."""
    w = world(only=["PodNodeSelector", "PodTolerationRestriction"])
    assert w.refusal("pods", pod(), namespace="gone").code == 404
    assert ("get", "namespaces", "", "gone") in w.client.calls
