"""Objects of an aggregated API server are deleted with their namespace."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import DIALECTS, KUBERNETES, Dialect
from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.keys import private_pem
from orchd.testing.processes.daemon import DaemonProcess
from tests.waiting import until
from tests.wire.test_orchctl import orchctl
from tests.wire.wire_cli import Cli

GROUP, VERSION = "far.example.com", "v1"

KINDS = KUBERNETES("x-{long}-group-version-kind")
METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#: Defines a type differently from this server's type of the same name.
SPECIFICATION: Any = {
    "swagger": "2.0", "info": {"title": "far", "version": "v1"},
    "paths": {f"/apis/{GROUP}/{VERSION}/things": {"get": {"responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/Thing"}}}}}},
    "definitions": {
        METADATA: {"description": "Far metadata.", "type": "object", "properties": {"far": {"type": "string", "description": "Far away."}}},
        "Thing": {
            "description": "A far thing.", "type": "object", KINDS: [{"group": GROUP, "version": VERSION, "kind": "Thing"}],
            "properties": {"metadata": {"$ref": f"#/definitions/{METADATA}"}, "size": {"type": "integer", "description": "Its size."}},
        },
    },
}  # fmt: skip


class FarServer(ThreadingHTTPServer):
    """An API server with one kind, "things". `broken` makes its discovery document unreadable."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), FarHandler)
        self.things: set[tuple[str, str]] = set()
        self.broken = False
        signed = self_signed("far", names=["localhost"], now=datetime.now(UTC))
        pair = folder / "far.pem"
        pair.write_bytes(chain_pem(signed.certificate) + b"\n" + private_pem(signed.key))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair)
        self.socket = context.wrap_socket(self.socket, server_side=True)


class FarHandler(BaseHTTPRequestHandler):
    server: FarServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts == ["apis", GROUP, VERSION]:
            entry = {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["delete", "list", "get"]}
            document: Any = {"kind": "APIResourceList", "groupVersion": f"{GROUP}/{VERSION}", "resources": [entry]}
            self._answer(200, "broken" if self.server.broken else document)
        elif parts == ["openapi", "v2"]:
            self._answer(200, SPECIFICATION)
        elif parts[-1] == "things":
            within = [
                {"metadata": {"namespace": ns, "name": name}} for ns, name in self.server.things if ns == parts[4]
            ]
            self._answer(200, {"kind": "ThingList", "metadata": {"resourceVersion": "1"}, "items": within})
        else:
            self._answer(404, {"kind": "Status", "code": 404, "reason": "NotFound"})

    def do_DELETE(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.things.discard((parts[4], parts[-1]))
        self._answer(200, {"kind": "Status", "status": "Success"})

    def _answer(self, code: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def far(tmp_path: Path) -> Iterator[FarServer]:
    server = FarServer(tmp_path)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(server: DaemonProcess, method: str, path: str, body: Any = None) -> Any:
    code, response = server.request(method, path, body)
    assert code < 300, response
    return response


def wait_for(server: DaemonProcess, path: str, type_: str, value: str) -> Any:
    """Wait until the condition of an object has this value."""
    matching: list[Any] = []

    def look() -> bool:
        conditions = ask(server, "GET", path)["status"].get("conditions") or ()
        matching[:] = [each for each in conditions if (each["type"], each["status"]) == (type_, value)]
        return bool(matching)

    until(look, f"{type_} does not become {value}")
    return matching[0]


def register(server: DaemonProcess, far: FarServer) -> None:
    service = {"type": "ExternalName", "externalName": "localhost"}
    ask(server, "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "far"}, "spec": service})
    wanted = {
        "group": GROUP, "version": VERSION, "groupPriorityMinimum": 1000, "versionPriority": 10, "insecureSkipTLSVerify": True,
        "service": {"namespace": "default", "name": "far", "port": far.server_address[1]},
    }  # fmt: skip
    services = f"/apis/{server.dialect('apiregistration.{abbr}.io')}/v1/apiservices"
    ask(server, "POST", services, {"metadata": {"name": f"{VERSION}.{GROUP}"}, "spec": wanted})
    wait_for(server, f"{services}/{VERSION}.{GROUP}", "Available", "True")


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_aggregated_kinds_are_explained(far: FarServer, tmp_path: Path, dialect: Dialect) -> None:
    """The OpenAPI document has these kinds beside types of the same name; explain of this program and of the stock
    client shows them."""
    with DaemonProcess(tmp_path / "server", "--scheduler=false", "--emulated-version=1.23", dialect=dialect) as server:
        register(server, far)
        until(lambda: "Thing" in json.loads(ask(server, "GET", "/openapi/v2"))["definitions"])
        definitions = json.loads(ask(server, "GET", "/openapi/v2"))["definitions"]
        renamed = f"{METADATA}_v2" if dialect is KUBERNETES else METADATA
        assert definitions["Thing"]["properties"]["metadata"] == {"$ref": f"#/definitions/{renamed}"}
        assert "Far away." in orchctl("explain", "things.metadata.far", config=server.config_file).stdout
        assert "ownerReferences" in orchctl("explain", "cm.metadata", config=server.config_file).stdout
        if dialect is KUBERNETES:
            # The older form of `explain` reads this document in protobuf, the newer one that of version 3.
            cli = Cli(server, tmp_path / "home")
            assert "A far thing." in cli("explain", "things", "--output=plaintext-openapiv2")
            assert "Its size." in cli("explain", "things.size", "--output=plaintext-openapiv2")


def test_namespace_deletion_includes_aggregated_objects(far: FarServer, tmp_path: Path) -> None:
    """A namespace waits while the aggregated server is unavailable, and is removed when its objects there are
    deleted."""
    with DaemonProcess(tmp_path / "server", "--scheduler=false") as server:
        far.things = {("gone", "a"), ("gone", "b"), ("kept", "c")}
        far.broken = True
        register(server, far)
        ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
        ask(server, "DELETE", "/api/v1/namespaces/gone")
        failure = wait_for(server, "/api/v1/namespaces/gone", "NamespaceDeletionDiscoveryFailure", "True")
        assert failure["message"].startswith(
            f"Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: {GROUP}/{VERSION}: "
        )
        assert ("gone", "a") in far.things
        far.broken = False
        until(lambda: server.request("GET", "/api/v1/namespaces/gone")[0] == 404)
        assert far.things == {("kept", "c")}
