"""Auditing in a whole server: the audit log holds what the audit flags and the policy ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.config.options import Options, from_options
from orchd.testing.doubles.server import make_server, run, user

CONFIGS = ResourceRef("", "v1", "configmaps")
POLICY = """
apiVersion: audit.orch.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:masters"]
- level: RequestResponse
  resources: [{group: "", resources: [configmaps]}]
- level: Metadata
"""


def audit_events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "audit.log").read_text().splitlines()]


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    (tmp_path / "policy.yaml").write_text(POLICY)
    return [f"--audit-policy-file={tmp_path / 'policy.yaml'}", f"--audit-log-path={tmp_path / 'audit.log'}"]


def test_each_request_that_a_rule_covers_is_audited(tmp_path: Path, flags: list[str]) -> None:
    """Requests that a policy rule matches are audited after they were served, the server's own requests included."""
    server = make_server(tmp_path / "data", *flags, "--authorization-mode=AlwaysAllow")
    alice = user("alice", "people")
    response = run(
        server.request("POST", "/api/v1/namespaces/default/configmaps", body={"metadata": {"name": "a"}}, user=alice)
    )
    run(server.request("GET", "/api/v1/namespaces/default/configmaps/none", user=alice))
    run(server.request("GET", "/version"))
    events, missed = audit_events(tmp_path)
    assert events["auditID"] == response.headers["Audit-Id"] and events["responseStatus"]["code"] == 201
    assert events["requestObject"]["metadata"]["name"] == "a" and events["responseObject"]["metadata"]["uid"]
    assert events["annotations"] == {"authorization.orch.io/decision": "allow", "authorization.orch.io/reason": ""}
    assert missed["responseStatus"]["code"] == 404 and missed["responseObject"]["kind"] == "Status"
    text = run(server.request("GET", "/metrics")).body.decode()
    assert 'apiserver_audit_level_total{level="RequestResponse"} 2.0' in text
    server.stop()


def test_response_object_is_audited_for_local_clients(tmp_path: Path, flags: list[str]) -> None:
    """The stored object is recorded although a client in the same process receives no encoded response."""
    server = make_server(tmp_path / "data", *flags, "--authorization-mode=AlwaysAllow")
    obj = {"metadata": {"name": "a"}}
    assert run(server.client("alice", "people").create(CONFIGS, "default", obj, need_response=False)) == {}
    (event,) = audit_events(tmp_path)
    assert event["responseObject"]["metadata"]["uid"]
    server.stop()


def test_delete_options_are_the_request_object(tmp_path: Path, flags: list[str]) -> None:
    """DeleteOptions with an apiVersion are recorded as the request object; without one no request object is
    recorded."""
    server = make_server(tmp_path / "data", *flags, "--authorization-mode=AlwaysAllow")
    alice, url = user("alice", "people"), "/api/v1/namespaces/default/configmaps/none"
    named = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}
    for body in (named, {"propagationPolicy": "Orphan"}):
        assert run(server.request("DELETE", url, body=body, user=alice)).code == 404
    first, second = audit_events(tmp_path)
    assert first["requestObject"] == named and "requestObject" not in second
    server.stop()


def test_stop_writes_pending_batches(tmp_path: Path, flags: list[str]) -> None:
    """An orderly stop writes the batches that are still pending."""
    server = make_server(
        tmp_path / "data",
        *flags,
        "--audit-log-mode=batch",
        "--audit-log-batch-max-size=100",
        "--audit-log-batch-max-wait=1h",
    )
    run(server.request("GET", "/version", user=user("alice", "people")))
    assert audit_events(tmp_path) == []
    server.stop()
    assert [event["requestURI"] for event in audit_events(tmp_path)] == ["/version"]


def test_invalid_policy_fails_the_start(tmp_path: Path, flags: list[str]) -> None:
    """The error names the flag, the file and the field."""
    (tmp_path / "policy.yaml").write_text(POLICY.replace("level: Metadata", "level: All"))
    with pytest.raises(
        ValueError, match=r"--audit-policy-file: .*policy\.yaml: rules\[2\]\.level: 'All' is not one of"
    ):
        make_server(tmp_path / "data", *flags)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--audit-policy-file=p"],
            "--audit-policy-file: needs a sink: --audit-log-path or --audit-webhook-config-file",
        ),
        (
            ["--audit-log-path=-"],
            "--audit-log-path: needs --audit-policy-file: without a policy no events are recorded",
        ),
        (
            ["--audit-log-path=-", "--audit-policy-file=p", "--audit-log-maxsize=-1"],
            "--audit-log-maxsize: must be at least 0",
        ),
        (
            [
                "--audit-log-path=-",
                "--audit-policy-file=p",
                "--audit-log-mode=batch",
                "--audit-log-batch-max-size=20000",
            ],
            "--audit-log-batch-max-size: must not be above --audit-log-batch-buffer-size",
        ),
        (
            ["--audit-webhook-config-file=w", "--audit-policy-file=p", "--audit-webhook-batch-throttle-qps=0"],
            "--audit-webhook-batch-throttle-qps: must be above 0 while throttling is on",
        ),
    ],
)
def test_conflicting_flags_are_refused(argv: list[str], message: str) -> None:
    """Flags that exclude each other, or under which no event could be recorded, are rejected."""
    with pytest.raises(Exception, match="audit") as refused:
        options = Options()
        options.parseOptions(argv)
        from_options(options)
    assert str(refused.value) == message
