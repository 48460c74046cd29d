"""Checks of values against a JSON schema (JSON Schema Validation, draft 4, as far as structural schemas go).

A schema compiles to a function from a value to findings, in the reference's order: type, junctors,
string, format, number, list, enum, object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Protocol

import orjson

from orchd.cel.regex import Pattern, PatternError
from orchd.kinds.crd.schema import INT_OR_STRING
from orchd.kinds.gotext.values import quote
from orchd.kinds.objects.schema_check.correlation import Matched
from orchd.kinds.objects.schema_check.findings import (
    FORBIDDEN,
    INVALID,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE,
    UNSUPPORTED,
    Finding,
    list_supported,
)
from orchd.kinds.objects.schema_check.formats import formats_of
from orchd.kinds.objects.schema_check.limits import check_quick, may_match
from orchd.kinds.objects.schema_check.patterns import pattern
from orchd.kinds.objects.settings import ObjectSettings

Schema = Mapping[str, Any]


class Tally:
    """Counts what is right about a value, as the reference does: one for each schema that is applied to a part of it,
    for each group of keywords that concerns a part, and for each right type."""

    __slots__ = ("matches",)

    def __init__(self) -> None:
        self.matches = 0


class Check(Protocol):
    """Findings about a value, empty if it is valid. Paths are relative to the value. Findings about members and items
    that are as in the stored object are left out, if `match` is the value with its stored one. What is right is added
    to `tally`, which alternatives have instead."""

    def __call__(
        self, value: Any, match: Matched | None = None, tally: Tally | None = None, /
    ) -> Sequence[Finding]: ...


_VALID: Final[tuple[Finding, ...]] = ()
#: Characters that are shown of a text that is too long to be matched.
_SHOWN: Final = 64


def _of_list(findings: Sequence[Finding], index: int) -> Sequence[Finding]:
    """Paths end at the list; equal findings are merged."""
    return findings


def _of_item(findings: Sequence[Finding], index: int) -> Sequence[Finding]:
    """Paths have the index of the item."""
    return [each.at_item(index) for each in findings]


def _first_size(count: int, least: int | None, most: int | None) -> Sequence[Finding]:
    """A wrong number of members, shown as its limit, is the only finding about an object."""
    if least is not None and count < least:
        return [Finding(INVALID, f"should have at least {least} properties", least)]
    if most is not None and count > most:
        return [Finding(TOO_MANY, f"should have at most {most} properties", most, limit=most)]
    return _VALID


def _sizes(count: int, least: int | None, most: int | None) -> Sequence[Finding]:
    """A wrong number of members is shown as it is."""
    out = []
    if least is not None and count < least:
        out.append(Finding(INVALID, f"should have at least {least} properties", count))
    if most is not None and count > most:
        out.append(Finding(TOO_MANY, f"should have at most {most} properties", count, limit=most))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """What schemas look like in a dialect, and findings in a release. `ends`: nothing else is reported about an object
    of a wrong size."""

    int_or_string: str
    formats: Mapping[str, Callable[[str], bool]]
    of_item: Callable[[Sequence[Finding], int], Sequence[Finding]]
    sizes: Callable[[int, int | None, int | None], Sequence[Finding]]
    ends: bool


def compile_schema(schema: Schema, settings: ObjectSettings) -> Check:
    """Compile a schema to a check. Nested schemas are compiled at their first use."""
    sizes, ends = settings.release.choose((("", (_first_size, True)), ("1.28", (_sizes, False))))
    form = _Form(
        int_or_string=settings.dialect(INT_OR_STRING),
        formats=formats_of(settings),
        of_item=settings.release.choose((("", _of_list), ("1.28", _of_item))),
        sizes=sizes,
        ends=ends,
    )
    return _node(schema, form)


def _changed(check: Check, value: Any, match: Matched | None) -> Sequence[Finding]:
    """The findings about a member or an item, none if it is as in the stored object."""
    findings = check(value, match)
    return _VALID if findings and match is not None and match.unchanged() else findings


def _node(schema: Schema, form: _Form) -> Check:
    steps: list[Check] = []
    type_step = _type(schema, form)
    if type_step is not None:
        steps.append(type_step)
    if any(schema.get(word) for word in ("anyOf", "oneOf", "allOf")) or schema.get("not") is not None:
        steps.append(_junctors(schema, form))
    enum_step = _enum(schema)
    for step in (
        _string(schema), _format(schema, form), _number(schema), _list(schema, form), enum_step, _object(schema, form)
    ):  # fmt: skip
        if step is not None:
            steps.append(step)
    if not steps:
        return _anything
    whole = steps[0] if len(steps) == 1 else _all_of(tuple(steps))
    null_steps = [step for step in (type_step, enum_step) if step is not None]
    typed = 0 if type_step is None else 2
    formatted = schema.get("format") in form.formats

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        if value is None:
            if tally is not None:
                tally.matches += 1
            return [finding for step in null_steps for finding in step(None, None, tally)] if null_steps else _VALID
        if tally is not None:
            tally.matches += _groups(value) + typed + (formatted and value.__class__ is str)
        return whole(value, match, tally)

    return check


def _groups(value: Any) -> int:
    """The matches of a schema with neither type nor format."""
    return _GROUPS.get(value.__class__, 4)


#: The schema itself, junctors (twice) and enum concern every value; lists and numbers count twice.
_GROUPS: Final = {str: 5, int: 6, float: 6, list: 6, dict: 5}


def _anything(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
    if tally is not None:
        tally.matches += 1 if value is None else _groups(value)
    return _VALID


def _all_of(steps: tuple[Check, ...]) -> Check:
    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        out: list[Finding] | None = None
        for step in steps:
            findings = step(value, match, tally)
            if findings:
                if out is None:
                    out = list(findings)
                else:
                    out.extend(findings)
        return _VALID if out is None else out

    return check


# --- value types --------------------------------------------------------------------------------


def type_name(value: Any) -> str:
    """Name of the JSON type of a value in messages."""
    if value is None:
        return "null"
    return _NAMES.get(value.__class__) or ("number" if isinstance(value, float) else "object")


_NAMES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def _type(schema: Schema, form: _Form) -> Check | None:
    named = schema.get("type") or ""
    types = ("integer", "string") if schema.get(form.int_or_string) else (named,) if named else ()
    format_ = schema.get("format") if schema.get("format") in form.formats else ""
    if not types and not format_:
        return None
    nullable = bool(schema.get("nullable"))
    numeric = "number" in types or "integer" in types
    type_list = ",".join(types)

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        if value is None:
            return _VALID if nullable or not types else _wrong_type(type_list, "null", tally)
        actual = type_name(value)
        if actual in types or (actual == "integer" and "number" in types):
            return _VALID
        if actual == "number" and "integer" in types and value.is_integer():
            return _VALID
        if format_ and not numeric:
            if actual in ("string", "array"):
                return _VALID
            return _wrong_type(format_, {"integer": "int64", "number": "float64"}.get(actual, ""), tally)
        return _wrong_type(type_list, actual, tally) if types else _VALID

    return check


def _wrong_type(expected: str, actual: str, tally: Tally | None) -> Sequence[Finding]:
    if tally is not None:
        tally.matches -= 1
    return [Finding(TYPE, f"must be of type {expected}: {quote(actual)}", actual)]


def _enum(schema: Schema) -> Check | None:
    allowed = schema.get("enum")
    if not allowed:
        return None
    text = list_supported([v if isinstance(v, str) else orjson.dumps(v).decode() for v in allowed])
    values = frozenset(map(_comparable, allowed))

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        return _VALID if _comparable(value) in values else [Finding(UNSUPPORTED, text, value)]

    return check


def _comparable(value: Any) -> Any:
    """A hashable form of a JSON value, equal for equal values: 1 equals 1.0, but not true."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return dict, frozenset((key, _comparable(item)) for key, item in value.items())
    return (list, *map(_comparable, value)) if isinstance(value, list) else value


