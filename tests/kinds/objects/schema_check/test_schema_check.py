"""Validation of custom objects against their schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.cel.regex import PatternError
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.crd.resources import custom_kind
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.schema_check import objects
from orchd.kinds.objects.schema_check.compiled import compile_schema
from orchd.kinds.objects.schema_check.formats import FORMATS
from orchd.kinds.objects.schema_check.limits import Limits, LongValidationError
from orchd.kinds.objects.schema_check.patterns import pattern
from orchd.kinds.objects.settings import ObjectSettings

SETTINGS = ObjectSettings(dialect=ORCH)


def errors_of(schema: dict[str, Any], value: Any) -> list[str]:
    """The errors of a value named ``v``."""
    return [
        f"{c.field}: {c.message}"
        for c in objects.causes(compile_schema(schema, SETTINGS)(value), SETTINGS.release, "v")
    ]


TABLE: list[tuple[dict[str, Any], Any, list[str]]] = [
    ({"type": "string"}, 1, ['v: Invalid value: "integer": v in body must be of type string: "integer"']),
    ({"type": "integer"}, 1.0, []),
    ({"type": "string", "format": "byte"}, 1.5, ['v: Invalid value: "float64": v in body must be of type byte: "float64"']),
    ({"type": "number"}, 1, []),
    ({"type": "boolean"}, 0, ['v: Invalid value: "integer": v in body must be of type boolean: "integer"']),
    ({"type": "object"}, [], ['v: Invalid value: "array": v in body must be of type object: "array"']),
    ({"type": "string"}, None, ['v: Invalid value: "null": v in body must be of type string: "null"']),
    ({"type": "string", "nullable": True}, None, []),
    ({"x-orch-int-or-string": True, "type": "integer", "pattern": "^a"}, "a", []),
    ({"x-orch-int-or-string": True}, 1.5, ['v: Invalid value: "number": v in body must be of type integer,string: "number"']),
    ({"x-orch-preserve-unknown-fields": True}, [1, {"a": None}], []),
    ({"enum": ["a", 1]}, "b", ['v: Unsupported value: "b": supported values: "a", "1"']),
    ({"enum": [1]}, True, ['v: Unsupported value: true: supported values: "1"']),
    ({"enum": [1]}, 1.0, []),
    ({"maxLength": 1}, "ab", ['v: Invalid value: "ab": v in body should be at most 1 chars long']),
    ({"minLength": 2, "pattern": "x"}, "é", ['v: Invalid value: "é": v in body should be at least 2 chars long']),
    ({"type": "string", "format": "date-time"}, 1, ['v: Invalid value: "int64": v in body must be of type date-time: "int64"']),
    ({"type": "string", "format": "no-format"}, "x", []),
    ({"maximum": 1.5, "exclusiveMaximum": True}, 1.5, ["v: Invalid value: 1.5: v in body should be less than 1.5"]),
    ({"minimum": 1000000}, 1.5, ["v: Invalid value: 1.5: v in body should be greater than or equal to 1e+06"]),
    ({"minimum": 1000000}, 1, ["v: Invalid value: 1: v in body should be greater than or equal to 1000000"]),
    ({"multipleOf": 0.1}, 0.3, []),
    ({"multipleOf": 0.1}, 0.35, ["v: Invalid value: 0.35: v in body should be a multiple of 0.1"]),
    (
        {"items": {"type": "string"}, "maxItems": 1}, [1, 2],
        [
            'v: Invalid value: "integer": v in body must be of type string: "integer"',
            "v: Invalid value: 2: v in body should have at most 1 items",
        ],
    ),
    ({"uniqueItems": True}, [1, 1.0], ['v: Invalid value: "": v in body shouldn\'t contain duplicates']),
    ({"minProperties": 1}, {}, ["v: Invalid value: 1: v in body should have at least 1 properties"]),
    ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, ['v: Invalid value: "b": v.b in body is a forbidden property']),
    ({"additionalProperties": {"type": "string"}}, {"k": 1}, ['v.k: Invalid value: "integer": v.k in body must be of type string: "integer"']),
    ({"required": ["a"]}, {}, ["v.a: Required value"]),
    ({"required": ["a"], "properties": {"a": {"default": 1}}}, {}, []),
    (
        {"anyOf": [{"required": ["a"]}, {"required": ["b"], "minProperties": 5}]}, {},
        ['<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)', "v.a: Required value"],
    ),
    ({"anyOf": [{"minimum": 5}, {"maximum": 1}]}, 0, []),
    # Of alternatives that fail, the one is reported by which most is right: here that with more members.
    (
        {"anyOf": [{"required": ["c"]}, {"properties": {"a": {"minimum": 5}, "b": {"minimum": 6}}}]}, {"a": 1, "b": 1},
        [
            '<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)',
            "v.a: Invalid value: 1: v.a in body should be greater than or equal to 5",
            "v.b: Invalid value: 1: v.b in body should be greater than or equal to 6",
        ],
    ),
    # A right type is one more match, as is a format that is checked; the first of equals is reported.
    (
        {"oneOf": [{"type": "string"}, {"minimum": 5}, {"type": "integer", "minimum": 6}, {"type": "integer", "minimum": 7}]}, 1,
        [
            '<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid',
            "v: Invalid value: 1: v in body should be greater than or equal to 6",
        ],
    ),
    (
        {"oneOf": [{"type": "string", "maxLength": 1}, {"type": "string", "format": "uuid", "maxLength": 2}]}, "abc",
        [
            '<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid',
            "v: Invalid value: \"abc\": v in body should be at most 2 chars long",
            'v: Invalid value: "abc": v in body must be of type uuid: "abc"',
        ],
    ),
    # Items count, though nothing is wrong about them, and a null less than a number.
    (
        {"anyOf": [{"minItems": 5}, {"minItems": 6, "items": {}}]}, [1],
        [
            '<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)',
            "v: Invalid value: 1: v in body should have at least 6 items",
        ],
    ),
    (
        {"oneOf": [{"properties": {"a": {}}, "required": ["c"]}, {"properties": {"b": {}}, "required": ["d"]}]}, {"a": None, "b": 1},
        [
            '<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid',
            "v.d: Required value",
        ],
    ),
    # Of nested alternatives, those that are reported or pass count, and all of allOf.
    (
        {
            "anyOf": [
                {"minLength": 5, "anyOf": [{}, {}]},
                {"minLength": 6, "allOf": [{}, {}]},
                {"minLength": 7, "oneOf": [{}, {"maxLength": 1}]},
                {"minLength": 8, "not": {"minLength": 4}},
            ]
        }, "abc",
        [
            '<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)',
            "v: Invalid value: \"abc\": v in body should be at least 6 chars long",
        ],
    ),
    (
        {"oneOf": [{"minimum": 5}, {"minimum": 6}]}, 7,
        ['<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ),
    (
        {"allOf": [{"minimum": 5}, {"maximum": 9}]}, 3,
        [
            "v: Invalid value: 3: v in body should be greater than or equal to 5",
            '<nil>: Invalid value: "": "v" must validate all the schemas (allOf)',
        ],
    ),
    ({"not": {"enum": [3]}}, 3, ['<nil>: Invalid value: "": "v" must not validate the schema (not)']),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "wrong"), TABLE, ids=lambda each: repr(each)[:40])
def test_keyword_violations_are_reported(schema: dict[str, Any], value: Any, wrong: list[str]) -> None:
    """Violations of each keyword are reported with the reference's messages."""
    assert errors_of(schema, value) == wrong


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2020-01-01T00:00:00.123456789Z", "2020-13-01T00:00:00Z"),
        ("date", "2020-02-29", "2021-02-29"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("mac", "01:23:45:67:89:ab", "01:23:45:67:89"),
        ("uuid", "B5D4045C-C3DA-4F1C-8F6B-9E8A1A1F5D1C", "b5d4045c"),
        ("uuid4", "b5d4045c-c3da-4f1c-8f6b-9e8a1a1f5d1c", "b5d4045c-c3da-3f1c-8f6b-9e8a1a1f5d1c"),
        ("uri", "https://example.com/a", "a b"),
        ("hostname", "a.example.com", "a_b"),
        ("email", "a@example.com", "example.com"),
        ("byte", "aGVsbG8=", "hell!"),
        ("byte", "aGVs", ""),
        ("byte", "+/==", "aGVs\n"),
        ("duration", "1h30m", "soon"),
        ("hexcolor", "#fff", "#ffff"),
        ("rgbcolor", "rgb(1, 2, 255)", "rgb(1, 2, 256)"),
        ("isbn10", "0-306-40615-2", "0-306-40615-3"),
        ("isbn13", "978-0-306-40615-7", "978-0-306-40615-8"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("ssn", "123-45-6789", "12-345-6789"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77"),
        ("date-time", "2020-01-01t00:00:00,5+01:00", "2020-01-01 00:00:00Z"),
        ("date-time", "2020-01-01T00:00:00ZT", "2020-01-01T00:00:00"),
        ("date-time", "0000-02-29T23:59:59z", "2020-01-01T24:00:00Z"),
        ("date", "0000-01-01", "2020-W01-1"),
        ("ipv4", "010.0.0.1", "::1"),
        ("ipv4", "::ffff:1.2.3.4", "1.2.3.4.5"),
        ("mac", "01:23:45:67:89:ab:cd:ef", "01:23:45:67:89:ab:cd"),
        ("mac", "0123.4567.89ab", "0123.4567.89ab.cdef.0123"),
        ("uri", "*", "http://a:b"),
        ("uri", "/a b", "/%zz"),
        ("hostname", "key=value", "a-b-c"),
        ("hostname", "ä.de", "a.ä"),
        ("hostname", "☃.net", "10.0.0.1"),
        ("hostname", "a-b.c--d.example", "a.example."),
        ("hostname", "a" * 63 + ".com", "a" * 64 + ".com"),
        ("hostname", "ab." * 84 + "com", "ab." * 85 + "com"),
        ("hostname", "ä" * 31 + ".com", "ä" * 32 + ".com"),
        ("email", "a@b", "a..b@c.d"),
        ("email", '"a b"@[10.0.0.1] (c(d))', "a@[x]"),
        ("email", 'A "B" (c) <a.b@c>', "A <a@b> x"),
        ("email", "A: a@b;", "A: a@b, c@d;"),
        ("email", "<a@b>", "<a@b >"),
        ("email", "ä@ö", '""@b'),
        ("email", "a@ b ", ".a@b"),
        ("duration", "-.5s", ".5"),
        ("duration", "in 2 Days and 1 min", "2 decades"),
        ("duration", "9999999h", "9223372036854775808ns 1s"),
        ("duration", "1 nanofoo", "1 wks"),
        ("ssn", "123 45 6789", "123456789"),
        ("creditcard", "4111/1111/1111/1111", "4111111111111112"),
        ("isbn10", "0\t306\n40615-2", "0_306_40615_2"),
    ],
)
def test_formats_accept_and_refuse(name: str, good: str, bad: str) -> None:
    """Each checked format accepts one value and rejects the other."""
    assert FORMATS[name](good) and not FORMATS[name](bad)


def test_nested_alternatives_are_tried_once() -> None:
    """Alternatives within alternatives are tried once each: with twice at each level this test would take years."""
    schema: dict[str, Any] = {"type": "integer", "minimum": 5}
    for _ in range(60):
        schema = {"oneOf": [{"type": "string"}, schema]}
    assert errors_of(schema, 1)[1:] == ["v: Invalid value: 1: v in body should be greater than or equal to 5"]


def test_format_checks_take_linear_time() -> None:
    """Formats are checked in time linear in the text: with quadratic time this test would take hours."""
    assert not any(FORMATS[name]("1" * 1_000_000 + "!") for name in FORMATS if name != "password")


def test_patterns_of_schemas_may_be_larger_than_those_of_expressions() -> None:
    """Published definitions have patterns that take 100 ms to compile; larger ones are refused."""
    assert pattern(r"^[\p{L}0-9]{1,63}(\.[\p{L}0-9]{1,63})?$").matches("ä.b")
    with pytest.raises(PatternError, match="expression too large"):
        pattern("(a{0,1000}){1,11}")


def test_re2_pattern_syntax() -> None:
    """Named classes, the absolute end of text and quoted sequences have RE2's meaning."""
    assert pattern("^[[:alpha:]]+$").matches("ab")
    assert not pattern("^[[:alpha:]_]+$").matches("ab\n")
    assert pattern(r"^\Qa.b\E\z").matches("a.b") and not pattern(r"^\Qa.b\E").matches("axb")
    assert pattern("[]a]").matches("]") and pattern("^[$]$").matches("$")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
schemas = st.recursive(
    st.sampled_from(
        [
            {"type": "string", "maxLength": 2}, {"type": "integer", "minimum": 0}, {"type": "number", "multipleOf": 2},
            {"type": "boolean"}, {"enum": ["a", 1, None]}, {"type": "string", "nullable": True}, {},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda s: {"type": "array", "items": s, "maxItems": 2}),
        inner.map(lambda s: {"type": "object", "properties": {"a": s}, "required": ["a"]}),
        inner.map(lambda s: {"type": "object", "additionalProperties": s}),
        inner.map(lambda s: {"not": s}),
        st.lists(inner, min_size=1, max_size=2).map(lambda s: {"anyOf": s}),
        st.lists(inner, min_size=1, max_size=2).map(lambda s: {"oneOf": s, "allOf": s}),
    ),
    max_leaves=5,
)  # fmt: skip


@given(schemas, json_values)
def test_any_value_and_schema_can_be_checked(schema: dict[str, Any], value: Any) -> None:
    """Any value can be checked against any schema without an exception, and ``not`` inverts the result."""
    wrong = errors_of(schema, value)
    if value is not None:
        assert bool(errors_of({"not": schema}, value)) != bool(wrong)


def test_recorded_refusals(reference: Callable[[str], Any]) -> None:
    """Every recorded rejection of a custom object has the recorded causes and messages."""
    facts = reference("validation")
    fixture = facts["fixtures"]["crd ws.wx.com"]
    names = {**fixture["spec"]["names"], "listKind": "WList", "singular": "w"}
    whole = {**fixture, "status": {"acceptedNames": names}}
    kind = custom_kind(whole, lambda: whole, builtin_catalog(ORCH).types, ORCH)
    (resource, _) = kind.resources
    checked = 0
    for case in facts["cases"]:
        body = case["req"].get("body")
        if not case["id"].startswith("CustomResource/") or case["req"]["m"] != "POST" or "ct" in case["req"]:
            continue
        if case["ans"]["code"] == 400 or "status" in body:
            continue
        shaped = default.apply(shape.canonical(body, resource.type), resource, SETTINGS)
        shaped = {**shaped, "metadata": {**shaped["metadata"], "namespace": "facts"}}
        causes = objects.identity_causes(shaped, resource) or objects.create_causes(shaped, resource, SETTINGS)
        assert sorted([c.reason, c.field] for c in causes) == sorted(case["ans"].get("causes") or []), case["id"]
        assert all(f"{c.field}: {c.message}" in case["ans"]["message"] for c in causes), case["id"]
        checked += 1
    assert checked > 30


def _thing(schema: dict[str, Any], **entry: Any) -> Any:
    whole = {
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **entry}
            ],
        }
    }  # fmt: skip
    return custom_kind(whole, lambda: whole, builtin_catalog(ORCH).types, ORCH).resources[0]


