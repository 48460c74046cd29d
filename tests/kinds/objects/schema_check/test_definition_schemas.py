"""Schemas in definitions: validation of the schema itself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.cel.regex import PatternError
from orchd.dialect import ORCH
from orchd.kinds.objects.schema_check.definitions.options import Options, options_after
from orchd.kinds.objects.schema_check.definitions.schema import check
from orchd.kinds.objects.schema_check.patterns import pattern, pattern_error
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import apiextensions
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.release import NEWEST

SETTINGS = ObjectSettings(dialect=ORCH)
S: dict[str, Any] = {"type": "string"}
KEEP = "x-orch-preserve-unknown-fields"
INSIDE = "x-orch-embedded-resource"
EITHER = "x-orch-int-or-string"
LIST = "x-orch-list-type"
KEYS = "x-orch-list-map-keys"
MAP = "x-orch-map-type"


def errors_of(
    schema: dict[str, Any], options: Options | None = None, *, status: bool = False, settings: ObjectSettings = SETTINGS
) -> list[str]:
    """The errors of a schema named ``s``."""
    report = Report(settings)
    check(schema, root("s"), report, options or Options(), status=status)
    return [f"{cause.field.removeprefix('s.properties')}: {cause.message}" for cause in report.causes]


def member(**inner: Any) -> dict[str, Any]:
    """A kind's schema with one member."""
    return {
        "type": "object",
        "properties": {"a": {key.replace("x_orch_", "x-orch-").replace("_", "-"): v for key, v in inner.items()}},
    }


def items(chosen: str, inner: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """A kind with a list of a type."""
    there = {} if inner is None else {"items": inner}
    return {"type": "object", "properties": {"a": {"type": "array", LIST: chosen, **there, **more}}}


KEYED = {"type": "object", "properties": {"k": S, "o": {"type": "object"}}, "required": ["k"]}

KEYWORDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"type": "object"}, []),
    ({"type": "object", "nullable": True}, ["s.nullable: Forbidden: nullable cannot be true at the root"]),
    (
        member(type="text"),
        [
            '[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"'
        ],
    ),
    (member(type="string", id="x"), ["[a].id: Forbidden: id is not supported"]),
    (
        member(type="array", items=S, additionalItems=False),
        ["[a].additionalItems: Forbidden: additionalItems is not supported"],
    ),
    (
        member(type="object", patternProperties={"x": S}),
        ["[a].patternProperties: Forbidden: patternProperties is not supported"],
    ),
    (member(type="object", definitions={"x": S}), ["[a].definitions: Forbidden: definitions is not supported"]),
    (member(type="object", dependencies={"x": ["y"]}), ["[a].dependencies: Forbidden: dependencies is not supported"]),
    (
        {"type": "object", "properties": {"a": {"type": "string", "$ref": "#/x"}}},
        ["[a].$ref: Forbidden: $ref is not supported"],
    ),
    ({"type": "object", "$schema": "http://x"}, ["s: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"]),
    (member(type="array", items=[S]), ["[a].items: Forbidden: items must be a schema object and not an array"]),
    (
        member(type="array", items=S, uniqueItems=True),
        [
            "[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        ],
    ),
    (
        member(type="object", properties={"b": S}, additionalProperties=False),
        ["[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    (member(type="object", properties={"b": S}, additionalProperties=True), []),
    (member(type="object", x_orch_map_type="granular"), []),
    (
        member(type="string", x_orch_map_type="x"),
        [
            '[a].type: Invalid value: "string": must be object if x-orch-map-type is specified',
            '[a].x-orch-map-type: Unsupported value: "x": supported values: "atomic", "granular"',
        ],
    ),
    (items("set", S), []),
    (
        items("set", {**S, "nullable": True}),
        ["[a].items.nullable: Forbidden: cannot be nullable when x-orch-list-type is set"],
    ),
    (items("set", {"type": "object", MAP: "atomic"}), []),
    (items("set", {"type": "array", "items": S}), []),
    (
        items("set", {"type": "object"}),
        [
            '[a].items.x-orch-map-type: Invalid value: "null": must be atomic as item of a list with x-orch-list-type=set'
        ],
    ),
    (
        items("set", {"type": "array", "items": S, LIST: "set"}),
        [
            '[a].items.x-orch-list-type: Invalid value: "set": must be atomic as item of a list with x-orch-list-type=set'
        ],
    ),
    (items("bag", S), ['[a].x-orch-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"']),
    (
        items("set", S, **{KEYS: ["k"]}),
        ['[a].x-orch-list-type: Invalid value: "set": must be map if x-orch-list-map-keys is non-empty'],
    ),
    (items("map", KEYED, **{KEYS: ["k"]}), []),
    (
        items("map", None),
        [
            "[a].x-orch-list-map-keys: Required value: must not be empty if x-orch-list-type is map",
            "[a].items: Required value: must have a schema if x-orch-list-type is map",
            "[a].items: Required value: must be specified",
        ],
    ),
    (
        items("map", S, **{KEYS: ["k"]}),
        ['[a].items.type: Invalid value: "string": must be object if parent array\'s x-orch-list-type is map'],
    ),
    (
        items("map", KEYED, **{KEYS: ["k", "k", "z", "o"]}),
        [
            '[a].x-orch-list-map-keys: Invalid value: []string{"k", "k", "z", "o"}: must not contain duplicate entries',
            '[a].x-orch-list-map-keys: Invalid value: []string{"k", "k", "z", "o"}: entries must all be names of item properties',
            '[a].items.properties[o].type: Invalid value: "object": must be a scalar type if parent array\'s x-orch-list-type is map',
            "[a].items.properties[o].default: Required value: this property is in x-orch-list-map-keys, so it must have a default or be a required property",
        ],
    ),
    (
        items("map", {"type": "object", "properties": {"k": {**S, "nullable": True, "default": "x"}}}, **{KEYS: ["k"]}),
        [
            "[a].items.properties[k].nullable: Forbidden: this property is in x-orch-list-map-keys, so it cannot be nullable"
        ],
    ),
    (
        member(type="object", **{KEEP: False}),
        ["[a].x-orch-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    ),
    (
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"name": {**S, "default": "x"}}}},
        },
        ["[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"],
    ),
    (
        member(
            type="object", **{INSIDE: True, "properties": {"metadata": {"type": "object", INSIDE: True, KEEP: True}}}
        ),
        ["[a].properties[metadata].x-orch-embedded-resource: Forbidden: must not be used inside of resource meta"],
    ),
]


