"""``top``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.ctl.commands import top
from orchd.ctl.commands.top import usage_cells, usage_of
from orchd.ctl.errors import CommandError
from tests.ctl.ctl_runner import Ctl


def pod_metrics(name: str, **containers: tuple[str, str]) -> dict[str, Any]:
    members = [{"name": key, "usage": {"cpu": cpu, "memory": memory}} for key, (cpu, memory) in containers.items()]
    return {"metadata": {"name": name, "namespace": "default"}, "containers": members}


@pytest.fixture
def usage(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the metrics API answers, instead of a metrics server."""
    found: list[Any] = []

    async def metrics(*arguments: Any) -> list[Any]:
        return found

    monkeypatch.setattr(top, "_metrics", metrics)
    return found


def test_usage_is_printed_in_millicores_and_mebibytes() -> None:
    """Cores are printed in millicores, bytes in Mi."""
    assert usage_cells(*usage_of({"cpu": "1500000n", "memory": "2048Ki"})) == ["2m", "2Mi"]


def test_usage_of_pods_is_sorted_summed_and_split(ctl: Ctl, usage: list[Any]) -> None:
    """Pods are sorted by name, cpu or memory; --containers has a line for each container, --sum one below."""
    usage += [pod_metrics("b", x=("100m", "1Mi"), y=("1", "2Mi")), pod_metrics("a", x=("200m", "9Mi"))]
    assert [line.split() for line in ctl("top", "pod").lines] == [
        ["NAME", "CPU(cores)", "MEMORY(bytes)"],
        ["a", "200m", "9Mi"],
        ["b", "1100m", "3Mi"],
    ]
    assert [line.split()[0] for line in ctl("top", "pods", "--sort-by=cpu", "--no-headers").lines] == ["b", "a"]
    assert [line.split()[0] for line in ctl("top", "po", "--sort-by=memory", "--no-headers").lines] == ["a", "b"]
    split = [line.split() for line in ctl("top", "pods", "--containers", "-A").lines]
    assert split[0] == ["NAMESPACE", "POD", "NAME", "CPU(cores)", "MEMORY(bytes)"] and len(split) == 4
    assert ctl("top", "pods", "--sum").lines[-1].split() == ["1300m", "12Mi"]
    assert "--sort-by=x: usage is sorted by cpu or memory" in ctl("top", "pods", "--sort-by=x", status=1).error


def test_usage_of_nodes_has_percentages(ctl: Ctl, usage: list[Any]) -> None:
    """The share of what pods may have is printed, or with --show-capacity that of all."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    ctl("create", "-f", "-", send=json.dumps(node))
    status = {"status": {"allocatable": {"cpu": "2", "memory": "100Mi"}, "capacity": {"cpu": "4", "memory": "200Mi"}}}
    ctl("patch", "node/n", "--subresource=status", "-p", json.dumps(status))
    usage += [{"metadata": {"name": "n"}, "usage": {"cpu": "1", "memory": "50Mi"}}]
    assert ctl("top", "node").lines[1].split() == ["n", "1000m", "50%", "50Mi", "50%"]
    assert ctl("top", "node", "n", "--show-capacity", "--no-headers").lines[0].split() == [
        "n",
        "1000m",
        "25%",
        "50Mi",
        "25%",
    ]
    usage += [{"metadata": {"name": "gone"}, "usage": {"cpu": "1", "memory": "50Mi"}}]
    usage[0]["usage"]["cpu"] = "1999m"
    assert [line.split() for line in ctl("top", "node").lines[1:]] == [
        ["gone", "1000m", "<unknown>", "50Mi", "<unknown>"],
        ["n", "1999m", "99%", "50Mi", "50%"],
    ]
    with pytest.raises(CommandError, match="is no quantity"):
        top.amount("many")


DEFINITION = """
apiVersion: apiextensions.{abbr}.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.metrics.{abbr}.io, annotations: {{"api-approved.{long}.io": unapproved}}}}
spec:
  group: metrics.{abbr}.io
  scope: {scope}
  names: {{plural: {plural}, kind: {kind}}}
  versions:
  - {{name: v1beta1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-{long}-preserve-unknown-fields: true}}}}}}
"""


def test_requests_for_usage(ctl: Ctl) -> None:
    """One object by its name, or those of a selector, in a namespace or in all."""
    dialect = ctl.server.dialect
    for plural, kind, scope in (("pods", "PodMetrics", "Namespaced"), ("nodes", "NodeMetrics", "Cluster")):
        names = {"abbr": dialect.abbr, "long": dialect.long}
        ctl("create", "-f", "-", send=DEFINITION.format(plural=plural, kind=kind, scope=scope, **names))
    ctl("create", "namespace", "other")
    version = dialect("metrics.{abbr}.io/v1beta1")
    for namespace, name, label in (("default", "a", "x"), ("default", "b", "y"), ("other", "c", "x")):
        metrics = pod_metrics(name, m=("100m", "1Mi"))
        metrics["metadata"] |= {"namespace": namespace, "labels": {"l": label}}
        ctl(
            "create",
            "-f",
            "-",
            "--validate=false",
            send=json.dumps({"apiVersion": version, "kind": "PodMetrics", **metrics}),
        )
    for words, names_of_pods in (
        ((), ["a", "b"]), (("b",), ["b"]), (("-l", "l=x"), ["a"]), (("-A", "-l", "l=x"), ["c", "a"]), (("b", "-l", "l=x"), ["b"]),
    ):  # fmt: skip
        rows = [line.split() for line in ctl("top", "pods", "--no-headers", *words).lines]
        assert sorted(row[1 if "-A" in words else 0] for row in rows) == sorted(names_of_pods)
    assert ctl("top", "pods", "-l", "l=z").error == "No resources found\n"
    assert "not found" in ctl("top", "pod", "z", status=1).error
    assert ctl("top", "nodes").out == ""
