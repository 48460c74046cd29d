"""SelfSubjectReview: the requester's own attributes, in all versions that clients request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.users import User
from orchd.testing.doubles.server import make_server, run, user

GROUP = ORCH("authentication.{abbr}.io")
ALICE = User(name="alice", uid="7", groups=("people", "system:authenticated"), extra={"scopes": ("a", "b")})


def url(version: str) -> str:
    return f"/apis/{GROUP}/{version}/selfsubjectreviews"


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_attributes_of_the_requester(server: Any, version: str) -> None:
    """All attributes are returned, and nothing of the request body."""
    sent = {"metadata": {"name": "x"}, "status": {"userInfo": {"username": "bob"}}}
    response = run(server.request("POST", url(version), body=sent, user=ALICE))
    assert response.code == 201
    assert response.json == {
        "kind": "SelfSubjectReview", "apiVersion": f"{GROUP}/{version}",
        "metadata": {"creationTimestamp": "2027-01-15T08:00:00Z"},
        "status": {
            "userInfo": {
                "username": "alice", "uid": "7", "groups": ["people", "system:authenticated"], "extra": {"scopes": ["a", "b"]},
            }
        },
    }  # fmt: skip


def test_review_shows_the_impersonated_user(server: Any) -> None:
    """The review is about the impersonated user."""
    response = run(server.request("POST", url("v1"), body={}, headers={"Impersonate-User": "bob"}))
    assert response.json["status"]["userInfo"] == {"username": "bob", "groups": ["system:authenticated"]}


def test_authenticated_users_may_review_themselves(server: Any, tmp_path: Path) -> None:
    """With RBAC every authenticated user may create it, as with a role of later releases; with AlwaysDeny no user
    may."""
    nobody = User(name="system:anonymous", groups=("system:unauthenticated",))
    for asker, expected in ((user("alice", "people"), 201), (nobody, 403)):
        assert run(server.request("POST", url("v1"), body={}, user=asker)).code == expected
    assert run(server.request("GET", url("v1"))).code == 405
    assert run(server.request("POST", f"{url('v1')}/x", body={})).code in (404, 405)
    denying = make_server(tmp_path / "denying", "--authorization-mode=AlwaysDeny")
    assert run(denying.request("POST", url("v1"), body={}, user=user("alice", "people"))).code == 403
    denying.stop()


def test_not_in_documents_of_release_1_23(server: Any) -> None:
    """It is neither in the group's resource list and versions nor in the OpenAPI document."""
    listed = run(server.request("GET", f"/apis/{GROUP}/v1")).json["resources"]
    assert [each["name"] for each in listed] == ["tokenreviews"]
    assert run(server.request("GET", f"/apis/{GROUP}/v1beta1")).code == 404
    versions = run(server.request("GET", f"/apis/{GROUP}")).json["versions"]
    assert [each["version"] for each in versions] == ["v1"]
    assert b"SelfSubjectReview" not in run(server.request("GET", "/openapi/v2")).body
