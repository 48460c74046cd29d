"""What releases answer differently to the same request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchd.kinds.identity import User
from orchd.server.authn.signedtokens import unverified_claims
from orchd.testing.doubles.server import Answer, InProcessServer, make_server, run

OLD, NEW = "1.23", "1.35"
NAMESPACE: Any = {"metadata": {"name": "a"}}
ACCOUNT: Any = {"metadata": {"name": "robot"}}
POD: Any = {
    "metadata": {"name": "p"},
    "spec": {"serviceAccountName": "robot", "nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
}


def tokens(**metadata: str) -> tuple[str, str, Any]:
    body = {"kind": "TokenRequest", "apiVersion": "authentication.orch.io/v1", "metadata": metadata, "spec": {}}
    return "POST", "/api/v1/namespaces/a/serviceaccounts/robot/token", body


def bound(kind: str, name: str) -> tuple[str, str, Any]:
    method, path, body = tokens()
    return method, path, {**body, "spec": {"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name}}}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, InProcessServer]]:
    made = {}
    for release in (OLD, NEW):
        flags = (f"--emulated-version={release}", "--disable-admission-plugins=ServiceAccount")
        server = made[release] = make_server(tmp_path_factory.mktemp(release), *flags)
        for path, body in (
            ("/api/v1/namespaces", NAMESPACE),
            ("/api/v1/nodes", {"metadata": {"name": "n"}}),
            ("/api/v1/namespaces/a/serviceaccounts", ACCOUNT),
            ("/api/v1/namespaces/a/pods", POD),
        ):
            assert ask(server, ("POST", path, body)).code == 201
    yield made
    for server in made.values():
        server.stop()


def ask(server: InProcessServer, request: tuple[str, str, Any], **more: Any) -> Answer:
    method, path, body = request
    user = User(name="admin", groups=("system:masters",))
    return run(server.request(method, path, user=user, body=body, **more))


REQUESTS: list[tuple[tuple[str, str, Any], int, str, int, str]] = [
    # A request; the code and a part of the message of the old release, and of the new one.
    (tokens(name="other"), 201, "", 422, 'metadata.name: Invalid value: "other": must match the service account name'),
    (tokens(namespace="b"), 201, "", 400, "the namespace of the provided object does not match the namespace sent"),
    (tokens(uid="1"), 201, "", 409, "the UID in the token request (1) does not match the UID of the service account"),
    (bound("Node", "n"), 400, "cannot bind token to object of type /v1, Kind=Node", 201, ""),
    (bound("Node", "gone"), 400, "cannot bind token to object", 404, 'nodes "gone" not found'),
]


@pytest.mark.parametrize("row", REQUESTS, ids=lambda row: f"{row[0][1]}-{row[3]}-{row[4][:20]}")
def test_answers_of_both_releases(servers: dict[str, InProcessServer], row: Any) -> None:
    """Each release answers with its own code and message."""
    request, *expected = row
    for release, code, message in ((OLD, *expected[:2]), (NEW, *expected[2:])):
        answer = ask(servers[release], request)
        assert answer.code == code, answer.body
        assert message in answer.json.get("message", ""), answer.body


def test_tokens_have_an_identifier_and_a_node(servers: dict[str, InProcessServer]) -> None:
    """Tokens of the new release have an ID and name the node of their pod; the request is answered with the account's metadata."""
    old, new = (ask(servers[release], bound("Pod", "p")).json for release in (OLD, NEW))
    earlier, later = (unverified_claims(each["status"]["token"]) for each in (old, new))
    assert earlier is not None and later is not None
    assert "jti" not in earlier and "node" not in earlier["orch.io"]
    assert len(later["jti"]) == 36 and later["orch.io"]["node"]["name"] == "n"
    assert "name" not in old["metadata"] and new["metadata"]["name"] == "robot"
    review = ("POST", "/apis/authentication.orch.io/v1/tokenreviews", {"spec": {"token": new["status"]["token"]}})
    extra = ask(servers[NEW], review).json["status"]["user"]["extra"]
    assert extra["authentication.orch.io/credential-id"] == [f"JTI={later['jti']}"]
    assert extra["authentication.orch.io/node-name"] == ["n"]
