"""Validation of the rules in the schemas of definitions: their texts, their expressions, and what these may cost.

Expressions are looked at after everything else, and only where the schema around them has no other fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from orchd.cel.costs import UNBOUNDED
from orchd.kinds.crd.rules import Expression, Rule, RuleSet, UntypedSchemaError, compile_rules
from orchd.kinds.gotext.values import GoText, escape_json
from orchd.kinds.objects.schema_check.definitions.extension_keywords import ExtensionKeywords, Schema
from orchd.kinds.objects.schema_check.field_paths import FieldPathError, resolve
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

#: The most that an expression may cost by estimate, for all values of its place, and all expressions of a schema.
EXPRESSION_COST: Final = 10_000_000
SCHEMA_COST: Final = 100_000_000
#: Expressions that are named when those of a schema cost too much together, and the least cost of one.
_NAMED: Final = 4
_LEAST_NAMED: Final = SCHEMA_COST // 100
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NEWLINES: Final = re.compile(r"[\n\r]").search


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where expressions may stand. `cardinality` is how many values an object may have there, None if there is no
    limit; `uncorrelatable` is the list around it whose items are not matched with stored ones, None outside of such
    lists.

    `schemas` collects the schemas with rules, for `check_expressions`."""

    cardinality: int | None = 1
    uncorrelatable: Path | None = None
    schemas: list[LocatedRules] = field(default_factory=list)

    def below(self, schema: Schema) -> Place:
        """The place of schemas nested in `schema`."""
        most = _most_values(schema)
        whole = None if self.cardinality is None or most is None else min(self.cardinality * most, UNBOUNDED)
        return replace(self, cardinality=whole)

    def for_items(self, schema: Schema, at: Path, words: ExtensionKeywords) -> Place:
        """This place, if it is that of the items of `schema`, which is at the path `at`."""
        if self.uncorrelatable is None and schema.get(words.list_type) != "map":
            return replace(self, uncorrelatable=at)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedRules:
    """A schema with rules. `at` is the path of the rules."""

    schema: Schema
    at: Path
    place: Place
    resource: bool


def _most_values(schema: Schema) -> int | None:
    """How many values of a nested schema a value of `schema` may have, None without a limit."""
    kind, limit = schema.get("type"), None
    if kind == "object" and schema.get("additionalProperties") is not None:
        limit = schema.get("maxProperties")
    elif kind == "array":
        limit = schema.get("maxItems")
    else:
        return 1
    return None if limit is None else max(limit, 0)


def check_texts(schema: Schema, rules: Sequence[dict[str, Any]], at: Path, report: Report) -> None:
    """Check everything but the expressions of the rules of a schema. `at` is the path of the rules."""
    for i, rule in enumerate(rules):
        here, text, message = at[i], (rule.get("rule") or "").strip(), rule.get("message") or ""
        if not text:
            report.required(here / "rule", "rule is not specified")
        elif message and not message.strip():
            report.invalid(here / "message", message, "must be non-empty if specified")
        elif _NEWLINES(message.strip()):
            report.invalid(here / "message", message, "must not contain line breaks")
        elif _NEWLINES(text) and not message.strip():
            report.required(here / "message", "message must be specified if rule contains line breaks")
        expression = rule.get("messageExpression") or ""
        if expression and not expression.strip():
            report.required(here / "messageExpression", "messageExpression must be non-empty if specified")
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            report.unsupported(here / "reason", reason, _REASONS)
        path = rule.get("fieldPath") or ""
        if path:
            _check_path(path, schema, here / "fieldPath", report)


def _check_path(path: str, schema: Schema, at: Path, report: Report) -> None:
    if not path.strip():
        report.invalid(at, path, "must be non-empty if specified")
    if _NEWLINES(path):
        report.invalid(at, path, "must not contain line breaks")
    try:
        resolve(path, schema)
    except FieldPathError:
        report.invalid(at, path, "must be a valid path")


