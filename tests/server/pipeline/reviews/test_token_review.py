"""TokenReview: the answer keeps what was sent as status, where the result says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import run

GROUP = ORCH("authentication.{abbr}.io")
URL = f"/apis/{GROUP}/v1/tokenreviews"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (None, {"user": {}}),
        ({"authenticated": True, "user": {"username": "z"}}, {"user": {"username": "z"}}),
        ({"audiences": ["a"], "error": "e"}, {"user": {}, "audiences": ["a"]}),
    ],
)
def test_invalid_token_leaves_a_sent_status(server: Any, sent: Any, status: Any) -> None:
    """A token that no method accepts is not authenticated and sets the error; other members remain as they were
    sent."""
    body = {"spec": {"token": "x"}, **({"status": sent} if sent else {})}
    response = run(server.request("POST", URL, body=body))
    assert (response.code, response.json["status"]) == (201, {**status, "error": "invalid bearer token"})


def test_valid_token_replaces_user_and_audiences(server: Any) -> None:
    """The user and audiences of a valid token replace those that were sent; a sent error remains."""
    run(server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "review"}}))
    accounts = "/api/v1/namespaces/review/serviceaccounts"
    run(server.request("POST", accounts, body={"metadata": {"name": "a"}}))
    response = run(server.request("POST", f"{accounts}/a/token", body={"spec": {"audiences": ["here"]}}))
    spec = {"token": response.json["status"]["token"], "audiences": ["here", "there"]}
    sent = {"user": {"username": "z", "extra": {"k": ["v"]}}, "audiences": ["z"], "error": "e"}
    status = run(server.request("POST", URL, body={"spec": spec, "status": sent})).json["status"]
    assert (status["authenticated"], status["audiences"], status["error"]) == (True, ["here"], "e")
    assert status["user"]["username"] == "system:serviceaccount:review:a" and "k" not in status["user"].get("extra", {})
