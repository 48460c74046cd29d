"""The decisions of docs/specification.md, by requests to a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchd.dialect import KUBERNETES
from orchd.testing.doubles.server import InProcessServer, make_server, run

CONFIGS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("data"), "--dialect=kubernetes", "--emulated-version=1.23")
    yield server
    server.stop()


def ask(server: InProcessServer, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, bytes]:
    response = run(server.request(method, path, body=body, **more))
    return response.code, response.body


@pytest.mark.parametrize(("query", "code"), [("?dryRun=All", 201), ("?dryRun=", 422), ("?dryRun", 422)])
def test_dry_run_without_a_value_is_refused(server: InProcessServer, query: str, code: int) -> None:
    """A dry run must be asked for with its only value, and writes nothing; an empty value is an error."""
    assert ask(server, "POST", CONFIGS + query, {"metadata": {"name": "dry"}})[0] == code
    assert ask(server, "GET", f"{CONFIGS}/dry")[0] == 404


@pytest.mark.parametrize("value", [[], [{}]])
def test_an_empty_list_clears_managed_fields(server: InProcessServer, value: list[Any]) -> None:
    """An empty list clears the managed fields, as a list with an empty entry does."""
    name = f"managed-{len(value)}"
    made = orjson.loads(ask(server, "POST", CONFIGS, {"metadata": {"name": name}, "data": {"a": "b"}})[1])
    assert made["metadata"]["managedFields"]
    code, body = ask(
        server, "PATCH", f"{CONFIGS}/{name}", {"metadata": {"managedFields": value}}, headers={"content-type": MERGE}
    )
    assert code == 200 and "managedFields" not in orjson.loads(body)["metadata"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422),
        ("resourceVersionMatch=Newest&resourceVersion=1", 422),
        ("resourceVersionMatch=Exact&resourceVersion=1&continue=x", 422),
        ("resourceVersionMatch=Exact&resourceVersion=1&watch=true", 422),
        ("resourceVersionMatch=NotOlderThan&resourceVersion=1", 200),
    ],
)
def test_codes_of_resource_version_match(server: InProcessServer, query: str, code: int) -> None:
    """Combinations that are not allowed are invalid values."""
    assert ask(server, "GET", f"{CONFIGS}?{query}")[0] == code


@pytest.mark.parametrize("path", ["livez", "readyz", "healthz"])
def test_last_line_of_health_names_the_endpoint(server: InProcessServer, path: str) -> None:
    """The last line names the endpoint that was asked."""
    assert ask(server, "GET", f"/{path}?verbose")[1].endswith(f"{path} check passed\n".encode())


@pytest.mark.parametrize(
    ("gate", "codes"),
    [("", (200, 404)), ("--feature-gates=OpenAPIV3=true", (200, 200)), ("--feature-gates=OpenAPIV3=false", (404, 404))],
)
def test_openapi_v3_is_on(tmp_path: Path, gate: str, codes: tuple[int, int]) -> None:
    """OpenAPI v3 is served to requests with an Accept header; with its gate on or off to all or to none."""
    server = make_server(tmp_path, *filter(None, [gate]))
    accepting = ask(server, "GET", "/openapi/v3", headers={"accept": "application/json"})[0]
    assert (accepting, ask(server, "GET", "/openapi/v3")[0]) == codes
    server.stop()


def test_pods_of_the_default_namespace_request_nothing(server: InProcessServer) -> None:
    """There is no LimitRange at first, so a pod of the namespace default requests no CPU."""
    ask(server, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    code, body = ask(server, "POST", "/api/v1/namespaces/default/pods", pod)
    assert (code, orjson.loads(body)["spec"]["containers"][0]["resources"]) == (201, {})


def test_pod_security_is_on(server: InProcessServer) -> None:
    """The labels of a namespace are enforced without a flag."""
    label = KUBERNETES("pod-security.{long}.io/enforce")
    ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "strict", "labels": {label: "restricted"}}})
    ask(server, "POST", "/api/v1/namespaces/strict/serviceaccounts", {"metadata": {"name": "default"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    code, body = ask(server, "POST", "/api/v1/namespaces/strict/pods", pod)
    assert code == 403 and b"violates PodSecurity" in body
