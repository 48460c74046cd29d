"""OpenAPI v3: an index with hashes, a document per group version in two encodings, and changes of definitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchd.dialect import ORCH, STOCK_GVK
from orchd.kinds.openapi import v3, v3_protobuf
from orchd.kinds.openapi.aggregated import STALE, ForeignVersion
from orchd.testing.doubles.server import InProcessServer, make_server, run

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
URL = f"/apis/apiextensions.{ORCH('{abbr}.io')}/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("schemas"))
    yield server
    server.stop()


def get(server: InProcessServer, path: str, **headers: str) -> Any:
    given = {"Accept": "application/json, */*", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return run(server.request("GET", path, headers=given))


def index(server: InProcessServer) -> dict[str, str]:
    paths = get(server, "/openapi/v3").json["paths"]
    return {path: entry["serverRelativeURL"] for path, entry in paths.items()}


def test_openapi_v3_gate(tmp_path: Path) -> None:
    """With the gate off there are no documents; with it on the index needs no Accept header."""
    closed = make_server(tmp_path / "closed", "--feature-gates=OpenAPIV3=false")
    assert get(closed, "/openapi/v3").code == 404 == get(closed, "/openapi/v3/api/v1").code
    closed.stop()
    opened = make_server(tmp_path / "opened", "--feature-gates=OpenAPIV3=true")
    assert run(opened.request("GET", "/openapi/v3")).code == 200
    opened.stop()


def test_index_needs_an_accept_header(shared: InProcessServer) -> None:
    """Clients without Accept get no index, but documents by their paths."""
    assert run(shared.request("GET", "/openapi/v3")).code == 404
    assert run(shared.request("GET", "/openapi/v3/api/v1")).code == 200


def test_index_names_every_document(shared: InProcessServer) -> None:
    """The index has the path and hash of every group version's document, and those of discovery."""
    response = get(shared, "/openapi/v3")
    assert response.response.content_type == "application/json"
    urls = index(shared)
    assert {"api/v1", "apis/apps/v1", "apis/apps", "api", "apis", "version", "logs", "openid/v1/jwks"} <= urls.keys()
    assert f"apis/{ORCH('authentication.{abbr}.io')}/v1beta1" in urls
    for path, url in urls.items():
        document = get(shared, url)
        assert document.code == 200 and document.json["openapi"] == "3.0.0" and document.json["paths"]
        assert url == f"/openapi/v3/{path}?hash=" + document.headers["Etag"].strip('"')
    assert get(shared, "/openapi/v3", If_None_Match=response.headers["Etag"]).code == 304


def test_document_hashes_and_redirects(shared: InProcessServer) -> None:
    """A document with its hash may be cached, one without must be revalidated; an old hash redirects to the current
    one."""
    url = index(shared)["apis/apps/v1"]
    kept = get(shared, url)
    assert (
        kept.headers["Cache-Control"] == "public, immutable"
        and kept.headers["Expires"] == "Sat, 15 Jan 2028 08:00:00 GMT"
    )
    asked = get(shared, "/openapi/v3/apis/apps/v1")
    assert asked.headers["Cache-Control"] == "no-cache, private" and "Expires" not in asked.headers
    assert asked.body == kept.body and asked.headers["Etag"] == kept.headers["Etag"]
    old = get(shared, "/openapi/v3/apis/apps/v1?hash=OLD")
    assert (old.code, old.headers["Location"], old.body) == (301, url, b"")
    again = get(shared, url, If_None_Match=kept.headers["Etag"])
    assert again.code == 304 and not again.body
    packed = get(shared, url, Accept_Encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.body) < len(kept.body) / 4


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf", v3_protobuf.MEDIA_TYPE),
        ("application/com.github.proto-openapi.spec.v3.v1.0+protobuf,application/json;q=0.5", v3_protobuf.MEDIA_TYPE),
        ("application/json;q=0.1, application/com.github.proto-openapi.spec.v3@v1.0+protobuf", v3_protobuf.MEDIA_TYPE),
        ("text/html", ""),
    ],
)
def test_document_encodings_share_the_etag(shared: InProcessServer, accept: str, media_type: str) -> None:
    """All encodings have one Etag; the index is JSON only, whatever is accepted."""
    response = get(shared, "/openapi/v3/apis/apps/v1", Accept=accept)
    assert response.response.content_type == media_type and response.code == (200 if media_type else 406)
    if media_type == v3_protobuf.MEDIA_TYPE:
        catalog = shared.server.catalog
        document = v3.document(catalog, "apps", "v1")
        assert document is not None and response.body == v3_protobuf.encode(document)
        assert response.headers["Etag"] == get(shared, "/openapi/v3/apis/apps/v1").headers["Etag"]
    assert get(shared, "/openapi/v3", Accept=accept).json["paths"]