@pytest.mark.parametrize(("schema", "expected"), KEYWORDS)
def test_keyword_rules(schema: dict[str, Any], expected: list[str]) -> None:
    """Each keyword has its rules."""
    assert errors_of(schema) == expected


STRUCTURE: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["s.type: Required value: must not be empty at the root"]),
    ({"type": "array", "items": S}, ['s.type: Invalid value: "array": must be object at the root']),
    (
        {"type": "object", "additionalProperties": S},
        ["s.additionalProperties: Forbidden: must not be used at the root"],
    ),
    (member(), ["[a].type: Required value: must not be empty for specified object fields"]),
    (member(type="array", items={}), ["[a].items.type: Required value: must not be empty for specified array items"]),
    (member(type="array"), ["[a].items: Required value: must be specified"]),
    (member(**{KEEP: True}), []),
    (member(**{EITHER: True}), []),
    (member(**{EITHER: True, "anyOf": [{"type": "integer"}, S]}), []),
    (member(**{EITHER: True, "allOf": [{"anyOf": [{"type": "integer"}, S]}, {"pattern": "a"}]}), []),
    (
        member(**{EITHER: True, "anyOf": [S, {"type": "integer"}]}),
        [
            "[a].anyOf[0].type: Forbidden: must be empty to be structural",
            "[a].anyOf[1].type: Forbidden: must be empty to be structural",
        ],
    ),
    (
        member(**{EITHER: True, KEEP: True}),
        ["[a].x-orch-preserve-unknown-fields: Invalid value: true: must be false if x-orch-int-or-string is true"],
    ),
    (member(type="string", oneOf=[{"pattern": "a"}], not_={"enum": ["x"]}), []),
    (
        member(
            type="object", properties={"b": S}, anyOf=[{"properties": {"b": {"title": "t", "nullable": True}, "c": {}}}]
        ),
        [
            "[a].anyOf[0].properties[b].nullable: Forbidden: must be false to be structural",
            "[a].anyOf[0].properties[b].title: Forbidden: must be empty to be structural",
        ],
    ),
    (
        {"type": "object", "properties": {"a": S}, "not": {"properties": {"a": {"items": {}}, "c": {}}}},
        [
            "[a].items: Required value: because it is defined in s.not.properties[a].items",
            "[c]: Required value: because it is defined in s.not.properties[c]",
        ],
    ),
    (
        {"type": "object", "anyOf": [{"properties": {"metadata": {}}}], "properties": {"metadata": {"type": "object"}}},
        ["s.anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context"],
    ),
    (
        member(type="string", pattern="("),
        [
            '[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`'
        ],
    ),
    (
        {
            "type": "object",
            "properties": {"kind": {"type": "integer"}, "apiVersion": S, "metadata": {"type": "string"}},
        },
        [
            '[kind].type: Invalid value: "integer": must be string',
            '[metadata].type: Invalid value: "string": must be object',
        ],
    ),
    (
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"name": {**S, "maxLength": 3}}}},
        },
        [],
    ),
    (
        {"type": "object", "properties": {"metadata": {"type": "object", "description": "d"}}},
        [
            "[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"
        ],
    ),
    (
        member(**{INSIDE: True}),
        [
            "[a].properties: Required value: must not be empty if x-orch-embedded-resource is true without x-orch-preserve-unknown-fields",
            "[a].type: Required value: must be object if x-orch-embedded-resource is true",
        ],
    ),
    (
        member(type="object", additionalProperties=S, **{INSIDE: True, KEEP: True}),
        ["[a].additionalProperties: Forbidden: must not be used if x-orch-embedded-resource is set"],
    ),
]


