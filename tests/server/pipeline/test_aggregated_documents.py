"""Aggregated discovery: negotiation, encodings and Etags."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import run

ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BETA = ACCEPT.replace("v=v2", "v=v2beta1")
OWN = ACCEPT.replace("k8s.io", ORCH("{abbr}.io"))
DEFINITION = {
    "metadata": {"name": "foos.example.com"},
    "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
}  # fmt: skip


def get_document(server: Any, path: str, accept: str, **headers: str) -> Any:
    return run(server.request("GET", path, headers={"Accept": accept, **headers}))


@pytest.mark.parametrize(
    ("accept", "api_version"),
    [
        (ACCEPT, "apidiscovery.k8s.io/v2"),
        (BETA, "apidiscovery.k8s.io/v2beta1"),
        (OWN, "apidiscovery.orch.io/v2"),
        (f"{ACCEPT},{BETA},application/json", "apidiscovery.k8s.io/v2"),
        (f"application/json,{BETA}", "apidiscovery.k8s.io/v2beta1"),
        (f"{ACCEPT};q=0.5,{BETA}", "apidiscovery.k8s.io/v2beta1"),
        (ACCEPT.replace("application/json", "*/*"), "apidiscovery.k8s.io/v2"),
    ],
)
def test_aggregated_discovery_by_accept_header(server: Any, accept: str, api_version: str) -> None:
    """The aggregated form that the client prefers is returned, even after a plain one; Content-Type names it."""
    for path in ("/api", "/apis", "/apis/"):
        response = get_document(server, path, accept)
        assert (response.code, response.json["apiVersion"]) == (200, api_version)
        group, _, version = api_version.partition("/")
        assert response.response.content_type == f"application/json;g={group};v={version};as=APIGroupDiscoveryList"
        assert response.headers["Vary"] == "Accept" and response.headers["Cache-Control"] == "public"
    assert [item["metadata"]["name"] for item in response.json["items"]][:2] == ["apiregistration.orch.io", "apps"]


@pytest.mark.parametrize(
    "accept", ["", "application/json", ACCEPT.replace("v=v2", "v=v3") + ",application/json", "*/*"]
)
def test_unaggregated_discovery_by_default(server: Any, accept: str) -> None:
    """Other clients get the documents of release 1.23."""
    assert get_document(server, "/api", accept).json["kind"] == "APIVersions"
    assert get_document(server, "/apis", accept).json["kind"] == "APIGroupList"


def test_unknown_discovery_forms_are_refused(server: Any) -> None:
    """An unknown form is rejected if nothing else is accepted; other paths have no aggregated form."""
    assert get_document(server, "/apis", ACCEPT.replace("v=v2", "v=v3")).code == 406
    assert get_document(server, "/apis/apps", ACCEPT).code == 406


@pytest.mark.parametrize("accept", ["", ACCEPT])
@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_methods_of_discovery(server: Any, method: str, accept: str) -> None:
    """The list of groups and each group are answered for any method, other documents for GET alone."""
    codes = {"/apis": 200, "/apis/": 200, "/apis/apps": 406 if accept else 200, "/api": 405, "/apis/apps/v1": 405}
    headers = {"Accept": accept} if accept else {}
    answered = {path: run(server.request(method, path, headers=headers)).code for path in codes}
    assert answered == codes


def test_discovery_etags(server: Any) -> None:
    """A matching Etag gives 304; a new definition changes the Etag, its deletion restores it."""
    first = get_document(server, "/apis", ACCEPT).headers["Etag"]
    again = get_document(server, "/apis", ACCEPT, **{"If-None-Match": first})
    assert (again.code, again.body, again.headers["Etag"]) == (304, b"", first)
    definitions = f"/apis/apiextensions.{ORCH('{abbr}.io')}/v1/customresourcedefinitions"
    assert run(server.request("POST", definitions, body=DEFINITION)).code == 201
    server.clock.pump([1] * 3)
    changed = get_document(server, "/apis", ACCEPT, **{"If-None-Match": first})
    assert changed.code == 200 and changed.headers["Etag"] != first
    assert changed.json["items"][-1]["metadata"]["name"] == "example.com"
    assert run(server.request("DELETE", f"{definitions}/foos.example.com")).code == 200
    server.clock.pump([1] * 3)
    assert get_document(server, "/apis", ACCEPT, **{"If-None-Match": first}).code == 304


def test_all_encodings_share_the_etag(server: Any) -> None:
    """YAML and protobuf have the same Etag."""
    tag = get_document(server, "/api", ACCEPT).headers["Etag"]
    for form in ("application/yaml", ORCH.protobuf):
        response = get_document(server, "/api", ACCEPT.replace("application/json", form))
        assert response.code == 200 and response.headers["Etag"] == tag
        assert response.response.content_type.startswith(f"{form};g=") and b"configmaps" in response.body
    assert get_document(server, "/api?pretty=1", ACCEPT).body.startswith(b"{\n")
