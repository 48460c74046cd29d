"""The scheduler process with an invalid configuration, and with an unreachable extender."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.dialect import ORCH
from orchd.testing.processes.daemon import PATIENCE, ComponentProcess, DaemonProcess
from tests.waiting import until

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A server without a scheduler, with a node."""
    flags = (
        "--controllers=-*",
        "--scheduler=false",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    )
    with DaemonProcess(tmp_path_factory.mktemp("server"), *flags, dialect=ORCH) as process:
        room = {"cpu": "4", "memory": "8Gi", "pods": "100"}
        node = {"metadata": {"name": "n"}, "status": {"allocatable": room, "capacity": room}}
        assert process.request("POST", "/api/v1/nodes", node)[0] == 201
        yield process


def configuration(server: DaemonProcess, folder: Path, **members: Any) -> str:
    """The flag for a configuration file with these members."""
    config = {
        "apiVersion": server.dialect("{short}scheduler.config.{abbr}.io/v1beta3"),
        "kind": server.dialect("{Short}SchedulerConfiguration"),
        "clientConnection": {server.dialect.config_file_kind: str(server.config_file)},
        "podMaxBackoffSeconds": 1,
        **members,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return f"--config={path}"


def pod(server: DaemonProcess, name: str) -> None:
    code, response = server.request(
        "POST", PODS, {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    assert code == 201, response


def found(server: DaemonProcess, name: str) -> Any:
    return server.request("GET", f"{PODS}/{name}")[1]


def condition(server: DaemonProcess, name: str) -> dict[str, Any]:
    conditions = found(server, name).get("status", {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == "PodScheduled"), {})


class _Extender(BaseHTTPRequestHandler):
    """Accepts every node."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        names = next(value for key, value in asked.items() if key.lower() == "nodenames")
        body = json.dumps({"nodenames": names}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def closed_port() -> Iterator[HTTPServer]:
    """A server whose port refuses connections until `server_activate` is called."""
    extender = HTTPServer(("127.0.0.1", 0), _Extender, bind_and_activate=False)
    extender.server_bind()
    try:
        yield extender
    finally:
        extender.server_close()


@contextmanager
def answering(extender: HTTPServer) -> Iterator[None]:
    extender.server_activate()
    thread = threading.Thread(target=extender.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        extender.shutdown()
        thread.join()


def _extender(extender: HTTPServer, **more: Any) -> dict[str, Any]:
    return {
        "urlPrefix": f"http://127.0.0.1:{extender.server_port}",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        **more,
    }


#: Error -> (members of the configuration, expected log text).
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a plugin that there is not": (
        {"profiles": [{"schedulerName": "s", "plugins": {"score": {"enabled": [{"name": "NoSuchPlugin"}]}}}]},
        "NoSuchPlugin",
    ),
    "a field that there is not": ({"parallelizm": 3}, "parallelizm"),
    "a value that cannot be": ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds"),
    "arguments that cannot be": (
        {"profiles": [{"schedulerName": "s", "pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["not a name!"]}}]}]},
        "ignoredResources",
    ),
    "an extender without a usable URL": ({"extenders": [{"urlPrefix": "ftp://x", "filterVerb": "f", "weight": 1}]}, "ftp://x"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_invalid_configuration_ends_with_status_1(server: DaemonProcess, tmp_path: Path, case: str) -> None:
    """The process ends with status 1; its log names the file and the error."""
    members, text = WRONG[case]
    flag = configuration(server, tmp_path, **members)
    scheduler = ComponentProcess("scheduler", server, tmp_path, flag)
    scheduler.launch()
    assert scheduler.wait(PATIENCE) == 1
    lines = [line for line in scheduler.log.splitlines() if text in line]
    assert any(flag in line for line in lines), scheduler.log
    assert "Traceback" not in scheduler.log


def test_unreachable_extender_delays_pods(server: DaemonProcess, tmp_path: Path) -> None:
    """The pod waits with a condition, and is bound at the next attempt, which a node change causes, once the extender
    responds."""
    with closed_port() as extender:
        flag = configuration(server, tmp_path, extenders=[_extender(extender)])
        with ComponentProcess("scheduler", server, tmp_path, flag):
            pod(server, "patient")
            until(lambda: "refused" in condition(server, "patient").get("message", ""))
            assert condition(server, "patient")["status"] == "False"
            assert "nodeName" not in found(server, "patient")["spec"]
            with answering(extender):
                labels = json.dumps({"metadata": {"labels": {"changed": "yes"}}}).encode()
                assert (
                    server.request("PATCH", "/api/v1/nodes/n", labels, content_type="application/merge-patch+json")[0]
                    == 200
                )
                until(lambda: found(server, "patient")["spec"].get("nodeName") == "n")


def test_unreachable_ignorable_extender_is_skipped(server: DaemonProcess, tmp_path: Path) -> None:
    """Pods are bound as if it were not configured."""
    with closed_port() as extender:
        flag = configuration(server, tmp_path, extenders=[_extender(extender, ignorable=True)])
        with ComponentProcess("scheduler", server, tmp_path, flag):
            pod(server, "ignoring")
            until(lambda: found(server, "ignoring")["spec"].get("nodeName"))
    assert found(server, "ignoring")["spec"]["nodeName"] == "n"