def check_expressions(place: Place, at: Path, report: Report, *, costs: bool) -> None:
    """Check the expressions of all rules that `place` has collected. `at` is the path of the whole schema. `costs`:
    also what each expression may cost by itself."""
    total = _Costs(EXPRESSION_COST if costs else UNBOUNDED)
    for located in place.schemas:
        try:
            observe = report.settings.rule_times.compilation
            rules = compile_rules(located.schema, report.dialect, resource=located.resource, observe=observe)
        except UntypedSchemaError as error:
            why = (
                "internal error: failed to construct type information for "
                f"{report.dialect('x-{long}-validations')} rules: {error}"
            )
            report.internal(located.at, why)
            continue
        for i, rule in enumerate(rules.rules):
            _check_rule(rule, located, located.at[i], report, _cost(rule, rules, located.place), total)
    total.report(at, report)


def _check_rule(rule: Rule, located: LocatedRules, at: Path, report: Report, cost: int, costs: _Costs) -> None:
    _check_expression(rule, rule.condition, at / "rule", report, (cost, "estimated rule cost"), costs)
    message_cost = rule.message.cost, "estimated messageExpression cost"
    _check_expression(rule, rule.message, at / "messageExpression", report, message_cost, costs)
    around = located.place.uncorrelatable
    if rule.transition and around is not None:
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {around}"
        report.invalid(at / "rule", rule.condition.text, why)
    elif not rule.transition and rule.source.get("optionalOldSelf") is not None:
        report.invalid(at / "optionalOldSelf", rule.optional, "may not be set if oldSelf is not used in rule")


def _check_expression(
    rule: Rule, expression: Expression, at: Path, report: Report, cost: tuple[int, str], costs: _Costs
) -> None:
    """`cost` is that of all values, and what messages call it."""
    if cost[0] > costs.limit:
        report.forbidden(at, _excess(cost[1], cost[0], EXPRESSION_COST))
    costs.add(at, cost[0])
    if expression.error:
        report.invalid(at, _go_text(rule), expression.error)


def _cost(rule: Rule, rules: RuleSet, place: Place) -> int:
    times = rules.cardinality if place.cardinality is None else place.cardinality
    return min(rule.condition.cost * times, UNBOUNDED)


class _Costs:
    """Sums of the costs of the expressions of a schema."""

    def __init__(self, limit: int) -> None:
        """`limit` is what each may cost."""
        self.limit = limit
        self._total = 0
        self._most: list[tuple[int, Path]] = []

    def add(self, at: Path, cost: int) -> None:
        self._total = min(self._total + cost, UNBOUNDED)
        if cost >= _LEAST_NAMED:
            self._most = sorted([*self._most, (cost, at)], key=lambda each: -each[0])[:_NAMED]

    def report(self, at: Path, report: Report) -> None:
        """Report a total that is too high at the path `at`, and the expressions with the largest part in it."""
        if self._total <= SCHEMA_COST:
            return
        for _, path in self._most:
            report.forbidden(
                path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            )
        name = f"{report.dialect('x-{long}-validations')} estimated rule cost total for entire OpenAPIv3 schema"
        report.forbidden(at, _excess(name, self._total, SCHEMA_COST))


def _excess(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        factor_text = "more than 100x"
    else:
        factor_text = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{name} exceeds budget by factor of {factor_text} (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


def internal_rule(source: Schema) -> dict[str, Any]:
    """A rule with the field names of the reference's internal type."""
    return {
        "Rule": source.get("rule") or "",
        "Message": source.get("message") or "",
        "MessageExpression": source.get("messageExpression") or "",
        "Reason": source.get("reason"),
        "FieldPath": source.get("fieldPath") or "",
        "OptionalOldSelf": source.get("optionalOldSelf"),
    }


def _go_text(rule: Rule) -> GoText:
    """A rule as messages print it."""
    return GoText(escape_json(orjson.dumps(internal_rule(rule.source)).decode()))
