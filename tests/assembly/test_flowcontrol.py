"""Priority and fairness in a whole server: its objects configure it and are maintained by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.server.pipeline.fairness.schemas import Schema, schema_of
from orchd.server.reconcilers import flow_control
from orchd.testing.doubles.server import InProcessServer, make_server, run, user

SCHEMAS = ResourceRef("flowcontrol.apiserver.orch.io", "v1beta2", "flowschemas")
LEVELS = ResourceRef("flowcontrol.apiserver.orch.io", "v1beta2", "prioritylevelconfigurations")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    yield server
    server.stop()


def schema(name: str, level: str) -> Object:
    rule = {
        "subjects": [{"kind": "User", "user": {"name": "alice"}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    return {"metadata": {"name": name}, "spec": {"priorityLevelConfiguration": {"name": level}, "rules": [rule]}}


def limited(name: str) -> Object:
    spec = {"type": "Limited", "limited": {"assuredConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}
    return {"metadata": {"name": name}, "spec": spec}


def dangling(server: InProcessServer, name: str) -> Any:
    server.clock.advance(0.1)
    (condition,) = run(server.client().get(SCHEMAS, "", name))["status"]["conditions"]
    return condition["type"], condition["status"], condition["reason"], condition["message"]


def headers(server: InProcessServer) -> dict[str, str]:
    return dict(run(server.request("GET", "/version", user=user("alice", "people"))).headers)


def test_flow_schema_without_its_level_is_dangling(server: InProcessServer) -> None:
    """A FlowSchema without its priority level is not used, and its Dangling condition follows the level's existence."""
    client = server.client()
    run(client.create(SCHEMAS, "", schema("mine", "absent")))
    what = 'This FlowSchema references the PriorityLevelConfiguration object named "absent"'
    assert dangling(server, "mine") == ("Dangling", "True", "NotFound", f"{what} but there is no such object")
    default = run(client.get(SCHEMAS, "", "global-default"))["metadata"]["uid"]
    assert headers(server)["X-Orch-PF-FlowSchema-UID"] == default
    level = run(client.create(LEVELS, "", limited("absent")))
    assert dangling(server, "mine") == ("Dangling", "False", "Found", f"{what} and it exists")
    assert headers(server)["X-Orch-PF-PriorityLevel-UID"] == level["metadata"]["uid"]
    run(client.delete(LEVELS, "", "absent"))
    assert dangling(server, "mine")[1] == "True"


def test_dangling_condition_writes_are_rate_limited(server: InProcessServer) -> None:
    """A level that is created and deleted repeatedly causes few status writes a minute; within the next minute the
    condition is right."""
    client = server.client()
    run(client.create(SCHEMAS, "", schema("mine", "absent")))
    for _ in range(3):
        dangling(server, "mine")
        run(client.create(LEVELS, "", limited("absent")))
        dangling(server, "mine")
        run(client.delete(LEVELS, "", "absent"))
    run(client.create(LEVELS, "", limited("absent")))
    assert dangling(server, "mine")[1] == "True"
    for _ in range(2):
        server.clock.advance(60)
    assert dangling(server, "mine")[1] == "False"


def test_deleted_default_objects_are_recreated(server: InProcessServer) -> None:
    """Deleted default objects are created again within a minute; until then their configuration stays in effect."""
    client = server.client()
    for ref, name in ((SCHEMAS, "catch-all"), (SCHEMAS, "global-default"), (LEVELS, "catch-all")):
        run(client.delete(ref, "", name))
    server.clock.advance(0.1)
    assert run(server.request("GET", "/version", user=user("alice", "people"))).code == 200
    server.clock.advance(60)
    for ref, name in ((SCHEMAS, "catch-all"), (SCHEMAS, "global-default"), (LEVELS, "catch-all")):
        assert run(client.get(ref, "", name))["metadata"]["name"] == name


def test_autoupdate_annotation_decides_about_changed_specs(server: InProcessServer) -> None:
    """With the annotation "false" a changed spec stays; with "true" the default is restored."""
    client, key = server.client(), server.dialect("apf.{long}.io/autoupdate-spec")
    for said, expected in (("false", 7), ("true", 100)):
        level = run(client.get(LEVELS, "", "workload-low"))
        level = {
            **level,
            "metadata": {**level["metadata"], "annotations": {key: said}},
            "spec": {**level["spec"], "limited": {**level["spec"]["limited"], "assuredConcurrencyShares": 7}},
        }
        run(client.update(LEVELS, "", "workload-low", level))
        server.clock.advance(60)
        assert run(client.get(LEVELS, "", "workload-low"))["spec"]["limited"]["assuredConcurrencyShares"] == expected


def test_flow_control_metrics_have_the_references_names(server: InProcessServer) -> None:
    """Dispatched requests by schema and level, and the seats of levels, under the reference's names."""
    run(server.request("GET", "/version", user=user("alice", "people")))
    text = run(server.request("GET", "/metrics")).body.decode()
    assert 'apiserver_flowcontrol_request_concurrency_limit{priority_level="catch-all"} 13.0' in text
    line = (
        'apiserver_flowcontrol_dispatched_requests_total{flow_schema="global-default",priority_level="global-default"} '
    )
    assert float(text.split(line)[1].split("\n")[0]) >= 1


@pytest.mark.parametrize(
    "flag", ["--enable-priority-and-fairness=false", "--feature-gates=APIPriorityAndFairness=false"]
)
def test_without_flow_control_the_inflight_limits_hold(tmp_path: Path, flag: str) -> None:
    """Without priority and fairness only the two inflight limits apply, and responses have none of its headers."""
    server = make_server(tmp_path, flag)
    assert "X-Orch-PF-FlowSchema-UID" not in headers(server)
    with pytest.raises(ApiError):
        run(server.client().get(SCHEMAS, "", "absent"))
    server.stop()


def test_only_changed_schemas_are_compiled(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema is compiled when its spec changes, not with each change of another one, of a level or of a status."""
    compiled = list[str]()

    def note(obj: ObjectView) -> Schema:
        compiled.append(obj["metadata"]["name"])
        return schema_of(obj)

    monkeypatch.setattr(flow_control, "schema_of", note)
    client = server.client()
    run(client.create(SCHEMAS, "", schema("mine", "absent")))
    assert dangling(server, "mine")[1] == "True"
    run(client.create(LEVELS, "", limited("absent")))
    assert dangling(server, "mine")[1] == "False" and compiled == ["mine"]
    changed = run(client.get(SCHEMAS, "", "mine"))
    changed["spec"]["matchingPrecedence"] = 5
    run(client.update(SCHEMAS, "", "mine", changed))
    server.clock.advance(0.1)
    assert compiled == ["mine", "mine"]
    run(client.delete(SCHEMAS, "", "mine"))
    server.clock.advance(0.1)
    assert run(server.request("GET", "/version", user=user("alice"))).code == 200
