"""Server-side apply of definitions, whose schemas have members of several JSON forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run

URL = f"/apis/{ORCH('apiextensions.{abbr}.io')}/v1/customresourcedefinitions/things.example.com"
TEXT = {"type": "string", "description": "first"}
X = "x-{long}-"

#: A member of the schema, and the same after a change.
SHAPES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "array", "items": TEXT}, {"type": "array", "items": {"type": "string"}}),
    ({"type": "array", "items": {"type": "array", "items": TEXT}}, {"type": "array", "items": TEXT}),
    ({"type": "object", "additionalProperties": TEXT}, {"type": "object", "additionalProperties": True}),
    ({"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": {"type": "integer"}}),
    (
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}}},
        {"type": "object", "properties": {"a": TEXT}},
    ),
    (
        {"type": "array", ORCH(X + "list-type"): "map", ORCH(X + "list-map-keys"): ["n"],
         "items": {"type": "object", "required": ["n"], "properties": {"n": TEXT, "v": TEXT}}},
        {"type": "array", ORCH(X + "list-type"): "map", ORCH(X + "list-map-keys"): ["n"],
         "items": {"type": "object", "required": ["n"], "properties": {"n": TEXT}}},
    ),
    ({ORCH(X + "int-or-string"): True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, {ORCH(X + "int-or-string"): True}),
    ({"type": "object", ORCH(X + "preserve-unknown-fields"): True}, {"type": "object", ORCH(X + "embedded-resource"): True,
     ORCH(X + "preserve-unknown-fields"): True}),
    ({"type": "string", "enum": ["a", "b"], "default": "a"}, {"type": "string", "enum": ["a"], "default": "a"}),
    ({"type": "object", "default": {"a": [1]}, "properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
     {"type": "object", "default": {}, "properties": {"a": {"type": "array", "items": {"type": "number"}}}}),
    ({"type": "object", "oneOf": [{"required": ["a"]}, {"not": {"required": ["b"]}}], "properties": {"a": TEXT, "b": TEXT}},
     {"type": "object", "properties": {"a": TEXT, "b": TEXT}}),
]  # fmt: skip


def definition(member: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"m": member}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "apiVersion": ORCH("apiextensions.{abbr}.io/v1"), "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }  # fmt: skip


def member_of(response: JsonResponse) -> Any:
    schema = response.json["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema["properties"]["spec"]["properties"]["m"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


def apply(server: InProcessServer, body: dict[str, Any], manager: str = "one", query: str = "") -> JsonResponse:
    """Apply a definition; afterwards its status is up to date."""
    headers = {"content-type": "application/apply-patch+yaml"}
    response = run(server.request("PATCH", f"{URL}?fieldManager={manager}{query}", body=body, headers=headers))
    server.clock.pump([1, 1, 1])
    return response


def version_of(server: InProcessServer) -> str:
    version: str = run(server.request("GET", URL)).json["metadata"]["resourceVersion"]
    return version


@pytest.mark.parametrize(("member", "changed"), SHAPES)
def test_definitions_of_all_shapes_are_applied(
    server: InProcessServer, member: dict[str, Any], changed: dict[str, Any]
) -> None:
    """Schemas of every form are created by apply, again without a change, changed by their manager, and refused to
    another, who may take them by force."""
    first = apply(server, definition(member))
    assert (first.code, member_of(first)) == (201, member)
    before = version_of(server)
    again = apply(server, definition(member))
    assert (again.code, again.json["metadata"]["resourceVersion"]) == (200, before)
    other = apply(server, definition(changed), "two")
    fields = [cause["field"] for cause in other.json["details"]["causes"]]
    assert (other.code, fields) == (409, [".spec.versions"])
    mine = apply(server, definition(changed))
    assert (mine.code, member_of(mine)) == (200, changed)
    forced = apply(server, definition(member), "two", "&force=true")
    managers = [entry["manager"] for entry in forced.json["metadata"]["managedFields"] if entry["operation"] == "Apply"]
    assert (forced.code, member_of(forced), managers) == (200, member, ["one", "two"])
    assert run(server.request("DELETE", URL)).code == 200
    server.clock.pump([1] * 10)
    assert run(server.request("GET", URL)).code == 404


def test_large_definitions_are_applied(server: InProcessServer) -> None:
    """A schema of 40,000 values, far beyond what an annotation with the last applied configuration holds, is
    applied."""
    members = {
        f"m{number}": {"type": "array", "items": {"type": "string", "description": "d"}} for number in range(8_000)
    }
    large = definition({"type": "object", "properties": members})
    assert apply(server, large).code == 201
    before = version_of(server)
    assert apply(server, large).json["metadata"]["resourceVersion"] == before
    assert run(server.request("DELETE", URL)).code == 200
    server.clock.pump([1] * 10)
