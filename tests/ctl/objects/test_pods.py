"""Selectors of workloads."""

from __future__ import annotations

import pytest

from orchd.ctl.objects.pods import containers_of, selector_of
from orchd.kinds.jsonvalues import Object
from tests.ctl.ctl_runner import Ctl
from tests.ctl.node_double import Socket, connect_node


def test_selectors_are_converted_to_text() -> None:
    """Selectors of services and workloads are converted to the API's text form."""
    assert selector_of({"spec": {"selector": {"b": "2", "a": "1"}}}) == "a=1,b=2"
    expressions = [{"key": "k", "operator": "In", "values": ["x", "y"]}, {"key": "z", "operator": "DoesNotExist"}]
    assert (
        selector_of({"spec": {"selector": {"matchLabels": {"a": "1"}, "matchExpressions": expressions}}})
        == "a=1,k in (x,y),!z"
    )
    assert selector_of({"spec": {}}) == ""


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"matchLabels": {}}, ""), ({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "NotIn", "values": ["c"]}]}, "a,b notin (c)"),
        ({"matchExpressions": [], "matchLabels": {"a": "b"}}, "a=b"),
    ],
)  # fmt: skip
def test_selectors_with_expressions(selector: Object, text: str) -> None:
    assert selector_of({"spec": {"selector": selector}}) == text


@pytest.mark.parametrize(
    ("container", "every", "annotations", "names", "note"),
    [
        ("", False, {}, ["a"], "Defaulted container a of: i, a, b, e\n"), ("", True, {}, ["i", "a", "b", "e"], ""), ("e", False, {}, ["e"], ""),
        ("", False, {"x.io/default-container": "b"}, ["b"], ""), ("", False, {"x.io/default-container": "c"}, ["a"], "Defaulted container a of: i, a, b, e\n"),
        ("", False, {"default-container": "b"}, ["a"], "Defaulted container a of: i, a, b, e\n"),
    ],
)  # fmt: skip
def test_containers_that_are_meant(
    capsys: pytest.CaptureFixture[str], container: str, every: bool, annotations: Object, names: list[str], note: str
) -> None:
    """The one that is named, the one of the annotation, or the first, which is told."""
    spec = {
        "initContainers": [{"name": "i"}],
        "containers": [{"name": "a"}, {"name": "b"}],
        "ephemeralContainers": [{"name": "e"}],
    }
    pod = {"metadata": {"name": "p", "annotations": annotations}, "spec": spec}
    assert containers_of(pod, container, every) == names
    assert capsys.readouterr().err == note


def test_the_only_container_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert containers_of({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}, "", False) == ["a"]
    assert capsys.readouterr().err == ""


def test_running_pods_come_first(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the pods of an object one that runs is taken; without one the command waits for it."""
    cluster("create", "deployment", "web", "--image=i")
    cluster("patch", "deploy/web", "--type=json", "-p", '[{"op": "replace", "path": "/metadata/labels", "value": {}}]')
    for name in ("w1", "w2"):
        manifest = f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web}}}}, spec: {{nodeName: n1, containers: [{{name: c, image: i}}]}}}}"
        cluster("create", "-f", "-", send=manifest)
    node = connect_node(cluster, monkeypatch, lambda path, query: Socket(b'\3{"status": "Success"}'))
    flags = ("attach", "deploy/web", "--pod-running-timeout=2s")
    cluster(*flags)
    assert cluster.waited == 2
    cluster("patch", "pod", "w2", "--subresource=status", "-p", '{"status": {"phase": "Running"}}')
    cluster(*flags)
    assert cluster.waited == 0
    assert [path.split("/")[-2] for path, _, _ in node.asked] == ["w1", "w2"]
