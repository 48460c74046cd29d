"""Data seen through structural schemas: conversion where an expression looks, names, kinds of lists, and errors of
data."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.cel.environment import Variable
from orchd.cel.names import escape, unescape
from orchd.cel.objects import Keywords, viewer
from orchd.cel.program import ProgramError
from orchd.cel.releases import environment_of_release
from orchd.cel.schema import declare_variable
from orchd.cel.types import optional_of
from orchd.cel.values import Duration, EvaluationError, Optional, Timestamp

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "span": {"type": "string", "format": "duration"},
        "blob": {"type": "string", "format": "byte"},
        "port": {"x-example-int-or-string": True},
        "a-b": {"type": "string"},
        "namespace": {"type": "string"},
        "note": {"type": "string", "nullable": True},
        "set": {"type": "array", "items": {"type": "integer"}, "x-example-list-type": "set"},
        "keyed": {
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}},
            "x-example-list-type": "map",
            "x-example-list-map-keys": ["k"],
        },
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "open": {"type": "object", "x-example-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
DATA: dict[str, Any] = {
    "count": 3,
    "ratio": 2,
    "when": "2024-02-29T12:00:00Z",
    "span": "1h",
    "blob": "aGk_",
    "port": "http",
    "a-b": "dash",
    "namespace": "ns",
    "note": None,
    "set": [1, 2],
    "keyed": [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
    "open": {"hidden": 1},
    "labels": {"a-b": "x"},
}
OTHER = {**DATA, "set": [2, 1], "keyed": [{"k": "b", "v": 2}, {"k": "a", "v": 1}]}


def evaluate(text: str, **bindings: Any) -> Any:
    """The value of an expression over `self` and `other`, or its error as an exception."""
    variable, structs = declare_variable(SCHEMA, "Thing", "example")
    environment = environment_of_release((1, 35), "example").with_variables(
        {"self": variable, "other": variable}, structs
    )
    checked = environment.compile(text)
    assert not checked.issues, checked.text
    outcome = checked.program().evaluate({"self": DATA, "other": OTHER, **bindings}, 100_000)
    if outcome.error is not None:
        raise ValueError(outcome.error)
    return outcome.value


@pytest.mark.parametrize(
    "text",
    [
        "self.count == 3 && self.ratio == 2.0",
        "self.when.getMonth() == 1 && self.span == duration('60m') && self.blob == b'hi?'",
        "self.port == 'http' && type(self.port) == string",
        "self.a__dash__b == 'dash' && self.__namespace__ == 'ns' && self.namespace == 'ns'",
        "!has(self.note) && has(self.count)",
        "self.set == other.set && self.set + [2, 3] == [3, 1, 2] + []",
        "self.keyed == other.keyed && (self.keyed + other.keyed).size() == 2",
        "self == other && !(self != other)",
        "self.labels['a-b'] == 'x' && 'a-b' in self.labels && self.labels.all(k, k == 'a-b')",
        "self.keyed.exists(e, e.k == 'b' && e.v == 2)",
        "self.?note.orValue('none') == 'none' && self.?count.hasValue()",
        "dyn(self).count == 3 && dyn(self.count) == 3.0 && self.open == other.open",
    ],
)
def test_data_is_what_its_schema_says(text: str) -> None:
    """Values have the types of the schema, names are escaped, and lists compare by their kind."""
    assert evaluate(text) is True


@pytest.mark.parametrize(
    ("text", "data", "message"),
    [
        ("self.count > 1", {"count": "3"}, "invalid data, expected int, got string"),
        ("self.set.size() > 1", {"set": {}}, "invalid data, expected an array for the provided schema with type=array"),
        ("has(self.labels.a)", {"labels": []}, "invalid data, expected a map for the provided schema with type=object"),
        ("self.port == 1", {"port": 1.5}, "invalid data, expected XIntOrString value to be either a string or integer"),
        ("self.set.all(e, e > 0)", {"set": [1, None]}, "invalid data, got null for schema with nullable=false"),
        ("self.count == 1", {}, "no such key: count"),
        ("self.set.max() == 1", {"set": ["a"]}, r"no such overload: max\(list\)"),
        (
            "self.blob == b'a'",
            {"blob": "/w=="},
            "Invalid byte formatted string /w==: illegal base64 data at input byte 0",
        ),
        (
            "self.blob == b'a'",
            {"blob": "YW+="},
            r"Invalid byte formatted string YW\+=: illegal base64 data at input byte 2",
        ),
    ],
)
def test_data_that_is_not_what_its_schema_says_is_an_error(text: str, data: dict[str, Any], message: str) -> None:
    """An error of the data comes where the expression looks at it, and is told."""
    with pytest.raises(ValueError, match=message):
        evaluate(text, self=data)


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("date-time", "2023-01-01", ' as "2006-01-02T15:04:05": cannot parse "" as "T"'),
        ("date-time", "2023-01-01t00:00:00z", ' as "2006-01-02T15:04:05": cannot parse "t00:00:00z" as "T"'),
        ("date-time", "2023-01-01T00:0:00Z", ' as "2006-01-02T15:04:05": cannot parse "0:00Z" as "04"'),
        ("date-time", "2023-01-01T00:00:00+0200", ': extra text: "+0200"'),
        ("date-time", "2023-02-30T00:00:00Z", ': extra text: "Z"'),
        ("date-time", "2023-02-30T00:00:00", ": day out of range"),
        ("date-time", "2023-13-01T00:00:00", ": month out of range"),
        ("date-time", "2023-01-01T24:00:00Z", ": hour out of range"),
        ("date-time", "2023-01-01T23:60:00Z", ": minute out of range"),
        ("date-time", "2023-01-01T23:59:60.5Z", ": second out of range"),
        ("date", "2023-02-29", ": day out of range"),
        ("date", "2023-01-01x", ': extra text: "x"'),
        ("date", "2023", ' as "2006-01-02": cannot parse "" as "-"'),
        ("duration", "1 wx", "unable to parse 1 wx as duration"),
        ("duration", "1 fortnight", "unable to parse 1 fortnight as duration"),
        ("duration", "99999999999999999999w", 'strconv.Atoi: parsing "99999999999999999999": value out of range'),
        ("byte", "aGVsbG8", "illegal base64 data at input byte 4"),
        ("byte", "YQ=", "illegal base64 data at input byte 3"),
        ("byte", "YQ==YQ==", "illegal base64 data at input byte 4"),
        ("byte", "aaaa=", "illegal base64 data at input byte 4"),
        ("byte", "ab=\r\n=x", "illegal base64 data at input byte 6"),
        ("byte", "a=b=", "illegal base64 data at input byte 1"),
    ],
)
def test_text_that_is_not_of_its_format_is_an_error(form: str, text: str, message: str) -> None:
    """The message says where the reference stops to read."""
    value = viewer({"type": "string", "format": form}, Keywords("example"))(text)
    kind = {"date-time": "date-time formatted string", "duration": "duration"}.get(form, f"{form} formatted string")
    parsed = f'parsing time "{text}"' if form in ("date", "date-time") else ""
    assert isinstance(value, EvaluationError)
    assert value.message == f"Invalid {kind} {text}: {parsed}{message}"


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("date-time", "2023-01-01T00:00:00,5", Timestamp(1_672_531_200_500_000_000)),
        ("duration", "1d 2 hrs", Duration(24 * 3600 * 10**9)),
        ("duration", "2 Weeks", Duration(14 * 86_400 * 10**9)),
        ("duration", "0" * 5_000 + "1day", Duration(86_400 * 10**9)),
        ("duration", "0" * 30 + "1s", Duration(10**9)),
        ("duration", "2 s " + "1" * 1_000_000, Duration(2 * 10**9)),
        ("byte", "YQ=\r\n=\n", b"a"),
    ],
)
def test_text_of_a_format_is_a_value(form: str, text: str, expected: object) -> None:
    """Formats are read as loosely as by the reference: units that begin with a name, line breaks in base64. Long runs
    of digits are read once.
    """
    assert viewer({"type": "string", "format": form}, Keywords("example"))(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "old.value().when == '2024-02-29T12:00:00Z' && old.?blob.value() == 'aGk_'",
        "old.value()['a-b'] == 'dash' && !has(old.value().a__dash__b) && old.value().open.hidden == 1",
        "old.optMap(o, o.keyed.size()).value() == 2 && old.value().note == null",
        "type(optional.of(self.ratio).value()) == double && type(old.value().ratio) == int",
    ],
)
def test_an_optional_variable_has_plain_data(text: str) -> None:
    """What a variable has that may be missing is not seen through its schema: names and texts are those of the data."""
    variable, structs = declare_variable(SCHEMA, "Thing", "example")
    environment = environment_of_release((1, 35), "example").with_variables(
        {"self": variable, "old": Variable(type=optional_of(variable.type))}, structs
    )
    checked = environment.compile(f"dyn({text.replace('old', 'dyn(old)')})")
    assert not checked.issues, checked.text
    assert variable.adapt is not None
    outcome = checked.program().evaluate({"self": DATA, "old": Optional(variable.adapt(DATA))}, 100_000)
    assert (outcome.value, outcome.error) == (True, None)


def test_a_computed_list_cannot_be_seen_through_a_schema() -> None:
    """Adding it to a list of lists is no error; looking at it is."""
    assert evaluate("(self.rows + [[1]]).size() == 2", self={"rows": [[1, 2]]}) is True
    assert evaluate("(self.rows + [self.rows[0]])[1][1] == 2", self={"rows": [[1, 2]]}) is True
    with pytest.raises(ValueError, match="invalid data, expected an array for the provided schema with type=array"):
        evaluate("(self.rows + [[1]])[1][0] == 1", self={"rows": [[1, 2]]})


@pytest.mark.parametrize("name", ["timestamp", "duration"])
def test_short_names_of_types_have_no_values(name: str) -> None:
    """Where types of schemas are declared, they are names for the checker only, as in the reference."""
    variable, structs = declare_variable(SCHEMA, "Thing", "example")
    environment = environment_of_release((1, 35), "example").with_variables({"self": variable}, structs)
    checked = environment.compile(f"type(self.when) == {name}")
    assert not checked.issues
    with pytest.raises(ProgramError, match=f"reference to undefined type: {name}"):
        checked.program()
    assert environment_of_release((1, 35), "example").compile(name).issues


def test_only_what_is_looked_at_is_converted() -> None:
    """Wrong data beside what an expression looks at does not matter."""
    assert evaluate("self.count == 3", self={**DATA, "when": "never", "set": "none"}) is True


def test_data_is_not_changed() -> None:
    """Adding to lists and sets makes new ones."""
    before = repr((DATA, OTHER))
    evaluate("(self.set + [7]).size() + (self.keyed + other.keyed).size() > 0")
    assert repr((DATA, OTHER)) == before


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("plain", "plain"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("1a", None),
        ("a b", None),
        ("", None),
        ("\u00e9", None),
    ],
)
def test_names_are_escaped_and_back(name: str, escaped: str | None) -> None:
    """Names that expressions cannot spell are escaped; some cannot be written at all."""
    assert escape(name) == escaped
    if escaped is not None:
        assert unescape(escaped) == name


def test_sizes_come_from_the_schema() -> None:
    """Estimates know maxLength and maxItems; without them a value may fill a request."""
    schema = {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 5}}
    variable, structs = declare_variable(schema, "Thing", "example")
    environment = environment_of_release((1, 35), "example").with_variables({"self": variable}, structs)
    bounded = environment.compile("self.all(s, s.contains('x'))").estimate()
    variable, structs = declare_variable({"type": "array", "items": {"type": "string"}}, "Thing", "example")
    unbounded = environment.with_variables({"self": variable}).compile("self.all(s, s.contains('x'))").estimate()
    assert bounded.high < 1_000 < 10_000_000 < unbounded.high


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Object{spec: Object.spec{a: 1}} == Object{spec: Object.spec{a: 1}}", True),
        ("Object{spec: Object.spec{a: 1}} == Object{spec: Object.spec{a: 2}}", False),
        (
            "JSONPatch{op: 'add', path: '/a', value: {'b': 1}} == JSONPatch{op: 'add', path: '/a', value: {'b': 1}}",
            True,
        ),
        ("JSONPatch{op: 'add', path: '/a', value: 1} == JSONPatch{op: 'add', path: '/a'}", False),
    ],
)
def test_values_of_mutations_are_compared_whole(text: str, expected: bool) -> None:
    checked = environment_of_release((1, 35), "example", mutates=True).compile(text)
    assert not checked.issues, checked.text
    assert checked.program().evaluate({}, 10_000).value is expected
