"""Dispatch of paths and methods to verbs, for built-in, virtual and custom kinds."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.testing.doubles.server import run

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def codes(space: Any, path: str) -> dict[str, int]:
    answers = {
        m: run(space.server.request(m, path, body={} if m in ("POST", "PUT", "PATCH") else None)) for m in METHODS
    }
    return {method: response.code for method, response in answers.items()}


@pytest.fixture
def foos(space: Any) -> str:
    """The URL of a version with a namespaced custom kind."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"plural": "foos", "kind": "Foo"}
    spec = {"group": "dispatch.example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    url = f"/apis/{space.server.dialect('apiextensions.{abbr}.io')}/v1/customresourcedefinitions"
    body = {"metadata": {"name": "foos.dispatch.example.com"}, "spec": spec}
    assert run(space.server.request("POST", url, body=body)).code in (201, 409)
    return "/apis/dispatch.example.com/v1"


@pytest.mark.parametrize(
    "path",
    [
        "/apis/authentication.{abbr}.io/v1/tokenreviews/x",
        "/apis/authentication.{abbr}.io/v1/watch/tokenreviews",
        "/apis/authorization.{abbr}.io/v1/namespaces/n/localsubjectaccessreviews/x",
        "/api/v1/namespaces/n/bindings/x",
        "/api/v1/watch/componentstatuses",
        "/api/v1/watch/componentstatuses/etcd-0",
        "/api/v1/watch/namespaces/n/pods/x/status",
        "/api/v1/watch/namespaces/n/pods/x/log",
        "/api/v1/watch/namespaces/n/finalize",
        "/api/v1/namespaces/n/configmaps/x//data",
        "/apis/storage.{abbr}.io/v1/csinodes/x//y/z",
        "/apis/storage.{abbr}.io/v1/namespaces//csinodes",
        "/api/v1/watch/namespaces//nodes/x",
    ],
)
def test_unknown_path_is_404(space: Any, path: str) -> None:
    """A path without any method is 404, whatever the method."""
    assert set(codes(space, space.server.dialect(path)).values()) == {404}


@pytest.mark.parametrize(
    "path", ["/api/v1/watch/pods", "/api/v1/watch/namespaces/n/pods/x", "/api/v1/componentstatuses/etcd-0"]
)
def test_wrong_method_is_405(space: Any, path: str) -> None:
    """Other methods of a known path are 405."""
    assert {m for m, code in codes(space, f"{path}?timeoutSeconds=1").items() if code == 405} == set(METHODS) - {"GET"}


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("configmaps", {"POST", "DELETE"}),
        ("pods/x", set(METHODS) - {"POST"}),
        ("pods/x/status", {"GET", "PUT", "PATCH"}),
    ],
)
def test_an_empty_namespace_is_all_namespaces_for_lists_only(space: Any, path: str, refused: set[str]) -> None:
    """Writes in a namespace whose name is empty are 400, as a collection of all namespaces must not be deleted by
    mistake; a list is that of all namespaces."""
    got = codes(space, f"/api/v1/namespaces//{path}")
    assert {method for method, code in got.items() if code == 400} == refused
    assert set(got.values()) <= {200, 400, 405} and (got["GET"] == 200) == ("GET" not in refused)


def test_watch_of_an_unstored_kind_is_refused(space: Any) -> None:
    """The error for a list that cannot be watched names the kind."""
    response = run(space.server.request("GET", "/api/v1/componentstatuses?watch=1"))
    assert (response.code, response.json["message"]) == (
        405,
        'watch is not supported on resources of kind "componentstatuses"',
    )


class TestCustomKinds:
    def test_only_lists_and_watches_span_namespaces(self, space: Any, foos: str) -> None:
        """Only lists and watches are available across namespaces; other methods there are 404."""
        assert codes(space, f"{foos}/foos") == {"GET": 200, "POST": 404, "PUT": 404, "PATCH": 404, "DELETE": 404}

    def test_invalid_methods_of_a_kind_are_405(self, space: Any, foos: str) -> None:
        """The error for an invalid method names the kind; PUT and PATCH of a collection have no name."""
        put = run(space.server.request("PUT", f"{foos}/namespaces/{space.name}/foos", body={}))
        assert (put.code, put.json["message"]) == (400, "name must be provided")
        odd = run(space.server.request("OPTIONS", f"{foos}/namespaces/{space.name}/foos/x"))
        assert (odd.code, odd.json["details"]) == (405, {"group": "dispatch.example.com", "kind": "foos"})
        assert odd.json["message"] == ' is not supported on resources of kind "foos.dispatch.example.com"'

    def test_unsupported_subresource_verbs(self, space: Any, foos: str) -> None:
        """An unsupported verb of a status endpoint is 405 with its name; an unknown subresource is 404."""
        url = f"{foos}/namespaces/{space.name}/foos/x"
        refused = run(space.server.request("DELETE", f"{url}/status"))
        assert refused.code == 405 and refused.json["message"].startswith(
            "delete is not supported on resources of kind"
        )
        watched = run(space.server.request("GET", f"{foos}/watch/namespaces/{space.name}/foos/x/status"))
        assert watched.code == 405 and watched.json["message"].startswith("watch is not supported")
        assert run(space.server.request("POST", f"{url}/scale", body={})).code == 404

    def test_continue_field_of_list_metadata(self, space: Any, foos: str) -> None:
        """Lists of custom kinds always have the continue field; their other representations only with a next page."""
        url = f"{foos}/namespaces/{space.name}/foos"
        assert run(space.server.request("GET", url)).json["metadata"]["continue"] == ""
        asked = {"accept": f"application/json;as=Table;g={space.server.dialect.meta_group};v=v1"}
        assert "continue" not in run(space.server.request("GET", url, headers=asked)).json["metadata"]


@pytest.mark.parametrize("pretty", ["", "&pretty=1"])
def test_table_rows_have_the_tables_version(space: Any, pretty: str) -> None:
    """Metadata in the rows has the version of the table."""
    space.config("a")
    group = space.server.dialect.meta_group
    asked = {"accept": f"application/json;as=Table;g={group};v=v1beta1"}
    shown = run(space.server.request("GET", space.url(f"configmaps?limit=5{pretty}"), headers=asked)).json
    assert {shown["apiVersion"], *(row["object"]["apiVersion"] for row in shown["rows"])} == {f"{group}/v1beta1"}


def test_proxy_to_a_service_without_endpoints(space: Any) -> None:
    """Without endpoints the service is reported as not found."""
    space.make("services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    response = space("GET", "services/s:80/proxy/")
    assert (response.code, response.json["details"]) == (404, {"name": "s", "kind": "services"})


def test_missing_pod_of_an_eviction_is_named(space: Any) -> None:
    """The message names the pod."""
    response = space("POST", "pods/none/eviction", {"metadata": {"name": "none"}})
    assert (response.code, response.json["details"]) == (404, {"name": "none", "kind": "pods"})
