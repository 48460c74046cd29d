"""``top``, ``cluster-info dump``, ``-v`` and flags of the commands that print what the server has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.client.requests import Call
from orchd.ctl import top
from orchd.ctl.dump import DumpWriter
from orchd.ctl.errors import CommandError
from orchd.ctl.forms import Form
from orchd.ctl.tracing import TracingClient
from orchd.testing.server import run
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


def test_usage_of_pods_is_sorted_summed_and_split(ctl: Ctl, usage: list[Any]) -> None:
    """Pods are sorted by name, cpu or memory; --containers has a line for each container, --sum one below."""
    usage += [pod_metrics("b", x=("100m", "1Mi"), y=("1", "2Mi")), pod_metrics("a", x=("200m", "9Mi"))]
    assert [line.split() for line in ctl("top", "pod").lines] == [["NAME", "CPU(cores)", "MEMORY(bytes)"], ["a", "200m", "9Mi"], ["b", "1100m", "3Mi"]]
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
    assert ctl("top", "node", "n", "--show-capacity", "--no-headers").lines[0].split() == ["n", "1000m", "25%", "50Mi", "25%"]
    with pytest.raises(CommandError, match="is no quantity"):
        top.amount("many")


def test_the_state_of_the_cluster_is_dumped(ctl: Ctl, tmp_path: Path) -> None:
    """A dump has nodes and what is in the chosen namespaces, on standard output or in files."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    assert '"kind": "NodeList"' in ctl("cluster-info", "dump").out
    ran = ctl("cluster-info", "dump", "--namespaces=default", f"--output-directory={tmp_path / 'd'}", "-o", "yaml")
    assert ran.lines == [f"Cluster info dumped to {tmp_path / 'd'}"]
    assert "name: web" in (tmp_path / "d/default/deployments.yaml").read_text()
    assert (tmp_path / "d/nodes.yaml").exists()
    assert "a dump is json or yaml" in ctl("cluster-info", "dump", "-o", "name", status=1).error


def test_resources_are_chosen_by_category_and_sorted(ctl: Ctl) -> None:
    """api-resources takes --categories and --sort-by."""
    found = ctl("api-resources", "--categories=all", "-o", "name").lines
    assert "deployments.apps" in found and "configmaps" not in found
    names = [line.split()[0] for line in ctl("api-resources", "--sort-by=name", "--no-headers").lines]
    assert names == sorted(names)


class _Clock:
    def seconds(self) -> float:
        return 1.0


def test_requests_are_traced(ctl: Ctl) -> None:
    """Each request is one line; bodies come from level 8 on, long ones cut."""
    for level, count in ((6, 1), (8, 3)):
        said: list[str] = []
        client = TracingClient(ctl.server.client("admin", agent="ctl"), _Clock(), level, said.append)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{level}"}, "data": {"a": "x" * 2000}}
        path = "/api/v1/namespaces/default/configmaps"
        run(client.exchange(Call(method="POST", path=path, query={"fieldManager": "a"}, body=body)))
        assert len(said) == count and f"POST {path}?fieldManager=a 201 in 0 ms" in said
        assert all(len(line) < 1200 for line in said)


def test_dump_writes_only_into_its_folder(tmp_path: Path) -> None:
    """A name from the server that leads out of the folder is an error, and nothing is written."""
    writer = DumpWriter(str(tmp_path / "dump"), Form("json"))
    for namespace in ("..", "a/../..", "/etc"):
        with pytest.raises(CommandError, match="not a file name"):
            writer.write_log(namespace, "x", "y", "text")
    assert not list(tmp_path.iterdir())
