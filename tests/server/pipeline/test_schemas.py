"""OpenAPI v3 behind its gate: an index, a document per group version, tags, and definitions that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.server import InProcessServer, make_server, run

GROUP = "example.com"
DEFINITION = {
    "metadata": {"name": f"foos.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "foos", "kind": "Foo"},
        "versions": [
            {"name": "v1", "served": True, "storage": True,
             "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}}}
        ],
    },
}  # fmt: skip


@pytest.fixture
def open_server(tmp_path: Path) -> Iterator[InProcessServer]:
    made = make_server(tmp_path, "--feature-gates=OpenAPIV3=true")
    yield made
    made.stop()


def test_closed(server: Any) -> None:
    """Without the gate there is nothing."""
    assert run(server.request("GET", "/openapi/v3")).code == 404


def test_index_and_documents(open_server: InProcessServer) -> None:
    """The index names every group version; each document has a tag and a compressed form."""
    index = run(open_server.request("GET", "/openapi/v3")).json["paths"]
    assert {"api/v1", "apis/apps/v1"} <= index.keys()
    for path in index:
        answer = run(open_server.request("GET", f"/openapi/v3/{path}"))
        assert answer.code == 200 and answer.json["openapi"] == "3.0.0" and answer.json["paths"]
    tag = answer.headers["Etag"]
    again = run(open_server.request("GET", f"/openapi/v3/{path}", headers={"If-None-Match": tag}))
    assert again.code == 304 and not again.body
    packed = run(open_server.request("GET", f"/openapi/v3/{path}", headers={"Accept-Encoding": "gzip"}))
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.body) < len(answer.body) / 4
    assert run(open_server.request("GET", "/openapi/v3/apis/none/v1")).code == 404
    assert run(open_server.request("GET", "/openapi/v3", headers={"Accept": "text/html"})).code == 406


def test_custom_kinds(open_server: InProcessServer) -> None:
    """A definition adds a document, a change of it another one under another address, and its end takes it away."""
    path = f"apis/{GROUP}/v1"
    definitions = f"/apis/apiextensions.{open_server.dialect('{abbr}.io')}/v1/customresourcedefinitions"

    def address() -> Any:
        return run(open_server.request("GET", "/openapi/v3")).json["paths"].get(path, {}).get("serverRelativeURL")

    assert address() is None
    assert run(open_server.request("POST", definitions, body=DEFINITION)).code == 201
    open_server.clock.pump([1] * 3)
    first = address()
    schemas = run(open_server.request("GET", first)).json["components"]["schemas"]
    assert schemas["com.example.v1.Foo"]["properties"]["spec"] == {"type": "string"}
    change = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/type", "value": "integer"}]
    headers = {"content-type": "application/json-patch+json"}
    url = f"{definitions}/foos.{GROUP}"
    assert run(open_server.request("PATCH", url, body=change, headers=headers)).code == 200
    open_server.clock.pump([1] * 3)
    assert address() not in (None, first)
    schemas = run(open_server.request("GET", address())).json["components"]["schemas"]
    assert schemas["com.example.v1.Foo"]["properties"]["spec"] == {"type": "integer"}
    assert run(open_server.request("DELETE", url)).code == 200
    open_server.clock.pump([1] * 3)
    assert address() is None
