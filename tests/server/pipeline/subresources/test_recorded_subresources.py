"""Recorded responses of subresources whose bodies have another kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.doubles.server import InProcessServer, make_server, run, user

#: Prefixes of the cases' ids.
_MINE = (
    "Pod/binding-", "Pod/evict-", "Pod/sub-", "TokenRequest/", "TokenReview/", "Scale/", "SubjectAccessReview/",
    "SelfSubjectAccessReview/", "LocalSubjectAccessReview/", "SelfSubjectRulesReview/", "routing/get-componentstatus",
    "routing/delete-componentstatus", "routing/get-tokenreviews",
)  # fmt: skip
#: The message prints a Go struct.
_DUMPED = ("SubjectAccessReview/sar-with-name",)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    folder: Path = tmp_path_factory.mktemp("recorded")
    tokens = folder / "tokens.csv"
    tokens.write_text('alice-token,alice,alice-uid,"dev,qa"\n')
    server = make_server(folder, f"--token-auth-file={tokens}", "--allow-privileged=true")
    run(server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "facts"}}))
    run(server.request("POST", "/api/v1/namespaces/facts/serviceaccounts", body={"metadata": {"name": "default"}}))
    for letter in "def":
        # The recorded setup omits the pods that its budgets cover.
        labels = {"pdb": letter}
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1", "automountServiceAccountToken": False}
        pods = "/api/v1/namespaces/facts/pods"
        pod = {"metadata": {"name": f"ev-{letter}", "labels": labels}, "spec": spec}
        assert run(server.request("POST", pods, body=pod)).code == 201
        status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        headers = {"content-type": "application/merge-patch+json"}
        assert run(server.request("PATCH", f"{pods}/ev-{letter}/status", body=status, headers=headers)).code == 200
    yield server
    server.stop()


def send(server: InProcessServer, request: dict[str, Any]) -> Any:
    headers = {"content-type": request.get("ct") or "application/json", **(request.get("headers") or {})}
    who = user("alice", "dev", "qa") if request.get("token") else user("admin")
    return run(server.request(request["m"], request["p"], body=request.get("body"), user=who, headers=headers))


def unordered(status: dict[str, Any]) -> dict[str, Any]:
    """Rules in a fixed order: that of the bindings is not defined."""
    return {k: sorted(map(str, v)) if k.endswith("Rules") else v for k, v in status.items()}


def test_answers_match_the_recorded_ones(reference: Callable[[str], Any], server: InProcessServer) -> None:
    """Code, reason, message and details of every case are equal; all differences are reported at once."""
    wrong = []
    count = 0
    for case in reference("validation")["cases"]:
        if not case["id"].startswith(_MINE) or case.get("server"):
            continue
        count += 1
        for step in case.get("setup") or ():
            send(server, step)
        response, expected = send(server, case["req"]), case["ans"]
        body = response.json if response.body else {}
        got = {"code": response.code, "reason": "", "message": ""}
        if body.get("kind") == "Status" and response.code >= 400:
            got.update(reason=body.get("reason", ""), message=body["message"])
        pattern = re.escape(expected.get("message") or "").replace("<uid>", "[0-9a-f-]{36}")
        if case["id"] in _DUMPED:
            pattern = ".*"
        if (
            got["code"] != expected["code"]
            or got["reason"] != expected.get("reason", "")
            or not re.fullmatch(pattern, str(got["message"]), re.DOTALL)
        ):
            wrong.append((case["id"], got, expected))
        elif "obj_status" in expected and unordered(body["status"]) != unordered(expected["obj_status"]):
            wrong.append((case["id"], body["status"], expected["obj_status"]))
    assert count > 60
    assert not wrong
