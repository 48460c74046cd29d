"""Evaluation of the rules of a schema on an object (specification, "Custom resources": validation rules).

The schema compiles to a tree of the places that have rules, at them or below. A rule is evaluated for every value of
its place that is not null, with `self` and, where a value can be matched with one of the stored object, `oldSelf`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from orchd.cel.program import Outcome, Program
from orchd.cel.values import Value
from orchd.errors import MAX_CAUSES, Cause
from orchd.kinds.crd.rules import VALIDATIONS, Rule, RuleSet, UntypedSchemaError, compile_rules
from orchd.kinds.crd.schema import EMBEDDED
from orchd.kinds.gotext.values import quote
from orchd.kinds.objects.schema_check.correlation import ListKeys, Matched, TimeSpent, list_keys
from orchd.kinds.objects.schema_check.embedded import below
from orchd.kinds.objects.schema_check.field_paths import FieldPathError, resolve
from orchd.kinds.objects.schema_check.findings import DUPLICATE, INVALID, NO_PLACE, REQUIRED, render_value
from orchd.kinds.objects.schema_check.limits import NO_LIMITS, Limits, LongValidationError
from orchd.kinds.objects.settings import ObjectSettings

Schema = Mapping[str, Any]

#: Feature gate of rules.
GATE: Final = "CustomResourceValidationExpressions"
#: Cost that all rules may have for one object, and one evaluation.
OBJECT_BUDGET: Final = 10_000_000
CALL_BUDGET: Final = 1_000_000
#: Cost for one object that takes some milliseconds: what the reactor's thread can do between other things.
QUICK_BUDGET: Final = 5_000
#: Work for one object that costs do not see and that takes some milliseconds: searching texts with patterns for the
#: most part.
QUICK_WORK: Final = 2_000
#: What an evaluation takes of that besides its cost, which may be nothing.
_EVALUATION: Final = 3
#: Characters of expressions that are compiled in some milliseconds.
_SMALL: Final = 2 << 10
#: Maximum number of characters that a messageExpression may give.
_LONGEST_MESSAGE: Final = 5 << 10
_FORBIDDEN: Final = "FieldValueForbidden"
_NO_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
#: The cause that stands for all rules of an object whose fields do not have the right types.
UNCHECKED: Final = Cause(
    INVALID,
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation",
    NO_PLACE,
)


@dataclass(slots=True, eq=False)
class Budget:
    """Remaining cost budget of evaluations; negative once it was exceeded."""

    left: int = OBJECT_BUDGET


@dataclass(slots=True, eq=False)
class Place:
    """A place of a schema that has rules, at it or below. `own` are its rules, None before their first use; `untyped`
    says why they cannot be compiled. `keys` are those by which items are matched with stored ones, None if they are
    not."""

    schema: Schema
    settings: ObjectSettings
    resource: bool
    has_rules: bool
    items: Place | None
    values: Place | None
    members: Mapping[str, Place]
    keys: ListKeys | None
    own: RuleSet | None = None
    untyped: str = ""

    def rules(self, *, quick: bool) -> RuleSet | None:
        """The compiled rules of this place, None if its values have no type. Raises LongValidationError with `quick` if
        compiling them takes long."""
        if self.own is None and not self.untyped:
            if quick and self._size() > _SMALL:
                raise LongValidationError
            try:
                observe = self.settings.rule_times.compilation
                self.own = compile_rules(self.schema, self.settings.dialect, resource=self.resource, observe=observe)
            except UntypedSchemaError as error:
                self.untyped = str(error)
        return self.own

    def _size(self) -> int:
        """The characters of the rules of this place."""
        listed = self.schema.get(self.settings.dialect(VALIDATIONS)) or ()
        return sum(len(rule.get("rule") or "") + len(rule.get("messageExpression") or "") for rule in listed)


def compile_places(schema: Schema, settings: ObjectSettings, *, root: bool = True) -> Place | None:
    """The tree of the places with rules, None if there are none. The rules themselves are compiled at their first use.
    `root`: values of the schema are whole objects."""
    dialect, items, rest = settings.dialect, schema.get("items"), schema.get("additionalProperties")
    members = {
        name: place
        for name, inner in (schema.get("properties") or {}).items()
        if (place := compile_places(inner, settings, root=False)) is not None
    }
    each = compile_places(items, settings, root=False) if isinstance(items, dict) else None
    values = compile_places(rest, settings, root=False) if isinstance(rest, dict) else None
    has_rules = bool(schema.get(dialect(VALIDATIONS)))
    if not (members or each or values or has_rules):
        return None
    resource = root or bool(schema.get(dialect(EMBEDDED)))
    return Place(
        schema, settings, resource, has_rules, each, values, members, list_keys(schema, dialect)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ratcheting:
    """Rules that do not hold for unchanged values are passed to `warn`. What comparing takes is added to `time`."""

    warn: Callable[[str], None]
    time: TimeSpent = field(default_factory=TimeSpent)


def evaluate(
    place: Place,
    value: Any,
    old: Any = None,
    *,
    at: str = "",
    ratcheting: Ratcheting | None = None,
    budget: Budget | None = None,
    limits: Limits = NO_LIMITS,
) -> list[Cause]:
    """The causes of the rules that do not hold for a value at the path `at`. `old` is the stored value, None on
    creation.

    `ratcheting`: what does not hold for an unchanged value is a warning and no cause; rules about the old value are
    always judged. `budget` is that of this evaluation alone, unless it is given. Raises LongValidationError as `limits`
    say.
    """
    evaluation = _Evaluation(budget or Budget(), limits)
    match = None
    if old is not None and ratcheting is not None:
        match = Matched(value, old, place.schema, place.settings.dialect, ratcheting.time)
    with suppress(_Ended):
        evaluation.visit(place, at, value, old, (match, None))
    if ratcheting is not None:
        for text in evaluation.warnings:
            ratcheting.warn(text)
    return evaluation.causes


class _Ended(Exception):
    """No further rules are evaluated."""


#: A value with its stored one, None where it has none; and the nearest value around it that has one.
_Match = tuple[Matched | None, Matched | None]


class _Evaluation:
    """The evaluation of all rules of one object."""

    def __init__(self, budget: Budget, limits: Limits) -> None:
        self.causes: list[Cause] = []
        self.warnings: list[str] = []
        self._budget = budget
        self._limits = limits
        #: What is left of the quick budget, and of the quick work.
        self._quick = QUICK_BUDGET
        self._quick_work = QUICK_WORK

    def visit(self, place: Place, at: str, value: Any, old: Any, match: _Match) -> None:
        """Evaluate the rules of a place and those below it, and record how long that takes."""
        began = perf_counter()
        try:
            if value is not None:
                self._visit(place, at, value, old, match)
        finally:
            place.settings.rule_times.evaluation(perf_counter() - began)

    def _visit(self, place: Place, at: str, value: Any, old: Any, match: _Match) -> None:
        if place.has_rules:
            self._judge(place, at, value, old, match)
        if value.__class__ is list and place.items is not None:
            stored = place.keys.index(old) if place.keys is not None else {}
            for i, item in enumerate(value):
                before = stored.get(place.keys.of(item)) if place.keys is not None and stored else None
                self.visit(place.items, f"{at}[{i}]", item, before, _below(match, i))
        elif value.__class__ is dict:
            stored = old if old.__class__ is dict else {}
            if place.values is not None:
                for name, item in value.items():
                    self.visit(place.values, f"{at}[{name}]", item, stored.get(name), _below(match, name))
            for name, member in place.members.items():
                if name in value:
                    self.visit(member, below(at, name), value[name], stored.get(name), _below(match, name))

    def _judge(self, place: Place, at: str, value: Any, old: Any, match: _Match) -> None:
        rules = place.rules(quick=self._limits.quick)
        kind = place.schema.get("type") or ""
        if rules is None:
            self._invalid(at, kind, f"rule compiler initialization error: {place.untyped}")
            return
        if self._budget.left <= 0:
            self._invalid(at, kind, _NO_BUDGET)
            raise _Ended
        plain, optional = rules.bindings(value, old)
        for rule in rules.rules:
            program = rule.condition.program
            if rule.condition.error:
                self._invalid(at, kind, f"rule compile error: {rule.condition.error}")
            if program is None or (rule.transition and old is None and not rule.optional):
                continue
            outcome = self._evaluate(program, optional if rule.optional else plain)
            if outcome is None:
                self._invalid(at, kind, _NO_BUDGET)
                raise _Ended
            if outcome.error is not None:
                self._failed(rule, outcome, at, kind)
            elif outcome.value is not True:
                self._broken(place, rule, at, value, plain, match)

    def _evaluate(self, program: Program, bindings: Mapping[str, Value]) -> Outcome | None:
        """Evaluate one expression within the budget. None if that is exceeded."""
        quick = self._limits.quick
        limit = min(CALL_BUDGET, self._budget.left)
        outcome = program.evaluate(
            bindings,
            min(limit, self._quick) if quick else limit,
            work=self._quick_work if quick else None,
            interrupted=self._limits.interrupted,
        )
        if quick:
            self._quick -= outcome.cost + _EVALUATION
            self._quick_work -= outcome.work
            if outcome.cancelled or self._quick < 0:
                raise LongValidationError
        self._budget.left -= outcome.cost
        return None if self._budget.left < 0 else outcome

    def _failed(self, rule: Rule, outcome: Outcome, at: str, kind: str) -> None:
        """Report an error of an evaluation."""
        text, error = _rule_text(rule), outcome.error or ""
        if error.startswith("no such overload"):
            why = (
                f"'{error}': call arguments did not match a supported operator, function or macro "
                f"signature for rule: {text}"
            )
            self._invalid(at, kind, why)
        elif outcome.cancelled:
            why = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {text}"
            self._invalid(at, kind, why)
            raise _Ended
        else:
            self._invalid(at, kind, f"{error} evaluating rule: {text}")

    def _broken(self, place: Place, rule: Rule, at: str, value: Any, bindings: dict[str, Value], match: _Match) -> None:
        """Report a rule that does not hold."""
        kind = place.schema.get("type") or ""
        here = _field(rule, at, place.schema)
        ended = False
        detail: str | None = None
        if rule.message.program is not None:
            outcome = self._evaluate(rule.message.program, bindings)
            if outcome is None:
                detail = (
                    "messageExpression evaluation failed due to running out of cost budget, no further "
                    "validation rules will be run"
                )
                ended = True
            elif outcome.cancelled:
                detail = (
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
                    f"{quote(rule.message.text)}"
                )
                ended = True
            else:
                detail = _message(outcome)
        if ended:
            cause = Cause(INVALID, f"Invalid value: {quote(kind)}: {detail}", here or NO_PLACE)
        else:
            suffix = "" if kind in ("object", "array") else f": {render_value(value, place.settings.release)}"
            cause = _cause(rule, here, suffix, detail or _default_message(rule))
        if not rule.transition and _unchanged(match):
            self.warnings.append(f"{cause.field}: {cause.message}")
        else:
            self._add(cause)
        if ended:
            raise _Ended

    def _invalid(self, at: str, kind: str, why: str) -> None:
        self._add(Cause(INVALID, f"Invalid value: {quote(kind)}: {why}", at or NO_PLACE))

    def _add(self, cause: Cause) -> None:
        self.causes.append(cause)
        if len(self.causes) >= MAX_CAUSES:
            raise _Ended


def _below(match: _Match, key: str | int) -> _Match:
    here, around = match
    if here is None:
        return match
    if around is None and key in ("apiVersion", "kind"):
        # Both objects are in the version of the request.
        return None, None
    return here.below(key), here


def _unchanged(match: _Match) -> bool:
    here, around = match
    correlation = here or around
    return correlation is not None and correlation.unchanged()


def _field(rule: Rule, at: str, schema: Schema) -> str:
    """The path that a rule is reported at."""
    path = rule.source.get("fieldPath")
    if not path:
        return at
    try:
        _, text, _ = resolve(path, schema)
    except FieldPathError:
        return at
    return below(at, text)


def _message(outcome: Outcome) -> str | None:
    """The text of a messageExpression, None if it is not to be used."""
    text = "" if outcome.error is not None else outcome.value.strip()
    return text if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE else None


def _rule_text(rule: Rule) -> str:
    return str((rule.source.get("message") or rule.source.get("rule") or "").strip())


def _default_message(rule: Rule) -> str:
    return _rule_text(rule) if rule.source.get("message") else f"failed rule: {_rule_text(rule)}"


def _cause(rule: Rule, at: str, suffix: str, detail: str) -> Cause:
    """The cause for the reason that a rule names. `shown` is the value behind a colon, empty for lists and objects."""
    at = at or NO_PLACE
    reason = rule.source.get("reason") or INVALID
    if reason == _FORBIDDEN:
        return Cause(_FORBIDDEN, f"Forbidden: {detail}", at)
    if reason == REQUIRED:
        return Cause(REQUIRED, f"Required value: {detail}", at)
    if reason == DUPLICATE:
        return Cause(DUPLICATE, f"Duplicate value{suffix}", at)
    return Cause(INVALID, f"Invalid value{suffix}: {detail}", at)


_BLOCKING: Final = re.compile("FieldValue(Required|NotSupported|TooLong|TooMany|TypeInvalid)")


def blocks(cause: Cause) -> bool:
    """True for a cause after which no rules are evaluated, because they could not rely on the types of fields."""
    return _BLOCKING.fullmatch(cause.reason) is not None
