"""Recorded responses over all stages of a request: invalid requests and invalid objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.doubles.server import InProcessServer, make_server, run, user
from orchd.txkit.coroutines import start

#: Prefixes of the ids of cases that other tests cover, or that need state outside the recording: other namespaces,
#: signing requests, flags, webhooks, a history.
_ELSEWHERE = (
    "APIService/", "CertificateSigningRequest/", "CustomResource", "LimitRange/enforce-", "Pod", "PodSecurity", "ResourceQuota/enforce-",
    "PersistentVolumeClaim/grow-", "apply/", "auth/", "expired/", "fieldValidation/", "patch/", "plugin:", "webhook/",
)  # fmt: skip
#: Body limits are enforced by HTTP, and such bodies are not recorded; one message prints a Go struct.
_NOT_RECORDED = (
    "body/too-large-request", "Secret/too-large", "ConfigMap/too-large", "SubjectAccessReview/sar-with-name",
    # Field validation is on for requests that ask for it, as in later releases.
    "options/create-fieldValidation-gate-off",
)  # fmt: skip
#: Placeholder for text that differs each time.
_ANY = re.compile(r"<[a-z]+>|(?<=current:\\ )\d+|(?<=in\\ record\\ \\\()\d+|(?<=NodePort:)\d+")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    folder: Path = tmp_path_factory.mktemp("recorded")
    server = make_server(folder, "--allow-privileged=true", "--service-cluster-ip-range=10.0.0.0/24")
    run(server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "facts"}}))
    run(server.request("POST", "/api/v1/namespaces/facts/serviceaccounts", body={"metadata": {"name": "default"}}))
    yield server
    server.stop()


def send(server: InProcessServer, request: dict[str, Any]) -> Any:
    ct = request.get("ct")
    headers = {"content-type": "application/json" if ct is None else ct, **(request.get("headers") or {})}
    if request.get("accept"):
        headers["accept"] = request["accept"]
    who = user("alice", "dev", "qa") if request.get("token") else user("admin")
    body = request.get("body")
    if body is not None:
        # Messages quote the beginning of the recorded body, with spaces.
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
    answers: list[Any] = []
    start(server.request(request["m"], request["p"], body=body, user=who, headers=headers)).addCallback(answers.append)
    server.clock.pump([1] * 5 if not answers else [])
    return answers[0]


def causes(status: dict[str, Any]) -> list[Any]:
    causes = (status.get("details") or {}).get("causes") or []
    return sorted([cause.get("reason"), cause.get("field")] for cause in causes)


def test_answers_match_the_recorded_ones(reference: Callable[[str], Any], server: InProcessServer) -> None:
    """Code, reason, message and causes of every case are equal; all differences are reported at once."""
    wrong = []
    count = 0
    for case in reference("validation")["cases"]:
        skipped = case["id"].startswith(_ELSEWHERE) or case["id"] in _NOT_RECORDED or "live_with" in case["req"]
        if skipped or case.get("server"):
            continue
        count += 1
        for step in case.get("setup") or ():
            if "m" in step:
                send(server, step)
        response, expected = send(server, case["req"]), case["ans"]
        body = response.json if response.body[:1] == b"{" else {}
        got = {"code": response.code, "reason": "", "message": ""}
        if body.get("kind") == "Status" and response.code >= 400:
            got.update(reason=body.get("reason", ""), message=body["message"])
        pattern = _ANY.sub(".+?", re.escape(expected.get("message") or ""))
        if (
            got["code"] != expected["code"]
            or got["reason"] != expected.get("reason", "")
            or not re.fullmatch(pattern, str(got["message"]), re.DOTALL)
            or causes(body) != sorted(expected.get("causes") or [])
        ):
            wrong.append((case["id"], got, expected))
    assert count > 400
    assert not wrong
