"""TokenRequest, and TokenReview of the token."""

from __future__ import annotations

from typing import Any

import pytest

TOKEN = "/api/v1/namespaces/a/serviceaccounts/default/token"


def review(call: Any, server: Any, token: str, *audiences: str) -> Any:
    group = server.dialect("authentication.{abbr}.io")
    spec = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    return call("POST", f"/apis/{group}/v1/tokenreviews", {"spec": spec}).json["status"]


def test_token_belongs_to_the_account(call: Any, server: Any) -> None:
    """By default a token is valid for this server and an hour, and a review returns the account."""
    asked = call("POST", TOKEN, {"spec": {}})
    assert asked.code == 201
    assert asked.json["spec"]["expirationSeconds"] == 3600
    status = review(call, server, asked.json["status"]["token"])
    assert status["user"]["username"] == "system:serviceaccount:a:default"


def test_audiences_are_kept(call: Any, server: Any) -> None:
    """A token for another audience is not valid for this server; a review for that audience returns it."""
    token = call("POST", TOKEN, {"spec": {"audiences": ["vault", "other"]}}).json["status"]["token"]
    assert "error" in review(call, server, token)
    assert review(call, server, token, "vault", "nobody")["audiences"] == ["vault"]


def test_bound_token_ends_with_its_pod(call: Any, server: Any) -> None:
    """The token is valid while the pod exists."""
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert call("POST", "/api/v1/namespaces/a/pods", body).code == 201
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    token = call("POST", TOKEN, {"spec": {"boundObjectRef": ref}}).json["status"]["token"]
    assert review(call, server, token)["authenticated"] is True
    call("DELETE", "/api/v1/namespaces/a/pods/p?gracePeriodSeconds=0")
    assert "authenticated" not in review(call, server, token)


@pytest.mark.parametrize("seconds", [599, 2**32 + 1, 0, -1])
def test_lifetimes_have_bounds(call: Any, seconds: int) -> None:
    """The minimum is ten minutes, the maximum 2^32 seconds."""
    assert call("POST", TOKEN, {"spec": {"expirationSeconds": seconds}}).code == 422


def test_token_cannot_be_bound_to_a_foreign_pod(call: Any) -> None:
    """A token cannot be bound to a pod of another service account."""
    call("POST", "/api/v1/namespaces/a/serviceaccounts", {"metadata": {"name": "other"}})
    spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "other"}
    assert call("POST", "/api/v1/namespaces/a/pods", {"metadata": {"name": "p"}, "spec": spec}).code == 201
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    assert call("POST", TOKEN, {"spec": {"boundObjectRef": ref}}).code == 400


def test_bound_object_needs_a_name(call: Any) -> None:
    """A bound object without a name, and one that does not exist, have different errors."""
    answers = [
        call("POST", TOKEN, {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": n}}})
        for n in ("", "absent")
    ]
    assert [(a.code, a.json["message"]) for a in answers] == [
        (400, "Name parameter required."),
        (404, 'pods "absent" not found'),
    ]
