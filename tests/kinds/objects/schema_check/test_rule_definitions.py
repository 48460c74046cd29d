"""Rules in definitions: their texts, what does not compile, and what may cost too much."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.schema_check.definitions.options import Options, options_after
from orchd.kinds.objects.schema_check.definitions.schema import check
from orchd.kinds.objects.schema_check.rules import GATE
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report

RULES = ORCH("x-{long}-validations")
LIST_TYPE, LIST_KEYS = ORCH("x-{long}-list-type"), ORCH("x-{long}-list-map-keys")
NUMBER: dict[str, Any] = {"type": "integer"}
HINT = " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"


def found(member: dict[str, Any], *, gate: bool = True) -> list[str]:
    """Errors about a schema with one member ``a``, without the path of that member."""
    report = Report(ObjectSettings(dialect=ORCH, features={GATE: gate}))
    check({"type": "object", "properties": {"a": member}}, root("s"), report, Options(), status=False)
    return [
        f"{cause.field}: {cause.message}".removeprefix("s.properties[a]").removeprefix(f".{RULES}[0].")
        for cause in report.causes
    ]


def ruled(rule: str, kind: dict[str, Any] = NUMBER, **more: Any) -> dict[str, Any]:
    return {**kind, RULES: [{"rule": rule, **more}]}


OBJECT = {"type": "object", "properties": {"n": NUMBER, "m": {"type": "object", "additionalProperties": NUMBER}}}


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (ruled(" "), "rule: Required value: rule is not specified"),
        (ruled("true", message=" "), 'message: Invalid value: " ": must be non-empty if specified'),
        (ruled("true", message="a\nb"), 'message: Invalid value: "a\\nb": must not contain line breaks'),
        (ruled("true ||\ntrue"), "message: Required value: message must be specified if rule contains line breaks"),
        (ruled("true", messageExpression=" "), "messageExpression: Required value: messageExpression must be non-empty if specified"),
        (ruled("true", reason="Other"), 'reason: Unsupported value: "Other": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'),
        (ruled("true", OBJECT, fieldPath=".x"), 'fieldPath: Invalid value: ".x": must be a valid path'),
        (ruled("true", OBJECT, fieldPath=".m['a'"), "fieldPath: Invalid value: \".m['a'\": must be a valid path"),
        (ruled("true", OBJECT, fieldPath=".n\n"), 'fieldPath: Invalid value: ".n\\n": must not contain line breaks'),
    ],
)  # fmt: skip
def test_texts_of_rules(member: dict[str, Any], expected: str) -> None:
    """Rules, messages, reasons and paths are checked, with their gate and without; no expression of such a schema is
    compiled."""
    assert found(member)[0] == expected
    assert found(member, gate=False)[0] == expected
    assert found({**member, RULES: [*member[RULES], {"rule": "nonsense"}]}) == found(member)


def shown(**members: Any) -> str:
    names = {
        "Rule": "",
        "Message": "",
        "MessageExpression": "",
        "Reason": "null",
        "FieldPath": "",
        "OptionalOldSelf": "null",
    }
    parts = [f'"{name}":{members.get(name) or default or chr(34) * 2}' for name, default in names.items()]
    return "Invalid value: {" + ",".join(parts) + "}: "


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (ruled("self > 1"), []),
        (ruled("self > 'a'"), ["rule: " + shown(Rule="\"self \\u003e 'a'\"") + "compilation failed: ERROR: <input>:1:6: found no matching overload for '_>_' applied to '(int, string)'\n | self > 'a'\n | .....^"]),
        (ruled("self", reason="FieldValueForbidden"), ["rule: " + shown(Rule='"self"', Reason='"FieldValueForbidden"') + "cel expression must evaluate to a bool"]),
        (ruled("int('x') > self"), ["rule: " + shown(Rule="\"int('x') \\u003e self\"") + "program instantiation failed: type conversion error from 'string' to 'int'"]),
        (ruled("self > 1", messageExpression="self"), ["messageExpression: " + shown(Rule='"self \\u003e 1"', MessageExpression='"self"') + "messageExpression must evaluate to a string"]),
        (ruled("self > 1", optionalOldSelf=True), ["optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"]),
        (ruled("oldSelf.value() > 1", optionalOldSelf=True), []),
        ({"type": "array", "items": ruled("self > oldSelf")}, [f".items.{RULES}[0].rule: Invalid value: \"self > oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[a]"]),
        # A variable of a loop is no reference to the old value.
        ({"type": "array", "maxItems": 9, "items": ruled("[1].all(oldSelf, oldSelf < self)")}, []),
        ({"type": "array", LIST_TYPE: "map", LIST_KEYS: ["k"], "maxItems": 3, "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 5}}, **ruled("self.k == oldSelf.k", {})}}, []),
    ],
)  # fmt: skip
def test_expressions_of_rules(member: dict[str, Any], expected: list[str]) -> None:
    """Expressions are compiled against the schema around them; nothing is compiled while the gate is off."""
    assert found(member) == expected
    assert found(member, gate=False) == []


def loop(limit: int, **more: int) -> dict[str, Any]:
    return ruled("self.all(x, self.all(y, x == y))", {"type": "array", "items": NUMBER, "maxItems": limit, **more})


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (loop(1000), []),
        (loop(1500), ["rule: Forbidden: estimated rule cost exceeds budget by factor of 1.125750x"]),
        (loop(3000), ["rule: Forbidden: estimated rule cost exceeds budget by factor of 4.5x"]),
        # A rule counts once for each value that its place may have.
        ({"type": "array", "maxItems": 4, "items": loop(1000)}, [f".items.{RULES}[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 2.0x"]),
        ({"type": "array", "maxItems": 0, "items": loop(1500)}, []),
    ],
)  # fmt: skip
def test_costs_of_rules(member: dict[str, Any], expected: list[str]) -> None:
    """A rule whose estimated cost is above the limit is rejected, with the factor."""
    assert found(member) == [text + HINT for text in expected]


def test_costs_of_a_schema() -> None:
    """Rules that cost too much together are rejected, and the most expensive four are named."""
    texts = found({"type": "object", "properties": {f"p{i}": loop(1390 + i) for i in range(13)}})
    *named, total = texts
    assert total.startswith(
        "s: Forbidden: "
        + RULES
        + " estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.267647x"
    )
    names = [text.partition(f".{RULES}")[0] for text in named]
    assert names == [f".properties[p{i}]" for i in (12, 11, 10, 9)]
    assert all("contributed to estimated rule cost total" in text for text in named)


def test_stored_schemas_may_keep_costs() -> None:
    """An update that leaves a schema alone is not rejected for what one of its rules costs; another schema is."""
    schema = {"type": "object", "properties": {"a": loop(1500)}}
    settings = ObjectSettings(dialect=ORCH, features={GATE: True})
    for changed, number in ((schema, 0), ({**schema, "description": "changed"}, 1)):
        report = Report(settings)
        check(changed, root("s"), report, options_after([schema], ORCH), status=False)
        assert len(report.causes) == number


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (ruled("self > 1", {**NUMBER, "default": 2}), []),
        (ruled("self > 1", {**NUMBER, "default": 1}), [".default: Invalid value: 1: failed rule: self > 1"]),
        (
            ruled("self != oldSelf", {**NUMBER, "default": 1}),
            [".default: Invalid value: 1: failed rule: self != oldSelf"],
        ),
        (ruled("self.n > 1", {**OBJECT, "default": {"n": 0}}), [".default: Invalid value: failed rule: self.n > 1"]),
    ],
)
def test_defaults_must_meet_rules(member: dict[str, Any], expected: list[str]) -> None:
    """A default for which a rule of its schema does not hold is rejected."""
    assert found(member) == expected
    assert found(member, gate=False) == []