def _object(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **members}


def test_existing_duplicates_are_accepted_on_update() -> None:
    """An object whose set already had a duplicate item may be updated; a new one is rejected."""
    resource = _thing(
        {
            "type": "object",
            "properties": {"s": {"type": "array", "x-orch-list-type": "set", "items": {"type": "string"}}},
        }
    )
    wrong, fine = _object(s=["a", "a"]), _object(s=["a"])
    assert [c.field for c in objects.create_causes(wrong, resource, SETTINGS)] == ["s[1]"]
    assert [c.field for c in objects.update_causes(wrong, fine, resource, SETTINGS)] == ["s[1]"]
    assert objects.update_causes(wrong, _object(s=["b", "b"]), resource, SETTINGS) == []


def test_patterns_are_compiled_away_from_the_reactor() -> None:
    """A quick validation ends with an exception where a pattern is to be compiled, and uses one that was."""
    resource = _thing({"type": "object", "properties": {"s": {"type": "string", "pattern": "^a{1,900}$"}}})
    quick, one = Limits(quick=True), _object(s="a")
    assert objects.create_causes(_object(), resource, SETTINGS, limits=quick) == []
    with pytest.raises(LongValidationError):
        objects.create_causes(one, resource, SETTINGS, limits=quick)
    with pytest.raises(LongValidationError):
        objects.update_causes(one, one | {"x": 1}, resource, SETTINGS, limits=quick)
    assert objects.create_causes(one, resource, SETTINGS) == []
    assert [c.field for c in objects.create_causes(_object(s="b"), resource, SETTINGS, limits=quick)] == ["s"]