@pytest.mark.parametrize(("schema", "expected"), STRUCTURE)
def test_structural_schema_rules(schema: dict[str, Any], expected: list[str]) -> None:
    """A structural schema specifies every type, and specifies none inside allOf, anyOf, oneOf and not."""
    if "not-" in (inner := (schema.get("properties") or {}).get("a") or {}):
        inner["not"] = inner.pop("not-")
    assert errors_of(schema) == expected


EMBEDDED = {"type": "object", INSIDE: True, KEEP: True}

DEFAULTS: list[tuple[dict[str, Any], list[str]]] = [
    (member(type="string", default="x"), []),
    (
        member(type="string", default=1),
        ['[a].default: Invalid value: "integer":  in body must be of type string: "integer"'],
    ),
    (member(type="string", default="x", enum=["a"]), ['[a].default: Unsupported value: "x": supported values: "a"']),
    (
        member(type="object", properties={"b": S}, default={"c": 1}),
        ['[a].default: Invalid value: map[string]interface {}{"c":1}: must not have unknown fields'],
    ),
    (member(type="object", properties={"b": S}, required=["b"], default={}), ["[a].default.b: Required value"]),
    (
        member(type="object", properties={"b": {"type": "integer"}}, default={"b": "x"}),
        ['[a].default.b: Invalid value: "string": b in body must be of type integer: "string"'],
    ),
    (
        member(type="string", anyOf=[{"minLength": 3}], default="x"),
        [
            '[a].default: Invalid value: "":  must validate at least one schema (anyOf)'.replace(
                ":  must", ': "" must'
            ),
            '[a].default: Invalid value: "x":  in body should be at least 3 chars long',
        ],
    ),
    (member(type="object", additionalProperties={"type": "string", "default": 1}), []),
    (member(**EMBEDDED, default={"kind": "K"}), ["[a].default.apiVersion: Required value: must not be empty"]),
    (
        member(**EMBEDDED, default={"kind": "K", "apiVersion": 1}),
        ["[a].default.apiVersion: Invalid value: 1: must be a string"],
    ),
    (
        member(
            **EMBEDDED, default={"kind": "K", "apiVersion": "v1", "metadata": {"name": "b ad"}}, properties={"x": S}
        ),
        [],
    ),
    (
        member(**EMBEDDED, default={"kind": "K", "apiVersion": "v1", "metadata": {"labels": {"a": "b c"}}}),
        [
            '[a].default.metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
            "'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ],
    ),
    (
        member(
            **{
                **EMBEDDED,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {"finalizers": {"type": "array", "items": S, "default": [""]}},
                    }
                },
            }
        ),
        [
            '[a].properties[metadata].properties[finalizers].default: Invalid value: []interface {}{""}: must result in valid metadata: '
            'metadata.finalizers: Invalid value: "": name part must be non-empty, metadata.finalizers: Invalid value: "": name part must consist'
        ],
    ),
]


