"""What later releases report about custom objects, and what they accept of unchanged ones."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.schema_check.compiled import compile_schema
from orchd.kinds.objects.schema_check.correlation import Matched, TimeSpent
from orchd.kinds.objects.schema_check.embedded import compile_all, embedded_causes
from orchd.kinds.objects.schema_check.formats import formats_of, unknown_formats
from orchd.kinds.objects.schema_check.objects import causes
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST, SPECIFICATION, Release

LATER = ObjectSettings(dialect=ORCH, release=NEWEST)
SHORT: dict[str, Any] = {"type": "string", "maxLength": 2}
KEYED: dict[str, Any] = {
    "type": "array",
    "x-orch-list-type": "map",
    "x-orch-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": SHORT}},
}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string"}, 1, [("FieldValueTypeInvalid", "v", 'Invalid value: "integer": v in body must be of type string: "integer"')]),
        (SHORT, "abc", [("FieldValueTooLong", "v", "Too long: may not be more than 2 bytes")]),
        ({"type": "array", "maxItems": 1}, [1, 2], [("FieldValueTooMany", "v", "Too many: 2: must have at most 1 item")]),
        ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, [("FieldValueTooMany", "v", "Too many: 2: must have at most 1 item")]),
        (
            {"type": "object", "minProperties": 2, "properties": {"a": SHORT}}, {"a": "abc"},
            [
                ("FieldValueInvalid", "v", "Invalid value: 1: v in body should have at least 2 properties"),
                ("FieldValueTooLong", "v.a", "Too long: may not be more than 2 bytes"),
            ],
        ),
        ({"type": "array", "items": SHORT}, ["a", "abc"], [("FieldValueTooLong", "v[1]", "Too long: may not be more than 2 bytes")]),
        ({"type": "array", "items": {"enum": ["a"]}}, [["b"]], [("FieldValueNotSupported", "v[0]", 'Unsupported value: ["b"]: supported values: "a"')]),
        ({"type": "object", "enum": ["a"]}, {"b": [2.0, 1e-7], "a": "<"}, [("FieldValueNotSupported", "v", 'Unsupported value: {"a":"\\u003c","b":[2,1e-7]}: supported values: "a"')]),
    ],
)  # fmt: skip
def test_findings_have_reasons_and_indexes(
    schema: dict[str, Any], value: Any, expected: list[tuple[str, str, str]]
) -> None:
    """A finding is classified, and its path has the index of the item; both are those of later releases."""
    found = causes(compile_schema(schema, LATER)(value), NEWEST, "v")
    assert [(each.reason, each.field, each.message) for each in found] == expected


@pytest.mark.parametrize(
    ("release", "why"), [(SPECIFICATION, "Required value: must not be empty"), (NEWEST, "Required value")]
)
def test_missing_kinds_of_embedded_objects(release: Release, why: str) -> None:
    """What is said of an embedded object without a kind follows the release."""
    walk = compile_all({"type": "object", "x-orch-embedded-resource": True}, ORCH)
    assert walk is not None
    causes_ = embedded_causes(walk, {"apiVersion": "v1"}, ObjectSettings(dialect=ORCH, release=release), "v")
    assert [(each.field, each.message) for each in causes_] == [("v.kind", why)]


@pytest.mark.parametrize(
    ("schema", "old", "new", "fields"),
    [
        ({"properties": {"a": SHORT, "b": SHORT}}, {"a": "abc"}, {"a": "abc", "b": "abc"}, ["b"]),
        ({"properties": {"a": SHORT}}, {"a": "abc"}, {"a": "abd"}, ["a"]),
        ({"properties": {"l": {"type": "array", "items": SHORT}}}, {"l": ["abc"]}, {"l": ["abc"]}, []),
        ({"properties": {"l": {"type": "array", "items": SHORT}}}, {"l": ["abc"]}, {"l": ["abc", "d"]}, ["l[0]"]),
        (
            {"properties": {"m": KEYED}},
            {"m": [{"k": "a", "v": "abc"}]},
            {"m": [{"k": "b"}, {"k": "a", "v": "abc"}]},
            [],
        ),
        ({"properties": {"m": KEYED}}, {"m": [{"k": "a", "v": "abc"}]}, {"m": [{"k": "b", "v": "abc"}]}, ["m[0].v"]),
        ({"properties": {"kind": SHORT}}, {"kind": "abc"}, {"kind": "abc", "x": 1}, ["kind"]),
        ({"not": {"properties": {"a": SHORT}}}, {"a": "abc"}, {"a": "abc", "x": 1}, []),
        ({"anyOf": [{"properties": {"a": SHORT}}]}, {"a": "abc"}, {"a": "abc", "x": 1}, ["<nil>", "a"]),
    ],
)
def test_unchanged_values_are_accepted(schema: dict[str, Any], old: Any, new: Any, fields: list[str]) -> None:
    """Only what differs from the stored object is judged; items without keys are not compared one by one, nor are
    members for alternatives, and versions and kinds are those of requests."""
    schema = {"type": "object", **schema}
    found = compile_schema(schema, LATER)(new, Matched(new, old, schema, ORCH, TimeSpent(), whole=True))
    assert [each.field for each in causes(found, NEWEST)] == fields


def test_formats_follow_the_release() -> None:
    """Formats of names are checked in later releases; formats that a release does not check are found in all places of
    a schema."""
    schema = {
        "type": "string", "format": "nonsense",
        "properties": {"format": {"type": "string", "format": "orch-short-name"}, "n": {"type": "integer", "format": "odd"}},
        "items": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "strange"}]},
    }  # fmt: skip
    assert sorted(unknown_formats(schema, LATER)) == ["nonsense", "strange"]
    first = ObjectSettings(dialect=ORCH, release=SPECIFICATION)
    assert sorted(unknown_formats(schema, first)) == ["nonsense", "orch-short-name", "strange"]
    checks = formats_of(LATER)
    assert [name for name in ("a-b", "a" * 64, "A", "a.b") if checks["orch-short-name"](name)] == ["a-b"]
    assert [name for name in ("a.b", "a..b", "a" * 254) if checks["orch-long-name"](name)] == ["a.b"]