def test_scale_replicas_must_be_numbers() -> None:
    """Replicas that the scale subresource shows must be integers within its range."""
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    schema = {"type": "object", "x-orch-preserve-unknown-fields": True}
    resource = _thing(schema, subresources={"scale": scale, "status": {}})
    causes = objects.create_causes(_object(spec={"n": -1}, status={"n": "x", "s": 1}), resource, SETTINGS)
    assert [(c.field, re.sub(".*?: ", "", c.message, count=1)) for c in causes] == [
        (".spec.n", "-1: should be a non-negative integer"),
        (".status.n", "0: .status.n accessor error: x is of the type string, expected int64"),
        (".status.s", '"": .status.s accessor error: 1 is of the type int64, expected string'),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true is of the type bool"),
        (False, "false is of the type bool"),
        (1.5, "1.5 is of the type float64"),
        ([1, None, "a", True], "[1 <nil> a true] is of the type []interface {}"),
        ({"b": 1, "a": {"c": False}}, "map[a:map[c:false] b:1] is of the type map[string]interface {}"),
    ],
)
def test_selectors_that_are_no_text(value: Any, text: str) -> None:
    """The value of the selector is in the message, as Go prints it."""
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    schema = {"type": "object", "x-orch-preserve-unknown-fields": True}
    resource = _thing(schema, subresources={"scale": scale, "status": {}})
    causes = objects.create_causes(_object(spec={"n": 1}, status={"n": 1, "s": value}), resource, SETTINGS)
    assert [c.message.partition("accessor error: ")[2] for c in causes] == [f"{text}, expected string"]


