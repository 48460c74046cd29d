"""Access reviews, rules reviews and component statuses."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.testing.doubles.server import InProcessServer, user


@pytest.fixture
def root(server: InProcessServer) -> str:
    return f"/apis/{server.dialect('authorization.{abbr}.io')}/v1"


def test_self_review_is_about_the_sender(call: Any, root: str) -> None:
    """Users with different permissions get different results."""
    body = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
    assert call("POST", f"{root}/selfsubjectaccessreviews", body).json["status"] == {"allowed": True}
    denied = call("POST", f"{root}/selfsubjectaccessreviews", body, user=user("alice", "dev"))
    assert denied.json["status"] == {"allowed": False}


def test_review_names_the_binding(call: Any, root: str) -> None:
    """The reason names the binding that allows the action."""
    body = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/api"}}}
    status = call("POST", f"{root}/selfsubjectaccessreviews", body, user=user("alice", "dev")).json["status"]
    assert status["allowed"] is True
    assert "system:discovery" in status["reason"]


def test_local_review_stays_in_its_namespace(call: Any, root: str) -> None:
    """The namespaces of path, metadata and attributes must be equal."""
    attributes = {"verb": "get", "resource": "pods", "namespace": "a"}
    body = {"metadata": {"namespace": "a"}, "spec": {"user": "u", "resourceAttributes": attributes}}
    assert call("POST", f"{root}/namespaces/a/localsubjectaccessreviews", body).code == 201
    assert call("POST", f"{root}/namespaces/default/localsubjectaccessreviews", body).code == 400
    assert call("POST", f"{root}/localsubjectaccessreviews", body).code == 404


def test_reviews_are_not_stored(call: Any, root: str) -> None:
    """Reviews have managed fields, but no name, uid or version; a dry run has the same response."""
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    metadata = call("POST", f"{root}/selfsubjectaccessreviews?dryRun=All", body).json["metadata"]
    assert set(metadata) == {"creationTimestamp", "managedFields"}


def test_rules_review_lists_rules(call: Any, root: str) -> None:
    """The review lists all rules of the requester in a namespace."""
    review = call(
        "POST", f"{root}/selfsubjectrulesreviews", {"spec": {"namespace": "a"}}, user=user("alice", "dev")
    ).json
    # The response has no spec.
    assert review["spec"] == {} and review["metadata"] == {"creationTimestamp": None}
    status = review["status"]
    assert {
        "verbs": ["create"],
        "apiGroups": [root.split("/")[2]],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    } in status["resourceRules"]
    assert status["incomplete"] is False


def test_component_statuses(call: Any, server: InProcessServer) -> None:
    """A component that does not run is unhealthy; the store is healthy."""
    items = call("GET", "/api/v1/componentstatuses").json["items"]
    statuses = {i["metadata"]["name"]: i["conditions"][0]["status"] for i in items}
    assert statuses == {"scheduler": "False", "controller-manager": "False", "etcd-0": "True"}
    server.server.api.components["scheduler"] = lambda: ""
    one = call("GET", "/api/v1/componentstatuses/scheduler").json
    assert one["conditions"] == [{"type": "Healthy", "status": "True", "message": "ok"}]


def test_component_status_table(call: Any) -> None:
    """Component statuses are available as a table."""
    accept = {"accept": "application/json;as=Table;g=meta.orch.io;v=v1"}
    table = call("GET", "/api/v1/componentstatuses", headers=accept).json
    assert [row["cells"][0] for row in table["rows"]] == ["scheduler", "controller-manager", "etcd-0"]


def test_review_metadata(call: Any, root: str) -> None:
    """A review has no metadata; a local one has its namespace."""
    spec = {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "a"}}
    for plural in ("subjectaccessreviews", "selfsubjectaccessreviews"):
        for metadata in ({"namespace": "a"}, {"name": "x"}, {"labels": {"a": "b"}}):
            response = call("POST", f"{root}/{plural}", {"metadata": metadata, "spec": spec})
            assert (response.code, response.json["details"]["causes"][0]["field"]) == (422, "metadata")
    local = {"metadata": {"namespace": "a", "name": "x"}, "spec": spec}
    assert call("POST", f"{root}/namespaces/a/localsubjectaccessreviews", local).code == 422
