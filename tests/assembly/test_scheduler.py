"""The scheduler within a whole server: its flag, its identity and its endpoint."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.testing.doubles.server import InProcessServer, make_server, run, user

PODS = ResourceRef("", "v1", "pods")
NODES = ResourceRef("", "v1", "nodes")
ACCOUNTS = ResourceRef("", "v1", "serviceaccounts")
_EXPLAIN = "/debug/scheduler/explain"


def _make(folder: Path, *flags: str) -> InProcessServer:
    server = make_server(
        folder, "--scheduler=true", "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount", *flags
    )
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}
    run(server.client().create(NODES, "", node))
    return server


def _pod(name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def _settle(server: InProcessServer) -> None:
    for _ in range(20):
        server.clock.advance(0.05)


def test_pods_are_scheduled_when_a_node_exists(tmp_path: Path) -> None:
    """The pod gets a node, a condition and an events.k8s.io event, all through the request pipeline."""
    server = _make(tmp_path)
    try:
        run(server.client().create(PODS, "default", _pod()))
        _settle(server)
        pod = run(server.client().get(PODS, "default", "a"))
        assert pod["spec"]["nodeName"] == "n1"
        assert pod["status"]["conditions"][0]["status"] == "True"
        response = run(server.request("GET", "/apis/events.orch.io/v1/namespaces/default/events")).json["items"]
        assert [(each["reason"], each["action"], each["reportingController"]) for each in response] == [
            ("Scheduled", "Binding", "default-scheduler")
        ]
    finally:
        server.stop()


def test_explain_endpoint_needs_permission(tmp_path: Path) -> None:
    """GET explains where a pod was placed, POST where a new one would be; both require permission for the path."""
    server = _make(tmp_path)
    try:
        run(server.client().create(PODS, "default", _pod()))
        _settle(server)
        assert run(server.request("GET", f"{_EXPLAIN}?namespace=default&pod=a")).json["node"] == "n1"
        tried = run(server.request("POST", _EXPLAIN, body=_pod("b", nodeSelector={"x": "y"}))).json
        assert tried["message"] == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
        assert run(server.request("GET", f"{_EXPLAIN}?namespace=default&pod=b")).code == 404
        assert run(server.request("GET", _EXPLAIN)).code == 400
        assert run(server.request("POST", _EXPLAIN, body={"spec": 1})).code == 400
        assert run(server.request("GET", f"{_EXPLAIN}?namespace=default&pod=a", user=user("eve", "none"))).code == 403
    finally:
        server.stop()


def test_scheduler_metrics_have_the_references_names(tmp_path: Path) -> None:
    """The server's metrics include scheduling attempts, queue lengths and cache sizes under the reference's names."""
    server = _make(tmp_path)
    try:
        run(server.client().create(PODS, "default", _pod()))
        run(server.client().create(PODS, "default", _pod("b", nodeSelector={"x": "y"})))
        _settle(server)
        text = run(server.request("GET", "/metrics")).body.decode()
        for line in (
            'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0',
            'scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"} 1.0',
            'scheduler_pending_pods{queue="unschedulable"} 1.0',
            'scheduler_scheduler_cache_size{type="nodes"} 1.0',
            'scheduler_queue_incoming_pods_total{event="PodAdd",queue="active"} 2.0',
        ):
            assert line in text
    finally:
        server.stop()


def test_without_a_scheduler_pods_stay_pending(tmp_path: Path) -> None:
    """With --scheduler=false pods stay pending and the explain endpoint does not exist."""
    server = make_server(tmp_path, "--disable-admission-plugins=ServiceAccount")
    try:
        run(server.client().create(PODS, "default", _pod()))
        _settle(server)
        assert "nodeName" not in run(server.client().get(PODS, "default", "a"))["spec"]
        assert run(server.request("GET", _EXPLAIN)).code == 404
    finally:
        server.stop()


def test_invalid_configuration_fails_the_start(tmp_path: Path) -> None:
    """The error names the file and the field."""
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: orchscheduler.config.orch.io/v1beta3\nkind: OrchSchedulerConfiguration\nparallelism: 0\n"
    )
    with pytest.raises(ValueError, match=r"--config=.*config.yaml: .*parallelism"):
        make_server(tmp_path, "--scheduler=true", f"--config={path}")
    profile = "profiles: [{schedulerName: s, plugins: {score: {enabled: [{name: None}]}}}]\n"
    path.write_text(f"apiVersion: orchscheduler.config.orch.io/v1beta3\nkind: OrchSchedulerConfiguration\n{profile}")
    with pytest.raises(ValueError, match=r'--config=.*config.yaml: .*ScorePlugin "None" does not exist'):
        make_server(tmp_path, "--scheduler=true", f"--config={path}")
    with pytest.raises(ValueError, match=r"--config: .*No such file"):
        make_server(tmp_path, "--scheduler=true", f"--config={tmp_path / 'none'}")


def test_missing_numpy_is_explained_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy is an optional dependency: a server with the scheduler requires it, one without does not import it."""
    real = builtins.__import__

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "numpy":
            raise ModuleNotFoundError("No module named 'numpy'", name="numpy")
        return real(name, *more, **named)

    for name in [each for each in sys.modules if each.startswith(("orchd.scheduler", "orchd.assembly.scheduler"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match="--scheduler needs numpy"):
        make_server(tmp_path, "--scheduler=true")
    make_server(tmp_path, "--scheduler=false").stop()
