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
    created = orjson.loads(ask(server, "POST", CONFIGS, {"metadata": {"name": name}, "data": {"a": "b"}})[1])
    assert created["metadata"]["managedFields"]
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


@pytest.mark.parametrize(
    ("method", "path", "media_type", "code"),
    [
        ("DELETE", "/api/v1/namespaces//configmaps", "", 400),
        ("POST", "/api/v1/namespaces//configmaps", "", 400),
        ("PATCH", "/api/v1/namespaces/default", "x/y", 415),
        ("GET", "/logs/", "", 404),
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "", 201),
    ],
)
def test_codes_of_requests(server: InProcessServer, method: str, path: str, media_type: str, code: int) -> None:
    """An empty namespace is refused, as are media types of empty patches; there are no log files."""
    body = (
        {"metadata": {"name": "a"}} if method == "POST" and "configmaps" in path else {} if method == "POST" else None
    )
    headers = {"content-type": media_type} if media_type else {}
    assert ask(server, method, path, body, headers=headers)[0] == code


def test_data_of_a_revision_is_immutable_for_strategic_merge_patches(server: InProcessServer) -> None:
    revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
    assert ask(server, "POST", revisions, {"metadata": {"name": "r"}, "revision": 1, "data": {"a": 1}})[0] == 201
    headers = {"content-type": "application/strategic-merge-patch+json"}
    assert ask(server, "PATCH", f"{revisions}/r", {"data": {"a": 2}}, headers=headers)[0] == 422


def test_an_update_without_a_change_writes_nothing(server: InProcessServer) -> None:
    volumes = "/api/v1/persistentvolumes"
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    created = orjson.loads(ask(server, "POST", volumes, {"metadata": {"name": "v"}, "spec": spec})[1])
    assert orjson.loads(ask(server, "PUT", f"{volumes}/v", created)[1]) == created


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