def test_null_has_no_replicas() -> None:
    """A null in the place of an object with replicas is an error of its type alone."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    resource = _thing(schema, subresources={"scale": scale})
    assert [cause.field for cause in objects.create_causes(_object(spec=None), resource, SETTINGS)] == ["spec"]


def _matched(pattern: str) -> Any:
    """A kind whose texts `a`, and those of the list `l`, have a pattern."""
    text = {"type": "string", "pattern": pattern}
    return _thing({"type": "object", "properties": {"a": text, "l": {"type": "array", "items": text}}})


def test_matching_with_patterns_is_bounded_for_an_object() -> None:
    """The limit is one of all texts times the sizes of their patterns; the error names the first that is too much."""
    resource = _matched("a[abc]{900}[de]")
    text = "abc" * 30_000 + "a" * 901 + "d"
    assert objects.create_causes(_object(a=text, l=[text]), resource, SETTINGS) == []
    (cause,) = objects.create_causes(_object(a=text, l=[text] * 3), resource, SETTINGS)
    assert (cause.field, cause.message) == (
        "l",
        f'Invalid value: "{text[:64]}": l in body should be shorter: matching the texts of the object with patterns like '
        "'a[abc]{900}[de]' takes too long",
    )
    # A long text with a small pattern is within it.
    assert objects.create_causes(_object(a="a" * 3_000_000), _matched("^[a-z]+$"), SETTINGS) == []


def test_large_patterns_are_matched_away_from_the_reactor() -> None:
    """Small texts are not."""
    resource, quick, text = _matched("a[abc]{900}[de]"), Limits(quick=True), "abc" * 500
    assert len(objects.create_causes(_object(a=text), resource, SETTINGS)) == 1
    with pytest.raises(LongValidationError):
        objects.create_causes(_object(a=text), resource, SETTINGS, limits=quick)
    assert len(objects.create_causes(_object(a="abc"), resource, SETTINGS, limits=quick)) == 1
