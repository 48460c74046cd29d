"""``explain``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchd.ctl.errors import CommandError
from orchd.ctl.printing import schemas, schemas_v2
from tests.ctl.ctl_runner import Ctl

_WIDGET: dict[str, Any] = {
    "description": "A widget:\n\n    as it is\n\n- one\n- two, of which the line is longer than a terminal is wide, so that it is broken",
    "type": "object",
    "required": ["spec"],
    "properties": {
        "kind": {"type": "string"},
        "spec": {"allOf": [{"$ref": "#/x/example.v1.Spec"}], "default": {}, "description": "What is desired."},
    },
}
_DEFINITIONS: dict[str, Any] = {
    "example.v1.Spec": {
        "description": "The type.",
        "type": "object",
        "properties": {
            "mode": {"type": "string", "description": "How.", "enum": ["", "a", "b", "c", "d"]},
            "parts": {"type": "array", "items": {"$ref": "#/x/example.v1.Spec"}},
            "sizes": {"type": "object", "additionalProperties": {"$ref": "#/x/example.Quantity"}},
        },
    },
    "example.Quantity": {"type": "string"},
}


def test_explain_describes_fields(ctl: Ctl) -> None:
    """Fields are described from the server's OpenAPI document; the error for an unknown field lists the existing
    ones."""
    out = ctl("explain", "deploy.spec.template.spec.containers").out
    assert out.startswith("GROUP:      apps\nKIND:       Deployment\nVERSION:    v1\n\n")
    assert "FIELD: containers <[]Container>\n\n\nDESCRIPTION:\n" in out
    assert "  image\t<string>" in out
    assert 'field "spek" does not exist' in ctl("explain", "pod.spek", status=1).error
    assert "    containerPort\t<integer> -required-" in ctl("explain", "pod.spec.containers", "--recursive").out
    assert ctl("explain", "deployments.apps.spec.paused").out == ctl("explain", "deploy.spec.paused").out
    older = ctl("explain", "hpa.spec", "--api-version=autoscaling/v1", "--output=plaintext-openapiv2").out
    assert older.startswith(
        "KIND:     HorizontalPodAutoscaler\nVERSION:  autoscaling/v1\n\nRESOURCE: spec <Object>\n\n"
    )


def test_fields_are_listed_with_descriptions_and_values() -> None:
    """Descriptions are broken at 80 columns; a field has its own and that of its type; of an enumeration a list of
    fields has four values, and the field itself all."""
    assert list(schemas.explain(_DEFINITIONS, _WIDGET, [], recursive=False)) == [
        "DESCRIPTION:",
        "    A widget:",
        "    ",
        "        as it is",
        "    ",
        "    - one",
        "    - two, of which the line is longer than a terminal is wide, so that it is",
        "    broken",
        "    ",
        "FIELDS:",
        "  kind\t<string>",
        "    <no description>",
        "",
        "  spec\t<Spec> -required-",
        "    What is desired.",
        "",
        "",
    ]
    spec = list(schemas.explain(_DEFINITIONS, _WIDGET, ["spec"], recursive=False))
    assert spec[:6] == ["FIELD: spec <Spec>", "", "", "DESCRIPTION:", "    What is desired.", "    The type."]
    assert spec[8:10] == ["  mode\t<string>", '  enum: "", a, b, c, ....']
    mode = list(schemas.explain(_DEFINITIONS, _WIDGET, ["spec", "parts", "mode"], recursive=False))
    assert mode[:8] == ["FIELD: mode <string>", "ENUM:", '    ""', "    a", "    b", "    c", "    d", ""]


def test_types_that_contain_themselves_are_listed_once() -> None:
    """All fields below, each type within itself once."""
    for explain, shape in ((schemas.explain, "  spec\t<Spec> -required-"), (schemas_v2.explain, "   spec\t<Object>")):
        widget = {**_WIDGET, "properties": {**_WIDGET["properties"], "spec": {"$ref": "#/x/example.v1.Spec"}}}
        lines: Iterator[str] = explain(_DEFINITIONS, widget, [], recursive=True)
        names = [line.strip().partition("\t")[0] for line in lines if "\t" in line]
        assert names == ["kind", "spec", "mode", "parts", "sizes"]
        assert shape in list(explain(_DEFINITIONS, widget, [], recursive=True))


def test_the_older_form_fills_lines() -> None:
    """Words fill lines of 80 columns; lists, empty lines and indented lines stay."""
    assert list(schemas_v2.explain(_DEFINITIONS, _WIDGET, [], recursive=False))[:7] == [
        "DESCRIPTION:",
        "     A widget:",
        "         as it is",
        "",
        "     - one",
        "     - two, of which the line is longer than a terminal is wide, so that it is",
        "     broken",
    ]
    widget = {**_WIDGET, "properties": {"spec": {"$ref": "#/x/example.v1.Spec", "description": "What is desired."}}}
    assert list(schemas_v2.explain(_DEFINITIONS, widget, ["spec", "sizes"], recursive=False)) == [
        "FIELD:    sizes <map[string]string>",
        "",
        "DESCRIPTION:",
        "     <empty>",
    ]
    assert list(schemas_v2.explain(_DEFINITIONS, widget, ["spec"], recursive=False))[:5] == [
        "RESOURCE: spec <Object>",
        "",
        "DESCRIPTION:",
        "     What is desired.",
        "",
    ]
    with pytest.raises(CommandError, match='field "size" does not exist'):
        list(schemas_v2.explain(_DEFINITIONS, widget, ["spec", "size"], recursive=False))


def test_explain_shows_the_rules_of_custom_kinds() -> None:
    """Rules stand below the description of the field that they are about, each with its message."""
    spec = {
        "type": "object",
        "properties": {"most": {"type": "integer", "x-orch-validations": [{"rule": "self < 10"}]}},
        "x-orch-validations": [{"rule": "self.least <= self.most", "message": "least is above most"}],
    }
    listed = {"type": "array", "items": spec, "x-orch-validations": [{"rule": "self.size() > 0"}]}
    schema = {"type": "object", "properties": {"spec": spec, "listed": listed}}

    def rules(*path: str) -> list[str]:
        lines = list(schemas.explain({}, schema, list(path), recursive=False))
        at = lines.index("RULES:") + 1
        return lines[at : lines.index("", at)]

    assert rules("spec") == ["    self.least <= self.most", "        least is above most"]
    assert rules("spec", "most") == ["    self < 10"]
    assert rules("listed") == ["    self.size() > 0", "    self.least <= self.most", "        least is above most"]


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "string"}, "string"), ({"type": "object"}, "Object"), ({}, "Object"), ({"items": {"type": "integer"}, "type": "array"}, "[]integer"),
        ({"additionalProperties": {"items": {"$ref": "#/x/a.b.Port"}}}, "map[string][]Port"), ({"allOf": [{"$ref": "#/x/a.b.Time"}]}, "string"),
        ({"allOf": [{"type": "string"}], "properties": {"a": {}}, "type": "object"}, "Object"), ({"allOf": [{"type": "string"}, {}]}, "Object"),
        ({"additionalProperties": True, "type": "object"}, "Object"), ({"$ref": "#/x/a.b.Gone"}, "Gone"),
    ],
)  # fmt: skip
def test_names_of_types(schema: dict[str, Any], name: str) -> None:
    """A type is that of what it refers to, unless this is an object, which has a name."""
    assert schemas.type_name({"a.b.Port": {"type": "object"}, "a.b.Time": {"type": "string"}}, schema) == name


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("aaa bbb ccc", ["aaa bbb", "ccc"]), ("aaaa bbb", ["aaaa", "bbb"]), ("aaa bbb", ["aaa bbb"]), ("aaaaaaaaaa b", ["aaaaaaaaaa", "b"]),
        ("a\n\nb", ["a", "", "b"]), ("", [""]), ("aaa\xa0bbb c", ["aaa\xa0bbb", "c"]), ("aaa    ", ["aaa    "]), ("aaa     ", ["aaa"]),
        ("aaaaaaa", ["aaaaaaa"]), ("a aaaaaaa", ["a", "aaaaaaa"]), ("a aaaaaa", ["a", "aaaaaa"]),
    ],
)  # fmt: skip
def test_lines_of_a_width(text: str, lines: list[str]) -> None:
    """A break takes the place of spaces; a word that is wider than a line does not make one."""
    assert schemas.wrapped(text, 7).split("\n") == lines


def test_fields_that_are_explained() -> None:
    """Values of a field, long ones cut; required fields are marked; a field that is not there is an error."""
    spec = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "enum": ["", "x", "y", "z", "w"]},
            "b": {"type": "string", "enum": ["x"]},
        },
    }
    schema = {"type": "object", "properties": {"spec": spec}}
    lines = list(schemas.explain({}, schema, ["spec"], recursive=False))
    assert lines[:3] == ["FIELD: spec <Object>", "", ""]
    assert [line for line in lines if "enum" in line or "-required-" in line] == [
        "  a\t<string> -required-", '  enum: "", x, y, z, ....', "  enum: x",
    ]  # fmt: skip
    shown = list(schemas.explain({}, schema, ["spec", "a"], recursive=False))
    assert shown == [
        "FIELD: a <string>",
        "ENUM:",
        '    ""',
        "    x",
        "    y",
        "    z",
        "    w",
        "",
        "DESCRIPTION:",
        "    <empty>",
        "",
    ]
    for path, says in (
        (["x"], 'field "x" does not exist: those at this place are spec'),
        (["spec", "a", "c"], 'field "spec.a.c" does not exist: those at this place are none'),
    ):
        with pytest.raises(CommandError, match=says):
            list(schemas.explain({}, schema, path, recursive=False))


@pytest.mark.parametrize(("words", "lines"), [("x" * 38 + " " + "y" * 37, 1), ("x" * 38 + " " + "y" * 38, 2)])
def test_widths_of_descriptions(words: str, lines: int) -> None:
    """Lines have at most 80 columns, of which four are the indent."""
    schema = {"type": "object", "description": words}
    shown = list(schemas.explain({}, schema, [], recursive=False))
    assert len([line for line in shown if "x" in line or "y" in line]) == lines


@pytest.mark.parametrize(("words", "lines"), [("x" * 37 + " " + "y" * 37, 1), ("x" * 37 + " " + "y" * 38, 2)])
def test_widths_of_the_older_form(words: str, lines: int) -> None:
    """Here the indent is five columns."""
    schema = {"type": "object", "description": words}
    shown = list(schemas_v2.explain({}, schema, [], recursive=False))
    assert len([line for line in shown if "x" in line or "y" in line]) == lines
