"""Paths and parameters of requests."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client import requests
from orchd.client.interfaces import ResourceRef
from orchd.client.requests import Call

PODS, NODES = ResourceRef("", "v1", "pods"), ResourceRef("", "v1", "nodes")
DEPLOYMENTS = ResourceRef("apps", "v1", "deployments")
EVERYTHING = "/api/v1/pods"


@pytest.mark.parametrize(
    "call, path, query",
    [
        (requests.get(PODS, "a", "p"), "/api/v1/namespaces/a/pods/p", {}),
        (requests.get(NODES, "", "n"), "/api/v1/nodes/n", {}),
        (
            requests.get(DEPLOYMENTS, "a", "d", subresource="scale"),
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            {},
        ),
        (requests.get(PODS, "a", "p", resource_version="0"), "/api/v1/namespaces/a/pods/p", {"resourceVersion": "0"}),
        (requests.list_(PODS), EVERYTHING, {}),
        (requests.list_(PODS, "a"), "/api/v1/namespaces/a/pods", {}),
        (requests.list_(PODS, label_selector="a=b"), EVERYTHING, {"labelSelector": "a=b"}),
        (requests.list_(PODS, field_selector="a=b"), EVERYTHING, {"fieldSelector": "a=b"}),
        (requests.list_(PODS, resource_version="5", limit=7), EVERYTHING, {"resourceVersion": "5", "limit": "7"}),
        (requests.list_(PODS, continue_="x"), EVERYTHING, {"continue": "x"}),
        (
            requests.list_(PODS, query={"timeoutSeconds": "3"}, limit=1),
            EVERYTHING,
            {"timeoutSeconds": "3", "limit": "1"},
        ),
    ],
)
def test_reads(call: Call, path: str, query: dict[str, Any]) -> None:
    """Parameters that are not chosen are not sent."""
    assert (call.method, call.path, call.body) == ("GET", path, None)
    assert {name: str(value) for name, value in call.query.items()} == query
    assert not call.metadata_only
    assert requests.list_(PODS, metadata_only=True).metadata_only
