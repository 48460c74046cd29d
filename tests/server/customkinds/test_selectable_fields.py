"""Field selectors on custom kinds: selectableFields of a definition, in lists, watches and documents."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.testing.doubles.server import run
from tests.server.pipeline.test_watches import Reader

DEFINITIONS = f"/apis/apiextensions.{ORCH('{abbr}.io')}/v1/customresourcedefinitions"
EXTENSION = ORCH("x-{long}-selectable-fields")
SPEC = {
    "type": "object",
    "properties": {
        "color": {"type": "string"}, "size": {"type": "integer"}, "new": {"type": "boolean"}, "list": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}  # fmt: skip


def definition(group: str, *paths: str, **more: Any) -> dict[str, Any]:
    version = {
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "metadata": {"type": "object"}}}},
        "selectableFields": [{"jsonPath": path} for path in paths],
        **more,
    }  # fmt: skip
    names = {"plural": "shirts", "kind": "Shirt"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"shirts.{group}"}, "spec": spec}


def define(space: Any, group: str, *paths: str) -> str:
    """Create the definition; returns the path of its objects in the namespace."""
    response = run(space.server.request("POST", DEFINITIONS, body=definition(group, *paths)))
    assert response.code == 201, response.body
    space.server.clock.pump([1] * 3)
    return f"/apis/{group}/v1/namespaces/{space.name}/shirts"


def make(space: Any, root: str, name: str, **spec: Any) -> None:
    body = {"apiVersion": root.split("/")[2] + "/v1", "kind": "Shirt", "metadata": {"name": name}, "spec": spec}
    response = run(space.server.request("POST", root, body=body))
    assert response.code == 201, response.body


def selected(space: Any, root: str, selector: str) -> list[str]:
    response = run(space.server.request("GET", f"{root}?fieldSelector={selector}"))
    assert response.code == 200, response.body
    return [item["metadata"]["name"] for item in response.json["items"]]


def test_lists_filter_by_declared_fields(space: Any) -> None:
    """Strings, integers and booleans are compared as text; a missing value is empty."""
    root = define(space, "lists.example.com", ".spec.color", ".spec.size", ".spec.new", ".spec.more.x")
    make(space, root, "a", color="blue", size=1, new=True)
    make(space, root, "b", color="green", size=10, new=False, more={"x": "y"})
    make(space, root, "c")
    for selector, names in (
        ("spec.color%3Dblue", ["a"]), ("spec.color!%3Dblue", ["b", "c"]), ("spec.size%3D10", ["b"]), ("spec.new%3Dtrue", ["a"]),
        ("spec.new%3Dfalse", ["b"]), ("spec.color%3D", ["c"]), ("spec.color%3Dblue,spec.size%3D10", []), ("spec.more.x%3Dy", ["b"]),
        ("metadata.name%3Da,spec.color%3Dblue", ["a"]),
    ):  # fmt: skip
        assert selected(space, root, selector) == names, selector
    response = run(space.server.request("GET", f"{root}?fieldSelector=spec.list%3Dx"))
    assert response.code == 400 and response.json["message"] == "field label not supported: spec.list"
    assert run(space.server.request("DELETE", f"{root}?fieldSelector=spec.color%3Dblue")).code == 200
    assert selected(space, root, "") == ["b", "c"]


def test_watches_filter_by_declared_fields(space: Any) -> None:
    """Objects enter and leave a watch's selection with their fields."""
    root = define(space, "watches.example.com", ".spec.color")
    make(space, root, "a", color="blue")
    response = run(space.server.request("GET", f"{root}?watch=1&fieldSelector=spec.color%3Dblue"))
    reader = Reader()
    response.response.stream.start(reader)
    assert reader.seen() == ["ADDED a"]
    make(space, root, "b", color="green")
    patch = {"spec": {"color": "blue"}}
    headers = {"content-type": "application/merge-patch+json"}
    assert run(space.server.request("PATCH", f"{root}/b", body=patch, headers=headers)).code == 200
    assert reader.seen() == ["ADDED b"]
    patch = {"spec": {"color": "red"}}
    assert run(space.server.request("PATCH", f"{root}/a", body=patch, headers=headers)).code == 200
    assert reader.seen() == ["DELETED a"]
    response.response.stream.stop()


