"""The newest Python client with APIs of later releases, over a real socket and without any flags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from orchd.dialect import KUBERNETES, STOCK_INITIAL_EVENTS_END
from orchd.testing.processes.daemon import DaemonProcess
from tests.wire.wire_cli import config_map, in_new_namespace

stock = pytest.importorskip(KUBERNETES.long)
client, config = stock.client, stock.config

ACCEPT = KUBERNETES("application/json;g=apidiscovery.{abbr}.io;v=v2;as=APIGroupDiscoveryList")


@pytest.fixture(scope="module")
def api(server: DaemonProcess) -> Iterator[Any]:
    api = config.new_client_from_config(str(server.config_file))
    yield api
    api.close()


def get(server: DaemonProcess, path: str, accept: str) -> Any:
    """Status, headers and JSON of a GET request."""
    connection = server.connect()
    connection.request("GET", path, headers={"Accept": accept})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, response.headers, json.loads(data)


def test_self_subject_review(api: Any) -> None:
    """A SelfSubjectReview is answered although release 1.23 has none."""
    review = client.AuthenticationV1Api(api).create_self_subject_review(client.V1SelfSubjectReview())
    assert "system:masters" in review.status.user_info.groups


def test_aggregated_discovery(server: DaemonProcess) -> None:
    """Discovery takes two documents, with Etags."""
    for path, name in (("/api", "pods"), ("/apis", "deployments")):
        code, headers, document = get(server, path, f"{ACCEPT},application/json")
        assert code == 200 and headers["Etag"] and headers["Content-Type"] == ACCEPT
        listed = [
            each["resource"]
            for group in document["items"]
            for version in group["versions"]
            for each in version["resources"]
        ]
        assert name in listed


def test_openapi_v3_index(server: DaemonProcess) -> None:
    """The index lists documents that may be cached."""
    _, _, index = get(server, "/openapi/v3", "*/*")
    code, headers, document = get(server, index["paths"]["apis/apps/v1"]["serverRelativeURL"], "application/json")
    assert code == 200 and headers["Cache-Control"] == "public, immutable" and document["openapi"] == "3.0.0"


def test_watch_list(server: DaemonProcess, api: Any) -> None:
    """A watch begins with the current objects, and a bookmark ends these."""
    namespace = in_new_namespace(server, "streamed")
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, config_map("a"))
    response = core.list_namespaced_config_map(
        namespace, watch=True, send_initial_events=True, resource_version_match="NotOlderThan", allow_watch_bookmarks=True,
        timeout_seconds=1, _preload_content=False,
    )  # fmt: skip
    events = [json.loads(line) for line in response.read().splitlines()]
    mark = next(event for event in events if event["type"] != "ADDED")
    assert "a" in [event["object"]["metadata"]["name"] for event in events[: events.index(mark)]]
    assert mark["type"] == "BOOKMARK" and mark["object"]["metadata"]["annotations"][STOCK_INITIAL_EVENTS_END] == "true"


def test_strict_field_validation(server: DaemonProcess) -> None:
    """Unknown fields are rejected on request."""
    namespace = in_new_namespace(server, "strict")
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    body = {**config_map("a"), "dat": {}}
    code, response = server.request("POST", f"{path}?fieldValidation=Strict", body)
    assert code == 400 and 'unknown field "dat"' in response["message"]
    assert server.request("POST", path, body)[0] == 201