@pytest.mark.parametrize(("schema", "expected"), DEFAULTS)
def test_defaults_must_fit_their_schema(schema: dict[str, Any], expected: list[str]) -> None:
    """A default must be valid under its own schema."""
    errors = errors_of(schema)
    assert len(errors) == len(expected)
    assert all(
        one.startswith(other.replace("metadata: metadata", "metadata: [metadata"))
        for one, other in zip(errors, expected, strict=True)
    ), errors


LATER = ObjectSettings(dialect=ORCH, release=NEWEST)


def test_later_releases_print_whole_schemas_as_json() -> None:
    """A schema in a message of a later release is JSON of the internal type, with all that is below it."""
    inner = {
        "type": "array", "items": {"type": "string"}, "not": {"required": ["z"]},
        "x-orch-validations": [{"rule": "true", "reason": "FieldValueInvalid"}],
    }  # fmt: skip
    free = {"type": "object", "additionalProperties": {"type": "boolean"}}
    lists = {"type": "array", "items": [{"type": "string"}], "additionalItems": True}
    schema = {"type": "object", "allOf": [{"required": ["a"]}], "properties": {"a": inner, "b": free, "c": lists}}
    [error] = [each for each in errors_of(schema, status=True, settings=LATER) if ": only [" in each]
    printed = orjson.loads(error.removeprefix("s: Invalid value: ").partition(": only [")[0])
    a, b = printed["Properties"]["a"], printed["Properties"]["b"]
    assert a["Items"]["Schema"]["Type"] == "string" and a["Items"]["JSONSchemas"] is None
    assert a["Not"]["Required"] == ["z"]
    assert a["XValidations"] == [
        {
            "Rule": "true", "Message": "", "MessageExpression": "", "Reason": "FieldValueInvalid", "FieldPath": "",
            "OptionalOldSelf": None,
        }
    ]  # fmt: skip
    c = printed["Properties"]["c"]
    assert c["Items"]["JSONSchemas"][0]["Type"] == "string" and c["AdditionalItems"] == {"Allows": True, "Schema": None}
    assert b["AdditionalProperties"]["Allows"] is True and b["AdditionalProperties"]["Schema"]["Type"] == "boolean"


def test_later_releases_print_versions_as_json() -> None:
    """A version in a message of a later release has its schema, subresources and columns as JSON of internal types."""
    names = {"plural": "ks", "kind": "K"}
    column = {"name": "c", "type": "string", "jsonPath": ".c"}
    first = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": member(type="string")}}
    second = {**first, "name": "v2", "schema": {"openAPIV3Schema": {"type": "object"}}, "subresources": {"status": {}}}
    second["additionalPrinterColumns"] = [column]
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [first, second]}
    report = Report(LATER)
    apiextensions.create({"metadata": {"name": "ks.example.com"}, "spec": spec}, report)
    [message] = [each.message for each in report.causes if "marked as storage version" in each.message]
    versions = orjson.loads(message.removeprefix("Invalid value: ").partition(": must have")[0])
    assert versions[0]["Schema"]["OpenAPIV3Schema"]["Properties"]["a"]["Type"] == "string"
    assert versions[1]["Subresources"] == {"Status": {}, "Scale": None}
    assert versions[1]["AdditionalPrinterColumns"][0]["JSONPath"] == ".c"


@pytest.mark.parametrize(("settings", "shown"), [(SETTINGS, 'map[string]interface {}{"b":2}'), (LATER, '{"b":2}')])
def test_defaults_are_printed_as_the_release_does(settings: ObjectSettings, shown: str) -> None:
    """A default in a message is a Go value, in later releases JSON."""
    wrong = errors_of(member(type="object", properties={"a": S}, default={"b": 2.0}), settings=settings)
    assert wrong == [f"[a].default: Invalid value: {shown}: must not have unknown fields"]