def test_unknown_document_is_404(shared: InProcessServer) -> None:
    """An unknown document is 404, with any hash."""
    for path in ("apis/none/v1", "api/v2", "apis/apps/v1/more", "apis/none/v1?hash=x"):
        assert get(shared, f"/openapi/v3/{path}").code == 404


def test_documents_have_what_newer_clients_need(shared: InProcessServer) -> None:
    """Documents have parameters of later releases, and kinds under the extension of stock clients."""
    document = get(shared, "/openapi/v3/apis/apps/v1").json
    named = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    parameters = {parameter["name"] for parameter in named["patch"]["parameters"]}
    assert "fieldValidation" in parameters and named["patch"][STOCK_GVK]["kind"] == "Deployment"
    listed = document["paths"]["/apis/apps/v1/deployments"]
    assert "sendInitialEvents" in {parameter["name"] for parameter in listed["get"]["parameters"]}
    schema = document["components"]["schemas"][ORCH("io.{abbr}.api.apps.v1.Deployment")]
    assert schema[STOCK_GVK] == [{"group": "apps", "kind": "Deployment", "version": "v1"}]
    reviews = get(shared, f"/openapi/v3/apis/{ORCH('authentication.{abbr}.io')}/v1").json["paths"]
    assert any(path.endswith("/selfsubjectreviews") for path in reviews)


def test_definitions_add_and_change_documents(server: Any) -> None:
    """A definition adds a document, a change gives it another hash, and the deletion removes it."""
    path = f"apis/{GROUP}/v1"
    before = index(server)
    assert path not in before
    assert run(server.request("POST", URL, body=DEFINITION)).code == 201
    server.clock.pump([1] * 3)
    first = index(server)
    assert {name: url for name, url in first.items() if name != path} == before
    schemas = get(server, first[path]).json["components"]["schemas"]
    assert schemas["com.example.v1.Foo"]["properties"]["spec"] == {"type": "string"}
    change = [
        {"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/type", "value": "integer"}
    ]
    headers = {"content-type": "application/json-patch+json"}
    url = f"{URL}/foos.{GROUP}"
    assert run(server.request("PATCH", url, body=change, headers=headers)).code == 200
    server.clock.pump([1] * 3)
    second = index(server)[path]
    assert second != first[path] and get(server, first[path]).headers["Location"] == second
    schemas = get(server, second).json["components"]["schemas"]
    assert schemas["com.example.v1.Foo"]["properties"]["spec"] == {"type": "integer"}
    assert run(server.request("DELETE", url)).code == 200
    server.clock.pump([1] * 3)
    assert path not in index(server) and get(server, second).code == 404


def test_definition_builds_only_its_own_document(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition builds one document."""
    index(server)
    made: list[str] = []
    whole = v3.document

    def counting(catalog: Any, group: str, *arguments: Any) -> Any:
        made.append(group)
        return whole(catalog, group, *arguments)

    monkeypatch.setattr(v3, "document", counting)
    assert run(server.request("POST", URL, body=DEFINITION)).code == 201
    server.clock.pump([1] * 3)
    index(server)
    assert set(made) == {GROUP}


def test_served_bytes_are_those_hashed(shared: InProcessServer) -> None:
    """The served bytes have the hash of the index."""
    response = get(shared, "/openapi/v3/api/v1")
    assert orjson.dumps(response.json) == response.body


def test_aggregated_documents_are_listed_without_a_hash(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index lists them without a hash, and they are fetched from their servers; but not before the server of one has
    been reached."""
    services = f"/apis/{ORCH('apiregistration.{abbr}.io/v1')}/apiservices"
    spec = {
        "group": "g.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        "insecureSkipTLSVerify": True, "service": {"namespace": "a", "name": "s"},
    }  # fmt: skip
    before = index(server)
    assert (
        run(server.request("POST", services, body={"metadata": {"name": "v1.g.example.com"}, "spec": spec})).code == 201
    )
    assert index(server) == before and get(server, "/openapi/v3/apis/g.example.com/v1").code == 404
    reached = (
        ForeignVersion(
            group="g.example.com", version="v1", group_priority=1, version_priority=1, resources=b"{}", freshness=STALE
        ),
    )
    monkeypatch.setattr(server.server.api.documents.schemas, "_foreign", lambda: reached)
    after = index(server)
    assert after == {**before, "apis/g.example.com/v1": "/openapi/v3/apis/g.example.com/v1"}
    assert get(server, after["apis/g.example.com/v1"]).code == 503
    assert get(server, after["apis/apps/v1"]).code == 200
    assert run(server.request("DELETE", f"{services}/v1.g.example.com")).code == 200
    monkeypatch.undo()
    assert index(server) == before