# --- strings and numbers ------------------------------------------------------------------------


def _string(schema: Schema) -> Check | None:
    most, least, regex = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if most is None and not least and not regex:
        return None
    matches = _search(regex) if regex else None

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        if value.__class__ is not str:
            return _VALID
        if most is not None and len(value) > most:
            return [Finding(TOO_LONG, f"should be at most {most} chars long", value, limit=most)]
        if least and len(value) < least:
            return [Finding(INVALID, f"should be at least {least} chars long", value)]
        return _VALID if matches is None else matches(value)

    return check


def _search(regex: str) -> Callable[[str], Sequence[Finding]]:
    """The check of an expression, compiled at its first use: not for each definition at each start, and away from the
    reactor. An invalid expression of an old definition matches nothing."""
    compiled: Pattern | None = None
    invalid = False

    def search(value: str) -> Sequence[Finding]:
        nonlocal compiled, invalid
        if compiled is None and not invalid:
            check_quick()
            try:
                compiled = pattern(regex)
            except PatternError:
                invalid = True
        if compiled is not None:
            if not may_match(len(value), compiled.size.parts):
                text = (
                    f"should be shorter: matching the texts of the object with patterns like '{regex}' takes too long"
                )
                return [Finding(INVALID, text, value[:_SHOWN])]
            if compiled.matches(value):
                return _VALID
        return [Finding(INVALID, f"should match '{regex}'", value)]

    return search


