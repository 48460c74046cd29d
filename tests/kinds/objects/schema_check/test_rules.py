"""Rules of custom kinds: which values they are evaluated for, what is reported, and what they may cost."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.objects.schema_check import rules
from orchd.kinds.objects.schema_check.limits import Limits, LongValidationError
from orchd.kinds.objects.schema_check.rules import Ratcheting, compile_places, evaluate
from orchd.kinds.objects.settings import ObjectSettings, RuleTimes

RULES = ORCH("x-{long}-validations")
LIST_TYPE, LIST_KEYS = ORCH("x-{long}-list-type"), ORCH("x-{long}-list-map-keys")
EMBEDDED, PRESERVE = ORCH("x-{long}-embedded-resource"), ORCH("x-{long}-preserve-unknown-fields")
INT_OR_STRING = ORCH("x-{long}-int-or-string")


def ruled(kind: str, rule: str, **more: Any) -> dict[str, Any]:
    """A schema of a type with one rule. Keywords of rules are `more` arguments that are strings; others are those of
    the schema."""
    words = ("message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
    own = {word: value for word, value in more.items() if word in words}
    rest = {word: value for word, value in more.items() if word not in words}
    return {"type": kind, **rest, RULES: [{"rule": rule, **own}]}


def whole(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def judged(schema: dict[str, Any], value: Any, old: Any = None) -> list[str]:
    place = compile_places(schema, ObjectSettings(dialect=ORCH))
    assert place is not None
    return [
        f"{cause.field}: {cause.message}"
        for cause in evaluate(place, value, old, ratcheting=Ratcheting(lambda text: None))
    ]


NUMBER: dict[str, Any] = {"type": "integer"}
KEYED = {LIST_TYPE: "map", LIST_KEYS: ["k"]}
ITEM = {"k": {"type": "string"}, "v": NUMBER}


@pytest.mark.parametrize(
    ("schema", "spec", "expected"),
    [
        (whole(n=ruled("integer", "self > 1")), {"n": 2}, []),
        (whole(n=ruled("integer", "self > 1")), {"n": 1}, ["spec.n: Invalid value: 1: failed rule: self > 1"]),
        (whole(n=ruled("integer", " self > 1 ", message=" big ")), {"n": 1}, ["spec.n: Invalid value: 1: big"]),
        (whole(n=ruled("integer", "self > 1", nullable=True)), {"n": None}, []),
        (whole(n=ruled("integer", "self > 1")), {}, []),
        (whole(s=ruled("string", "self != 'a'")), {"s": "a"}, ["spec.s: Invalid value: \"a\": failed rule: self != 'a'"]),
        # Values of lists and objects are not shown.
        (whole(l=ruled("array", "size(self) > 1", items=NUMBER)), {"l": [3]}, ["spec.l: Invalid value: failed rule: size(self) > 1"]),
        (whole(l={"type": "array", "items": ruled("integer", "self > 1")}), {"l": [2, 0]}, ["spec.l[1]: Invalid value: 0: failed rule: self > 1"]),
        (whole(m={"type": "object", "additionalProperties": ruled("integer", "self > 1")}), {"m": {"a.b": 0}}, ["spec.m[a.b]: Invalid value: 0: failed rule: self > 1"]),
        # Names that expressions cannot spell are escaped.
        (whole(o=ruled("object", "self.a__dash__b > self.__if__", properties={"a-b": NUMBER, "if": NUMBER})), {"o": {"a-b": 1, "if": 2}}, ["spec.o: Invalid value: failed rule: self.a__dash__b > self.__if__"]),
        (whole(p={INT_OR_STRING: True, RULES: [{"rule": "type(self) == int ? self > 1 : self == 'http'"}]}), {"p": "http"}, []),
        (whole(p={INT_OR_STRING: True, RULES: [{"rule": "type(self) == int ? self > 1 : self == 'http'", "message": "port"}]}), {"p": 0}, ["spec.p: Invalid value: 0: port"]),
        (whole(e=ruled("object", "self.kind == 'A' && self.metadata.name != 'x'", **{EMBEDDED: True, PRESERVE: True})), {"e": {"kind": "A", "metadata": {"name": "x"}}}, ["spec.e: Invalid value: failed rule: self.kind == 'A' && self.metadata.name != 'x'"]),
        # Reasons.
        (whole(n=ruled("integer", "self > 1", reason="FieldValueForbidden")), {"n": 1}, ["spec.n: Forbidden: failed rule: self > 1"]),
        (whole(n=ruled("integer", "self > 1", reason="FieldValueRequired", message="m")), {"n": 1}, ["spec.n: Required value: m"]),
        (whole(n=ruled("integer", "self > 1", reason="FieldValueDuplicate")), {"n": 1}, ["spec.n: Duplicate value: 1"]),
        # Paths.
        (whole(o=ruled("object", "self.n > 1", fieldPath=".n", properties={"n": NUMBER})), {"o": {"n": 1}}, ["spec.o.n: Invalid value: failed rule: self.n > 1"]),
        (whole(o=ruled("object", "self.m['a'] > 1", fieldPath=".m['a']", properties={"m": {"type": "object", "additionalProperties": NUMBER}})), {"o": {"m": {"a": 1}}}, ["spec.o.m[a]: Invalid value: failed rule: self.m['a'] > 1"]),
        # Texts of messages.
        (whole(n=ruled("integer", "self > 1", message="m", messageExpression="'%d is small'.format([self])")), {"n": 1}, ["spec.n: Invalid value: 1: 1 is small"]),
        (whole(n=ruled("integer", "self > 1", message="m", messageExpression="self > 0 ? ' ' : 'x'")), {"n": 1}, ["spec.n: Invalid value: 1: m"]),
        (whole(n=ruled("integer", "self > 1", message="m", messageExpression="'a\\nb'")), {"n": 1}, ["spec.n: Invalid value: 1: m"]),
        (whole(n=ruled("integer", "self > 1", messageExpression="string(1 / (self - 1))")), {"n": 1}, ["spec.n: Invalid value: 1: failed rule: self > 1"]),
        # Errors of evaluation.
        (whole(n=ruled("integer", "1 / self > 1")), {"n": 0}, ['spec.n: Invalid value: "integer": division by zero evaluating rule: 1 / self > 1']),
        (whole(o=ruled("object", "self.n > 1", properties={"n": NUMBER})), {"o": {}}, ['spec.o: Invalid value: "object": no such key: n evaluating rule: self.n > 1']),
        (whole(n=ruled("integer", "oldSelf > self")), {"n": 0}, []),
        (whole(n=ruled("integer", "oldSelf.hasValue()", optionalOldSelf=True)), {"n": 0}, ["spec.n: Invalid value: 0: failed rule: oldSelf.hasValue()"]),
    ],
)  # fmt: skip
def test_rules_of_new_objects(schema: dict[str, Any], spec: Any, expected: list[str]) -> None:
    """A rule is evaluated for each value of its place that is not null; what does not hold is reported there."""
    assert judged(schema, {"spec": spec}) == expected


TRANSITION = ruled("integer", "self >= oldSelf", message="shrinks")


@pytest.mark.parametrize(
    ("schema", "old", "new", "expected"),
    [
        (whole(n=TRANSITION), {"n": 2}, {"n": 1}, ["spec.n: Invalid value: 1: shrinks"]),
        (whole(n=TRANSITION), {}, {"n": 1}, []),
        (whole(m={"type": "object", "additionalProperties": TRANSITION}), {"m": {"a": 2}}, {"m": {"a": 1, "b": 0}}, ["spec.m[a]: Invalid value: 1: shrinks"]),
        # Items are matched by their keys, whatever their order.
        (whole(l={"type": "array", **KEYED, "items": {"type": "object", "properties": {**ITEM, "v": TRANSITION}}}), {"l": [{"k": "a", "v": 2}, {"k": "b", "v": 5}]}, {"l": [{"k": "b", "v": 4}, {"k": "a", "v": 3}]}, ["spec.l[0].v: Invalid value: 4: shrinks"]),
        (whole(l={"type": "array", "items": TRANSITION}), {"l": [2]}, {"l": [1]}, []),
        (whole(n=ruled("integer", "!oldSelf.hasValue() || self >= oldSelf.value()", optionalOldSelf=True)), {"n": 2}, {"n": 1}, ["spec.n: Invalid value: 1: failed rule: !oldSelf.hasValue() || self >= oldSelf.value()"]),
        # Equal values of another order of items.
        (whole(l=ruled("array", "self == oldSelf", items={"type": "object", "properties": ITEM}, **KEYED)), {"l": [{"k": "a"}, {"k": "b"}]}, {"l": [{"k": "b"}, {"k": "a"}]}, []),
    ],
)  # fmt: skip
def test_transition_rules(schema: dict[str, Any], old: Any, new: Any, expected: list[str]) -> None:
    """Rules about the old value are evaluated where there is one: of members by name, of items by their keys."""
    assert judged(schema, {"spec": new}, {"spec": old}) == expected


POSITIVE = ruled("integer", "self > 0", message="positive")
OBJECTS = {"type": "object", "properties": {**ITEM, "v": POSITIVE}}


@pytest.mark.parametrize(
    ("schema", "old", "new", "warnings"),
    [
        (whole(n=POSITIVE), {"n": 0}, {"n": 0}, ["spec.n: Invalid value: 0: positive"]),
        (whole(n=POSITIVE), {"n": 0}, {"n": -1}, []),
        (whole(n=POSITIVE), {}, {"n": 0}, []),
        # Items with keys are compared one by one, others all together.
        (whole(l={"type": "array", **KEYED, "items": OBJECTS}), {"l": [{"k": "a", "v": 0}]}, {"l": [{"k": "b", "v": 1}, {"k": "a", "v": 0}]}, ["spec.l[1].v: Invalid value: 0: positive"]),
        (whole(l={"type": "array", "items": OBJECTS}), {"l": [{"v": 0}]}, {"l": [{"v": 0}]}, ["spec.l[0].v: Invalid value: 0: positive"]),
        (whole(l={"type": "array", "items": OBJECTS}), {"l": [{"v": 0}]}, {"l": [{"v": 0}, {"v": 1}]}, []),
        (whole(o=ruled("object", "false", message="never", properties={"n": NUMBER})), {"o": {"n": 1}}, {"o": {"n": 1}}, ["spec.o: Invalid value: never"]),
        (whole(o=ruled("object", "false", message="never", properties={"n": NUMBER})), {"o": {"n": 1}}, {"o": {"n": True}}, []),
        (whole(n=ruled("integer", "self != oldSelf")), {"n": 1}, {"n": 1}, []),
    ],
)  # fmt: skip
def test_unchanged_values_are_accepted(schema: dict[str, Any], old: Any, new: Any, warnings: list[str]) -> None:
    """What does not hold for an unchanged value is a warning; for a changed one, and for rules about the old value, it
    is an error."""
    place = compile_places(schema, ObjectSettings(dialect=ORCH))
    assert place is not None
    found: list[str] = []
    causes = evaluate(place, {"spec": new}, {"spec": old}, ratcheting=Ratcheting(found.append))
    assert (found, bool(causes)) == (warnings, not warnings)


def test_keywords_follow_the_dialect() -> None:
    """Rules under the keyword of another dialect are none."""
    assert compile_places(whole(n=POSITIVE), ObjectSettings(dialect=KUBERNETES)) is None
    assert compile_places(whole(n=NUMBER), ObjectSettings(dialect=ORCH)) is None


def nested(depth: int) -> dict[str, Any]:
    loops = "".join(f"self.all(x{i}, " for i in range(depth))
    return whole(l=ruled("array", f"{loops}true{')' * depth}", items=NUMBER))


def test_costs_are_bounded() -> None:
    """A call that costs too much is an error, and ends the evaluation of the object."""
    schema = nested(3)
    schema["properties"]["spec"]["properties"]["z"] = ruled("integer", "false")
    (text,) = judged(schema, {"spec": {"l": list(range(200)), "z": 1}})
    assert text.startswith(
        "spec.l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules"
    )


def test_objects_have_one_budget() -> None:
    """Many calls, each within its limit, exceed the budget of their object."""
    schema = whole(l={"type": "array", "items": nested(2)["properties"]["spec"]["properties"]["l"]})
    causes = judged(schema, {"spec": {"l": [list(range(300))] * 60}})
    assert len(causes) == 1 and causes[0].endswith(
        ': Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run'
    )


def test_rules_without_a_cost_leave_the_reactor() -> None:
    """Each evaluation takes some time, also of a rule that costs nothing."""
    place = compile_places(whole(l={"type": "array", "items": ruled("integer", "true")}), ObjectSettings(dialect=ORCH))
    assert place is not None
    assert evaluate(place, {"spec": {"l": [1] * 1_000}}, limits=Limits(quick=True)) == []
    with pytest.raises(LongValidationError):
        evaluate(place, {"spec": {"l": [1] * 2_000}}, limits=Limits(quick=True))


def test_long_rules_are_compiled_away_from_the_reactor() -> None:
    """The first evaluation compiles rules, which may take long."""
    place = compile_places(whole(n=ruled("integer", " && ".join(["self > 0"] * 300))), ObjectSettings(dialect=ORCH))
    assert place is not None
    quick = Limits(quick=True)
    with pytest.raises(LongValidationError):
        evaluate(place, {"spec": {"n": 1}}, limits=quick)
    assert evaluate(place, {"spec": {"n": 1}}) == []
    assert evaluate(place, {"spec": {"n": 1}}, limits=quick) == []


def test_interrupted_evaluation_ends() -> None:
    """Loops ask whether anybody still waits; further rules are not evaluated."""
    place = compile_places(nested(1), ObjectSettings(dialect=ORCH))
    assert place is not None
    asked: list[bool] = []

    def interrupted() -> bool:
        asked.append(True)
        return True

    limits = Limits(interrupted=interrupted)
    (cause,) = evaluate(place, {"spec": {"l": list(range(1_000))}}, limits=limits)
    assert "operation interrupted" in cause.message and len(asked) == 1


def test_long_evaluations_leave_the_reactor() -> None:
    """A quick evaluation ends with an exception when it costs more than a few milliseconds."""
    place = compile_places(nested(2), ObjectSettings(dialect=ORCH))
    assert place is not None
    assert evaluate(place, {"spec": {"l": [1]}}, limits=Limits(quick=True)) == []
    with pytest.raises(LongValidationError):
        evaluate(place, {"spec": {"l": list(range(100))}}, limits=Limits(quick=True))
    assert evaluate(place, {"spec": {"l": list(range(100))}}) == []
    sums = ruled("array", "self.all(x, (self + self).size() > 0)", items=NUMBER, **{LIST_TYPE: "set"})
    place = compile_places(whole(l=sums), ObjectSettings(dialect=ORCH))
    assert place is not None
    # Comparing the elements of sets is work that no cost shows.
    with pytest.raises(LongValidationError):
        evaluate(place, {"spec": {"l": list(range(300))}}, limits=Limits(quick=True))
    assert rules.QUICK_BUDGET < rules.CALL_BUDGET


def test_evaluations_are_measured_at_every_value_above_a_rule() -> None:
    """A value is measured that has rules, or whose members may have, null too; one without rules below it is not."""
    seconds: list[float] = []
    deep = {"type": "object", "nullable": True, "properties": {"r": ruled("string", "true")}}
    schema = whole(n=ruled("integer", "self > 1"), deep=deep, plain={"type": "object"})
    place = compile_places(schema, ObjectSettings(dialect=ORCH, rule_times=RuleTimes(evaluation=seconds.append)))
    assert place is not None
    counts = []
    for spec in ({"n": 2}, {"n": 0, "plain": {}}, {"deep": None}, {"deep": {"r": "a"}}, {}):
        seconds.clear()
        evaluate(place, {"spec": spec})
        counts.append(len(seconds))
    assert counts == [3, 3, 3, 4, 2]


def test_searches_with_patterns_are_no_quick_validation() -> None:
    """Patterns of values, and those of many rules together, are searched away from the reactor if that takes long."""
    text = {"type": "string"}
    dynamic = {**ruled("object", "self.t.matches(self.p) || true"), "properties": {"p": text, "t": text}}
    settings = ObjectSettings(dialect=ORCH)
    long = {"spec": {"p": "((a?b?c?){30}){10}$", "t": "abc" * 300}}
    place = compile_places({"type": "object", "properties": {"spec": dynamic}}, settings)
    assert place is not None
    assert evaluate(place, {"spec": {"p": "a+$", "t": "abc" * 300}}, limits=Limits(quick=True)) == []
    assert evaluate(place, long) == []
    with pytest.raises(LongValidationError):
        # The pattern is compiled already.
        evaluate(place, long, limits=Limits(quick=True))
    many = compile_places(
        whole(s={"type": "string", RULES: [{"rule": f"self.matches('(a?b?){{50}}{i}') || true"} for i in range(40)]}),
        settings,
    )
    few = compile_places(
        whole(s={"type": "string", RULES: [{"rule": f"self.matches('(a?b?){{50}}{i}') || true"} for i in range(4)]}),
        settings,
    )
    assert many is not None and few is not None
    value = {"spec": {"s": "ab" * 100}}
    assert evaluate(many, value) == evaluate(few, value) == []
    assert evaluate(few, value, limits=Limits(quick=True)) == []
    with pytest.raises(LongValidationError):
        evaluate(many, value, limits=Limits(quick=True))
