"""Commands of orchctl with real sockets: proxy, cluster-info, manifests from URLs, raw paths, renewed certificates."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchd.dialect import DIALECTS
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess
from tests.wire.test_orchctl import ROOT, orchctl

DIALECT_NAMES = list(DIALECTS)


@pytest.fixture(scope="module")
def port(server: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A proxy to the server, which also serves a folder."""
    folder = tmp_path_factory.mktemp("www")
    (folder / "page.txt").write_text("a page")
    running = subprocess.Popen(
        [sys.executable, "-m", "orchd.ctl.main", f"--config={server.config_file}", "proxy", "--port=0", f"--www={folder}"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("Starting to serve on 127.0.0.1:")
        yield int(line.rpartition(":")[2])
    finally:
        running.kill()
        running.wait()


def ask(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, orjson.dumps(body) if body is not None else None, named)
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, data


def test_proxy_acts_as_the_user(port: int) -> None:
    """Reads, writes, errors and watches are proxied with the user's credentials; the client needs none."""
    path = "/api/v1/namespaces/default/configmaps"
    body = {"metadata": {"name": "proxied"}}
    assert ask(port, "POST", path, body, Content_Type="application/json")[0] == 201
    code, data = ask(port, "GET", f"{path}/proxied?pretty=0", Authorization="Bearer wrong", Impersonate_User="nobody")
    assert (code, orjson.loads(data)["metadata"]["name"]) == (200, "proxied")
    code, data = ask(port, "GET", f"{path}/absent")
    assert (code, orjson.loads(data)["reason"]) == (404, "NotFound")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", f"{path}?watch=true&fieldSelector=metadata.name=proxied")
    stream = connection.getresponse()
    assert orjson.loads(stream.readline())["type"] == "ADDED"
    assert ask(port, "DELETE", f"{path}/proxied")[0] == 200
    assert orjson.loads(stream.readline())["type"] == "DELETED"
    connection.close()
    assert ask(port, "GET", "/static/page.txt") == (200, b"a page")
    assert ask(port, "GET", "/static/../../etc/passwd")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "headers", "code"),
    [
        ("GET", "/api", {"Host": "evil.example"}, 403),
        ("GET", "/api", {"Host": "localhost.evil.example:8001"}, 403),
        ("POST", "/api/v1/namespaces", {"Origin": "https://evil.example"}, 403),
        ("POST", "/api/v1/namespaces", {"Origin": "null"}, 403),
        ("GET", "/api/v1/namespaces", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/api/v1/namespaces/a/pods/p/exec", {}, 403),
        ("GET", "/api/v1/namespaces/a/pods/p/%65xec", {}, 403),
        ("GET", "/api/v1/namespaces/a/pods/p/portforward", {"Upgrade": "websocket", "Connection": "Upgrade"}, 501),
        ("GET", "/api", {}, 200),
    ],
)
def test_proxy_refuses_foreign_requests(port: int, method: str, path: str, headers: dict[str, str], code: int) -> None:
    """Other Host headers (DNS rebinding), other origins (CSRF) and paths that run commands are rejected."""
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    assert ask(port, method, path, **named)[0] == code


def test_port_in_use_is_explained(server: DaemonProcess, port: int) -> None:
    """The message suggests another port."""
    error = orchctl("proxy", f"--port={port}", config=server.config_file, status=1).stderr
    assert "choose another --port" in error and error.count("\n") == 1
    assert (
        "not a regular expression" in orchctl("proxy", "--accept-hosts=(", config=server.config_file, status=1).stderr
    )


def test_cluster_info_and_raw_paths(server: DaemonProcess) -> None:
    """cluster-info prints the server's address; get --raw prints any path, or the error."""
    out = orchctl("cluster-info", config=server.config_file).stdout
    assert out.startswith(f"Control plane is running at {server.url}\n")
    assert orchctl("get", "--raw=/livez", config=server.config_file).stdout == "ok\n"
    assert "404 page not found" in orchctl("get", "--raw=/absent", config=server.config_file, status=1).stderr


class _Files(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/m.yaml":
            self.send_error(404)
            return
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-a-url}\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


def test_manifests_are_read_from_urls(server: DaemonProcess) -> None:
    """-f accepts http URLs; an error names the URL."""
    with HTTPServer(("127.0.0.1", 0), _Files) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{files.server_port}"
        assert (
            orchctl("apply", "-f", f"{url}/m.yaml", config=server.config_file).stdout == "configmap/of-a-url created\n"
        )
        error = orchctl("delete", "-f", f"{url}/absent", config=server.config_file, status=1).stderr
        assert f"{url}/absent: " in error and "check the URL" in error and error.count("\n") == 1
        assert (
            orchctl("delete", "-f", f"{url}/m.yaml", config=server.config_file).stdout
            == 'configmap "of-a-url" deleted from default namespace\n'
        )
        files.shutdown()


def test_certs_renew(server: DaemonProcess) -> None:
    """certs renew creates new ones in the folder of a running server; the kubeconfig keeps its port."""
    folder = Path(server.config_file).parent
    before = (folder / "pki" / "apiserver.crt").read_bytes()
    flags = (f"--data-dir={folder}", f"--dialect={server.dialect.name}")
    assert "apiserver" in orchctl("certs", "show", *flags, config=None).stdout
    orchctl("certs", "renew", *flags, config=None)
    assert (folder / "pki" / "apiserver.crt").read_bytes() != before
    assert orchctl("get", "--raw=/livez", config=server.config_file).stdout == "ok\n"