def _format(schema: Schema, form: _Form) -> Check | None:
    name = schema.get("format")
    good = form.formats.get(name) if name else None
    if good is None:
        return None

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        if value.__class__ is not str or good(value):
            return _VALID
        return [Finding(TYPE, f"must be of type {name}: {quote(value)}", value)]

    return check


def _format_bound(bound: float, value: Any) -> str:
    """Format a bound for messages: as an integer if it bounds one, else as a float in its shortest form, with an
    exponent from seven digits on."""
    if isinstance(value, int):
        return str(int(bound))
    exact = Decimal(repr(float(bound))).normalize()
    power = exact.adjusted()
    if -4 <= power < 6:
        return f"{exact:f}"
    return f"{exact.scaleb(-power):f}e{power:+03d}"


def _number(schema: Schema) -> Check | None:
    step, low, high = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    if step is None and low is None and high is None:
        return None
    factor = None if not step else Fraction(str(step))
    open_low, open_high = bool(schema.get("exclusiveMinimum")), bool(schema.get("exclusiveMaximum"))

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        if value.__class__ is not int and not isinstance(value, float):
            return _VALID
        wrong: list[str] = []
        if factor is not None and step is not None and (Fraction(str(value)) / factor).denominator != 1:
            wrong.append(f"should be a multiple of {_format_bound(step, value)}")
        if low is not None and (value <= low if open_low else value < low):
            wrong.append(f"should be greater than {'' if open_low else 'or equal to '}{_format_bound(low, value)}")
        if high is not None and (value >= high if open_high else value > high):
            wrong.append(f"should be less than {'' if open_high else 'or equal to '}{_format_bound(high, value)}")
        return [Finding(INVALID, text, value) for text in wrong] if wrong else _VALID

    return check


# --- lists and objects --------------------------------------------------------------------------


def _list(schema: Schema, form: _Form) -> Check | None:
    items, least, most = schema.get("items"), schema.get("minItems"), schema.get("maxItems")
    unique = bool(schema.get("uniqueItems"))
    each = _node(items, form) if isinstance(items, dict) else None
    if each is None and least is None and most is None and not unique:
        return None

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        if value.__class__ is not list:
            return _VALID
        out: list[Finding] = []
        if each is not None and (each is not _anything or tally is not None):
            for i, item in enumerate(value):
                findings = each(item, None, tally) if match is None else _changed(each, item, match.below(i))
                if findings:
                    out.extend(form.of_item(findings, i))
        if least is not None and len(value) < least:
            out.append(Finding(INVALID, f"should have at least {least} items", len(value)))
        if most is not None and len(value) > most:
            out.append(Finding(TOO_MANY, f"should have at most {most} items", len(value), limit=most))
        if unique and len(set(map(_comparable, value))) < len(value):
            out.append(Finding(INVALID, "shouldn't contain duplicates"))
        return out

    return check