def test_later_declared_fields_select_existing_objects(space: Any) -> None:
    """Existing objects are found by newly declared fields; removed ones are rejected."""
    root = define(space, "later.example.com")
    make(space, root, "a", color="blue")
    make(space, root, "b", color="green")
    assert selected(space, root, "") == ["a", "b"]
    url = f"{DEFINITIONS}/shirts.later.example.com"
    headers = {"content-type": "application/json-patch+json"}
    for value, code in (([{"jsonPath": ".spec.color"}], 200), ([], 400)):
        patch = [{"op": "add", "path": "/spec/versions/0/selectableFields", "value": value}]
        assert run(space.server.request("PATCH", url, body=patch, headers=headers)).code == 200
        space.server.clock.pump([1] * 3)
        response = run(space.server.request("GET", f"{root}?fieldSelector=spec.color%3Dgreen"))
        assert response.code == code
        if code == 200:
            assert [item["metadata"]["name"] for item in response.json["items"]] == ["b"]
    make(space, root, "c")
    assert selected(space, root, "") == ["a", "b", "c"]


def test_selectable_fields_are_documented(space: Any) -> None:
    """The definition keeps the fields, and OpenAPI has them at the kind and its list."""
    define(space, "documents.example.com", ".spec.color")
    kept = run(space.server.request("GET", f"{DEFINITIONS}/shirts.documents.example.com")).json
    assert kept["spec"]["versions"][0]["selectableFields"] == [{"jsonPath": ".spec.color"}]
    for path, member in (
        ("/openapi/v2", ("definitions",)),
        ("/openapi/v3/apis/documents.example.com/v1", ("components", "schemas")),
    ):
        found = run(space.server.request("GET", path)).json
        for name in member:
            found = found[name]
        for kind in ("Shirt", "ShirtList"):
            assert found[f"com.example.documents.v1.{kind}"][EXTENSION] == [{"fieldPath": "spec.color"}]


@pytest.mark.parametrize(("paths", "causes"), [
    ([""], [("[0].jsonPath", "Required value")]),
    (["spec.color"], [("[0].jsonPath", 'Invalid value: "spec.color": is an invalid path: expected [ or . but got: spec')]),
    ([".spec.none"], [("[0].jsonPath", 'Invalid value: ".spec.none": is an invalid path: does not refer to a valid field')]),
    ([".spec."], [("[0].jsonPath", 'Invalid value: ".spec.": is an invalid path: unexpected end of JSON path')]),
    ([".spec['color']"], [("[0].jsonPath", "Invalid value: \".spec['color']\": is an invalid path: array notation is not allowed")]),
    ([".spec.color.x"], [("[0].jsonPath", 'Invalid value: ".spec.color.x": is an invalid path: does not refer to a valid field')]),
    ([".spec"], [("[0].jsonPath", 'Invalid value: ".spec": must point to a field of type string, boolean or integer. '
                  "Enum string fields and strings with formats are allowed.")]),
    ([".spec.color", ".spec.color"], [("[1].jsonPath", 'Duplicate value: ".spec.color"')]),
    ([f".spec.more.f{n}" for n in range(9)], [("", "Too many: 9: must have at most 8 items")]),
])  # fmt: skip
def test_invalid_selectable_fields_are_refused(space: Any, paths: list[str], causes: list[tuple[str, str]]) -> None:
    """Paths must lead to single values; errors have the messages of later releases."""
    response = run(space.server.request("POST", DEFINITIONS, body=definition("wrong.example.com", *paths)))
    assert response.code == 422, response.body
    found = [(cause["field"], cause["message"]) for cause in response.json["details"]["causes"]]
    assert found == [(f"spec.selectableFields{at}", message) for at, message in causes]


def test_metadata_fields_cannot_be_declared(space: Any) -> None:
    """Metadata has its own selectors; without a schema no fields are selectable."""
    version = definition("wrong.example.com", ".metadata.name")
    assert run(space.server.request("POST", DEFINITIONS, body=version)).code == 422
    several = definition("wrong.example.com", ".spec.color")
    other = {**several["spec"]["versions"][0], "name": "v2", "storage": False, "selectableFields": [{"jsonPath": ".x"}]}
    several["spec"]["versions"].append(other)
    response = run(space.server.request("POST", DEFINITIONS, body=several))
    assert [cause["field"] for cause in response.json["details"]["causes"]] == [
        "spec.versions[1].selectableFields[0].jsonPath"
    ]
