"""Validation rules in schemas: with their gate off they are dropped at all depths, and said to be; with it they are
evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.server import InProcessServer, make_server, run

DEFINITIONS = ResourceRef(ORCH("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions")
RULES = ORCH("x-{long}-validations")
RULE = {"rule": "self > 0"}
WHOLE = {"type": "integer", RULES: [RULE]}
URL = f"/apis/{DEFINITIONS.group}/v1/customresourcedefinitions"


def definition(member: dict[str, Any] | None = None) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": WHOLE if member is None else member}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": f"{DEFINITIONS.group}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }  # fmt: skip


def member_of(obj: dict[str, Any]) -> Any:
    return obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]


def enforced(obj: dict[str, Any]) -> list[str]:
    """The messages of the condition about rules."""
    conditions = obj["status"].get("conditions") or ()
    return [
        each["message"]
        for each in conditions
        if each["type"] == "ValidationRulesEnforced" and each["status"] == "False"
    ]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("member", "number"),
    [
        (WHOLE, 1),
        ({"type": "array", "items": WHOLE}, 1),
        (
            {
                **WHOLE,
                RULES: [
                    {
                        **RULE,
                        "reason": "FieldValueForbidden",
                        "fieldPath": ".a",
                        "messageExpression": "'x'",
                        "optionalOldSelf": True,
                    }
                ],
            },
            1,
        ),
        (
            {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {**WHOLE, RULES: [RULE, RULE]}},
                RULES: [RULE],
            },
            3,
        ),
        (
            {
                "type": "integer",
                "not": {"minimum": 3, RULES: [RULE]},
                "anyOf": [{"minimum": 1}, {"maximum": 9, RULES: [RULE]}],
            },
            2,
        ),
        ({"type": "object", "properties": {RULES: {"type": "string"}}, "default": {RULES: "kept"}}, 0),
    ],
)
def test_rules_are_dropped_at_all_depths(server: InProcessServer, member: dict[str, Any], number: int) -> None:
    """Rules are dropped wherever a schema may hold them; a Warning header and a condition say how many. Members of
    objects with the name of the keyword are none."""
    apply = {"content-type": "application/apply-patch+yaml"}
    response = run(
        server.request("PATCH", f"{URL}/things.example.com?fieldManager=m", body=definition(member), headers=apply)
    )
    assert response.code == 201
    made, warning = response.json, response.headers.get("Warning", "")
    if not number:
        assert (member_of(made), warning, enforced(made)) == (member, "", [])
        return
    assert (RULE["rule"].encode() in response.body, len(enforced(made))) == (False, 1)
    assert enforced(made)[0].startswith(f"{number} validation rule")
    assert enforced(made)[0] in warning


def test_condition_follows_the_schemas(server: InProcessServer) -> None:
    """The condition stays while the spec is left alone or sent as it was read, and goes with a changed spec without
    rules. A second apply with the same rules changes nothing."""
    apply = {"content-type": "application/apply-patch+yaml"}
    url = f"{URL}/things.example.com?fieldManager=m"
    made = run(server.request("PATCH", url, body=definition(), headers=apply)).json
    server.clock.pump([1, 1, 1])
    settled = run(server.request("GET", URL + "/things.example.com")).json
    assert len(settled["status"]["conditions"]) > len(made["status"]["conditions"]) and len(enforced(settled)) == 1
    again = run(server.request("PATCH", url, body=definition(), headers=apply)).json
    assert again["metadata"]["resourceVersion"] == settled["metadata"]["resourceVersion"]
    labelled = {**again, "metadata": {**again["metadata"], "labels": {"a": "b"}}}
    put = run(server.request("PUT", URL + "/things.example.com", body=labelled)).json
    assert (put["metadata"]["labels"], len(enforced(put))) == ({"a": "b"}, 1)
    plain = run(server.request("PATCH", url, body=definition({"type": "string"}), headers=apply)).json
    assert (member_of(plain), enforced(plain)) == ({"type": "string"}, [])


@pytest.fixture
def judging(tmp_path: Path) -> Iterator[InProcessServer]:
    """A server that evaluates rules."""
    server = make_server(tmp_path, "--feature-gates=CustomResourceValidationExpressions=true")
    yield server
    server.stop()


THINGS = "/apis/example.com/v1/namespaces/default/things"


def thing(name: str, a: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "a": a}


def serve(server: InProcessServer, member: dict[str, Any]) -> None:
    """Create a definition and wait until its kind is served."""
    run(server.client().create(DEFINITIONS, "", definition(member)))
    server.clock.pump([1] * 5)


def test_broken_rules_are_errors(judging: InProcessServer) -> None:
    """With the gate on, definitions keep their rules, and objects that break one are rejected."""
    serve(judging, {"type": "integer", RULES: [{**RULE, "message": "positive"}]})
    kept = run(judging.request("GET", f"{URL}/things.example.com")).json
    assert (member_of(kept)[RULES][0]["message"], enforced(kept)) == ("positive", [])
    assert run(judging.request("POST", THINGS, body=thing("good", 1))).code == 201
    refused = run(judging.request("POST", THINGS, body=thing("bad", 0)))
    (cause,) = refused.json["details"]["causes"]
    assert (refused.code, cause["field"], cause["message"]) == (422, "a", "Invalid value: 0: positive")
    changed = run(judging.request("PUT", f"{THINGS}/good", body=thing("good", -1)))
    assert changed.code == 422


def test_rules_that_do_not_compile_are_refused(judging: InProcessServer) -> None:
    """A definition with an expression that does not fit its schema is rejected; the cause names the rule."""
    with pytest.raises(ApiError) as caught:
        run(judging.client().create(DEFINITIONS, "", definition({"type": "integer", RULES: [{"rule": "self.b > 0"}]})))
    (cause,) = caught.value.status()["details"]["causes"]
    assert (caught.value.code, cause["reason"]) == (422, "FieldValueInvalid")
    assert cause["field"] == f"spec.validation.openAPIV3Schema.properties[a].{RULES}[0].rule"


def test_new_rules_spare_unchanged_values(judging: InProcessServer) -> None:
    """An object that a later rule does not fit can be changed elsewhere; the client is warned."""
    serve(judging, {"type": "integer"})
    assert run(judging.request("POST", THINGS, body=thing("old", 0))).code == 201
    spec = {"versions": definition()["spec"]["versions"]}
    patched = run(
        judging.request(
            "PATCH",
            f"{URL}/things.example.com",
            body={"spec": spec},
            headers={"content-type": "application/merge-patch+json"},
        )
    )
    assert patched.code == 200
    judging.clock.pump([1] * 5)
    labelled = {"metadata": {"labels": {"a": "b"}}}
    merge = {"content-type": "application/merge-patch+json"}
    response = run(judging.request("PATCH", f"{THINGS}/old", body=labelled, headers=merge))
    assert (response.code, response.headers.get("Warning")) == (
        200,
        '299 - "a: Invalid value: 0: failed rule: self > 0"',
    )
    assert run(judging.request("PATCH", f"{THINGS}/old", body={"a": -1}, headers=merge)).code == 422


def test_long_rules_of_small_objects(judging: InProcessServer) -> None:
    """An object whose rules cost much is validated all the same, away from the reactor; the result is that of all
    rules."""
    rule = "self.all(x, self.all(y, x == y || x != y)) && self.size() < 150"
    serve(
        judging,
        {"type": "array", "items": {"type": "integer"}, "maxItems": 200, RULES: [{"rule": rule, "message": "long"}]},
    )
    assert run(judging.request("POST", THINGS, body=thing("good", list(range(140))))).code == 201
    assert (
        run(judging.request("POST", THINGS, body=thing("bad", list(range(160))))).json["details"]["causes"][0][
            "message"
        ]
        == "Invalid value: long"
    )
