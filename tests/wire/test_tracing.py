"""A real server that sends traces to a collector."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.testing.processes.daemon import DaemonProcess, exchange
from orchd.testing.processes.ports import free_port
from tests.waiting import until
from tests.wire.collector import Collector, Received
from tests.wire.identity_doubles import Outside, Pki
from tests.wire.wire_cli import complaints

MAPS = "/api/v1/namespaces/default/configmaps"
HOOKS = KUBERNETES("/apis/admissionregistration.{abbr}.io/v1/validatingwebhookconfigurations")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
POST = "POST /api/v1/namespaces/{:namespace}/configmaps"


class Hook(Outside):
    """An admission webhook that allows everything."""

    def reply(self, document: Any) -> Any:
        return {**document, "response": {"uid": document["request"]["uid"], "allowed": True}}


def configuration(folder: Path, port: int, rate: int = 1_000_000) -> Path:
    path = folder / "tracing.json"
    path.write_text(json.dumps({
        "apiVersion": KUBERNETES("apiserver.config.{abbr}.io/v1beta1"), "kind": "TracingConfiguration",
        "endpoint": f"127.0.0.1:{port}", "samplingRatePerMillion": rate,
    }))  # fmt: skip
    return path


def server_with(folder: Path, path: Path) -> DaemonProcess:
    return DaemonProcess(
        folder / "server", "--controllers=-*", "--scheduler=false", f"--tracing-config-file={path}", dialect=KUBERNETES
    )


def metrics(server: DaemonProcess) -> str:
    connection = server.connect()
    code, text = exchange(connection, "GET", "/metrics")
    connection.close()
    assert code == 200
    shown: str = text
    return shown


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


def find(collector: Collector, server: DaemonProcess, name: str) -> Received:
    until(lambda: collector.named(name), lambda: f"{sorted({s.name for s in collector.spans})} {server.log[-2000:]}")
    return collector.named(name)[0]


def test_write_is_one_trace(tmp_path: Path, collector: Collector) -> None:
    """A write is one trace with its spans, including the webhook, which gets the trace context; the audit id connects
    it to the log."""
    pki = Pki(tmp_path, "hooks")
    hook = Hook(pki, free_port())
    hook.start()
    server = server_with(tmp_path, configuration(tmp_path, collector.port))
    try:
        with server:
            rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
            config = {"url": f"{hook.url}/hook", "caBundle": base64.b64encode(pki.ca.read_bytes()).decode()}
            webhook = {
                "name": "hook.example.org", "rules": [rule], "clientConfig": config, "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }  # fmt: skip
            assert server.request("POST", HOOKS, {"metadata": {"name": "hook"}, "webhooks": [webhook]})[0] == 201

            def called() -> bool:
                response = server.request("POST", MAPS, {"metadata": {"generateName": "a-"}})
                assert response[0] == 201
                return bool(hook.calls)

            # The webhook is active from the moment at which the server has observed its configuration.
            until(called)
            call = find(collector, server, "Call validating webhook")
            parts = {span.name: span for span in collector.spans if span.trace == call.trace}
            root = parts[POST]
            assert root.parent == "" and root.attributes["http.status_code"] == 201 and root.attributes["audit-id"]
            assert root.resource["service.name"] == "apiserver"
            for name, above in (
                ("Authentication", POST), ("Authorization", POST), ("Create", POST), ("Mutating admission", "Create"),
                ("Validating admission", "Create"), ("Call validating webhook", "Validating admission"),
                ("HTTP POST", "Call validating webhook"), ("store create", "Create"),
            ):  # fmt: skip
                assert parts[name].parent == parts[above].id, (name, sorted(parts))
            assert hook.traces[0].split("-")[1:3] == [call.trace, parts["HTTP POST"].id]
            until(lambda: 'orchd_trace_spans{outcome="sent"}' in metrics(server))
            connection = server.connect()
            connection.request("GET", "/version", headers={"traceparent": PARENT})
            connection.getresponse().read()
            connection.close()
            until(lambda: any(span.trace == PARENT.split("-")[1] for span in collector.spans))
    finally:
        hook.stop()
    assert server.status == 0 and complaints(server.log) == []


def test_last_spans_are_flushed(tmp_path: Path, collector: Collector) -> None:
    """Spans before the end of the process are exported."""
    server = server_with(tmp_path, configuration(tmp_path, collector.port))
    with server:
        assert server.request("GET", f"{MAPS}/last")[0] == 404
    assert server.status == 0
    assert collector.named("GET /api/v1/namespaces/{:namespace}/configmaps/{:name}")


def test_unreachable_collector_costs_one_log_line(tmp_path: Path) -> None:
    """An unreachable collector causes one line of the log; requests are served, and the process ends as usual."""
    server = server_with(tmp_path, configuration(tmp_path, free_port()))
    with server:
        for _ in range(50):
            assert server.request("GET", MAPS)[0] == 200
    assert server.status == 0 and complaints(server.log) == []
    assert server.log.count("they are dropped") <= 1 and server.log.count("opentelemetry") == 0


@pytest.mark.parametrize(("text", "why"), [
    ("{}", "tracing.json: Object 'Kind' is missing"),
    (None, "No such file or directory"),
])  # fmt: skip
def test_invalid_files_fail_the_start(tmp_path: Path, text: str | None, why: str) -> None:
    """The process ends with the name of the file and the error."""
    path = tmp_path / "tracing.json"
    if text is not None:
        path.write_text(text)
    server = server_with(tmp_path, path)
    server.launch()
    assert server.wait() != 0
    assert "--tracing-config-file: " in server.log and why in server.log