def test_root_keywords_with_a_status_subresource() -> None:
    """With a status subresource the root may only have keywords that apply to each part of it."""
    assert errors_of({"type": "object", "required": ["spec"]}, status=True) == []
    (error,) = errors_of({"type": "object", "nullable": False, "allOf": [{"required": ["a"]}], KEEP: True}, status=True)
    assert error.startswith(
        's: Invalid value: apiextensions.JSONSchemaProps{ID:"", Schema:"", Ref:(*string)(nil), Description:"", Type:"object", Nullable:false'
    )
    assert 'AllOf:[]apiextensions.JSONSchemaProps{apiextensions.JSONSchemaProps{ID:""' in error
    assert (
        "XPreserveUnknownFields:(*bool)(0x" in error
        and "XValidations:apiextensions.ValidationRules(nil)}: only" in error
    )
    assert "only [Description Type Format" in error and error.endswith("if the status subresource is enabled")
    for word, empty in (("maxProperties", 0), ("not", {}), ("additionalProperties", False), ("default", {})):
        assert errors_of({"type": "object", word: empty}, status=True)[0].endswith("is enabled")
    assert errors_of({"type": "array", "items": S}, status=True)[0] == (
        's.type: Invalid value: "array": only "object" is allowed as the type at the root of the schema if the status '
        "subresource is enabled"
    )


OLD: list[tuple[dict[str, Any], str]] = [
    (member(type="text"), "types"),
    (member(), "structural"),
    (member(type="object", default={"x": 1}), "pruned_defaults"),
    (items("set", {"type": "object"}), "atomic_sets"),
    (items("map", {"type": "object", "properties": {"k": S}}, **{KEYS: ["k"]}), "list_keys"),
]


@pytest.mark.parametrize(("schema", "rule"), OLD)
def test_existing_violations_are_accepted_on_update(schema: dict[str, Any], rule: str) -> None:
    """An update of a definition may keep a violation of the stored one."""
    options = options_after([schema], ORCH)
    assert not getattr(options, rule)
    if rule != "structural":
        # Structure is required here in any case: the keywords that require it are checked elsewhere.
        assert errors_of(schema)
    assert errors_of(schema, options) == []
    assert options_after([{"type": "object"}], ORCH) == Options()
    assert not options_after([None], ORCH).schemas


PATTERNS = [
    ("[a", "missing closing ]: `[a`"), ("a)", "unexpected ): `a)`"), ("a**", "invalid nested repetition operator: `**`"),
    ("*a", "missing argument to repetition operator: `*`"), ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
    ("(?<n>a)", "invalid or unsupported Perl syntax: `(?<`"), ("a{1001}", "invalid repeat count: `{1001}`"),
    ("a\\", "trailing backslash at end of expression: ``"), ("\\8", "invalid escape sequence: `\\8`"),
    ("\\C", "invalid escape sequence: `\\C`"), ("[b-a]", "invalid character class range: `b-a`"),
    ("(?P<n", "invalid named capture: `(?P<n`"), ("\\Q\\C(?<\\E[(?<]", ""), ("[[:alpha:]]\\pL\\z", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), PATTERNS)
def test_pattern_errors_are_re2s(text: str, why: str) -> None:
    """Patterns have RE2 syntax, and errors have RE2's messages."""
    assert pattern_error(text, SETTINGS.release) == (f"error parsing regexp: {why}" if why else "")


def test_later_releases_let_groups_have_shorter_names() -> None:
    """A group may have a name without a P."""
    assert pattern_error("(?<n>a)", NEWEST) == ""


def test_pattern_matching_takes_linear_time() -> None:
    """A pattern that causes backtracking elsewhere is matched in linear time."""
    assert pattern("^(a+)+$").matches("a" * 100_000 + "!") is False
    assert pattern("é$").matches("caf\u00e9") is True
    assert pattern("a$").matches("a\n") is False


@given(st.text(alphabet="ab()[]*+?{}12,|^$\\-.dpLQE<:i", max_size=12))
def test_any_pattern_is_accepted_or_refused(text: str) -> None:
    """Any text is a valid pattern or is rejected with a reason."""
    try:
        pattern(text)
    except PatternError as error:
        assert str(error).startswith("error parsing regexp: ")