def _object(schema: Schema, form: _Form) -> Check | None:
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    needed = tuple(name for name in schema.get("required") or () if (properties.get(name) or {}).get("default") is None)
    # Member schemas are compiled at their first use: most schemas describe more members than objects have.
    checks: dict[str, Check] = {}
    others = _node(rest, form) if isinstance(rest, dict) else None
    closed, sizes, bounded = rest is False, form.sizes, least is not None or most is not None
    if not (properties or needed or others or closed or bounded):
        return None

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        if value.__class__ is not dict:
            return _VALID
        out: list[Finding] | None = None
        if bounded:
            out = list(sizes(len(value), least, most))
            if out and form.ends:
                return out
        for name, item in value.items():
            inner = checks.get(name)
            if inner is None:
                if name in properties:
                    inner = checks[name] = _node(properties[name], form)
                elif others is not None:
                    inner = others
                elif closed:
                    if out is None:
                        out = []
                    out.append(Finding(FORBIDDEN, "is a forbidden property", name))
                    continue
                else:
                    continue
            findings = inner(item, None, tally) if match is None else _changed(inner, item, match.member(name))
            if findings:
                if out is None:
                    out = []
                out.extend(each.under(name) for each in findings)
        for name in needed:
            if name not in value:
                if out is None:
                    out = []
                out.append(Finding(REQUIRED).under(name))
        return _VALID if out is None else out

    return check


# --- junctors -----------------------------------------------------------------------------------


def _junctors(schema: Schema, form: _Form) -> Check:
    any_of, one_of, all_of = (
        tuple(_node(inner, form) for inner in schema.get(word) or ()) for word in ("anyOf", "oneOf", "allOf")
    )
    never = _node(schema["not"], form) if schema.get("not") is not None else None

    def check(value: Any, match: Matched | None = None, tally: Tally | None = None) -> Sequence[Finding]:
        out: list[Finding] = []
        matches = 0
        if any_of:
            attempts = _attempts(any_of, value, stop=True)
            best = _best(attempts) if attempts[-1].findings else attempts[-1]
            matches += best.matches
            if best.findings:
                out.append(Finding(INVALID, "must validate at least one schema (anyOf)", whole=True))
                out.extend(best.findings)
        if one_of:
            attempts = _attempts(one_of, value)
            good = [each for each in attempts if not each.findings]
            if len(good) != 1:
                how = f"Found {len(good)} valid alternatives" if good else "Found none valid"
                out.append(Finding(INVALID, f"must validate one and only one schema (oneOf). {how}", whole=True))
            if len(good) <= 1:
                best = good[0] if good else _best(attempts)
                matches += best.matches
                out.extend(best.findings)
        if all_of:
            attempts = _attempts(all_of, value)
            for each in attempts:
                matches += each.matches
                out.extend(each.findings)
            failed = sum(1 for each in attempts if each.findings)
            if failed:
                none = ". None validated" if failed == len(all_of) else ""
                out.append(Finding(INVALID, f"must validate all the schemas (allOf){none}", whole=True))
        if never is not None and not never(value):
            out.append(Finding(INVALID, "must not validate the schema (not)", whole=True))
        if tally is not None:
            tally.matches += matches
        return out

    return check


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What is wrong about a value by one alternative, and how much is right."""

    findings: Sequence[Finding]
    matches: int


def _attempts(checks: tuple[Check, ...], value: Any, *, stop: bool = False) -> list[_Attempt]:
    """The outcome of each check, also about what is as in the stored object. With `stop`, ends at the first that
    passes."""
    out = []
    for check in checks:
        tally = Tally()
        findings = check(value, None, tally)
        out.append(_Attempt(findings, tally.matches))
        if stop and not findings:
            break
    return out


def _best(attempts: Sequence[_Attempt]) -> _Attempt:
    """The first of the attempts with the most matches, which is the one that is reported."""
    return max(attempts, key=lambda each: each.matches)
