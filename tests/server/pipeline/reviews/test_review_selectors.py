"""Selectors of requests and of access reviews, in a whole server with the node authorizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.testing.doubles.server import make_server, run, user

NODE = user("system:node:n1", "system:nodes")
PODS = "/api/v1/pods"


@pytest.mark.parametrize(
    ("release", "path", "code"),
    [
        ("1.23", PODS, 200),
        ("1.35", PODS, 403),
        ("1.35", f"{PODS}?fieldSelector=spec.nodeName%3Dn1", 200),
        ("1.35", f"{PODS}?fieldSelector=spec.nodeName%3Dn2", 403),
        ("1.35", "/api/v1/watch/pods?fieldSelector=spec.nodeName%3Dn1", 403),
    ],
)
def test_lists_of_nodes(tmp_path: Path, release: str, path: str, code: int) -> None:
    """From 1.32 on a node lists only its own pods; the deprecated paths of watches are authorized without their
    selectors."""
    server = make_server(tmp_path, "--authorization-mode=Node,RBAC", f"--emulated-version={release}")
    try:
        assert run(server.request("GET", path, user=NODE)).code == code
    finally:
        server.stop()


def review(**selector: Any) -> dict[str, Any]:
    asked = {"verb": "list", "resource": "pods", "fieldSelector": selector}
    return {"spec": {"user": "system:node:n1", "groups": ["system:nodes"], "resourceAttributes": asked}}


def test_selectors_in_access_reviews(tmp_path: Path) -> None:
    """An access review is decided with its selectors, and refused where they are malformed."""
    server = make_server(tmp_path, "--dialect=orch", "--authorization-mode=Node,RBAC", "--emulated-version=1.35")
    path = "/apis/authorization.orch.io/v1/subjectaccessreviews"
    own = {"key": "spec.nodeName", "operator": "In", "values": ["n1"]}
    try:
        allowed = run(server.request("POST", path, body=review(rawSelector="spec.nodeName=n1")))
        assert allowed.json["status"] == {"allowed": True}
        partly = review(requirements=[own, {"key": "x", "operator": "New"}])
        status = run(server.request("POST", path, body=partly)).json["status"]
        ignored = "spec.resourceAttributes.fieldSelector partially ignored due to parse error"
        assert status == {"allowed": True, "evaluationError": ignored}
        both = run(server.request("POST", path, body=review(rawSelector="a=b", requirements=[own])))
        assert both.code == 422 and "may not specified at the same time as requirements" in both.json["message"]
        neither = run(server.request("POST", path, body=review()))
        assert neither.code == 422 and "requirements or rawSelector is required" in neither.json["message"]
        empty = run(server.request("POST", path, body=review(requirements=[{"operator": "In"}])))
        fields = {cause["field"] for cause in empty.json["details"]["causes"]}
        at = "spec.resourceAttributes.fieldSelector.requirements[0]"
        assert fields == {f"{at}.key", f"{at}.values"}
    finally:
        server.stop()
