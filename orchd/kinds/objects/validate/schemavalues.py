"""Values against an OpenAPI v3 schema, with the reference's messages (JSON Schema validation, draft 5)."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from orchd.dialect import Dialect
from orchd.kinds.objects.validate.gosyntax import Go, interface, number, quote
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.words import SUBDOMAIN_RE

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding: `kind` is the method of `Report` that says it, `path` where, dotted."""

    kind: str
    path: str
    value: Any = None
    why: str = ""
    supported: tuple[str, ...] = ()

    def say(self, report: Report, at: Path | None = None) -> None:
        """To a report: at the value's own path, or at a given one."""
        here = at if at is not None else root(self.path)
        if self.kind == "required":
            report.required(here, self.why)
        elif self.kind == "unsupported":
            report.unsupported(here, self.value, self.supported)
        elif self.kind == "duplicate":
            report.duplicate(here, self.value)
        else:
            report.invalid(here, self.value, self.why)


def type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def pruned(value: Any, schema: Object, dialect: Dialect) -> Any:
    """The value without members that the schema does not name."""
    preserve = schema.get(dialect("x-{long}-preserve-unknown-fields"))
    if isinstance(value, dict):
        properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
        out = {}
        for key, item in value.items():
            child = properties.get(key) or (rest if isinstance(rest, dict) else None)
            if child is not None:
                out[key] = pruned(item, child, dialect)
            elif preserve or rest is True:
                out[key] = item
        return out
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [pruned(item, schema["items"], dialect) for item in value]
    return value


def value_errors(value: Any, schema: Object, path: str, dialect: Dialect) -> list[Finding]:
    """Everything wrong with a value; `path` is dotted, as messages have it."""
    out: list[Finding] = []
    _check(value, schema, path, dialect, out)
    return out


def _invalid(out: list[Finding], path: str, value: Any, why: str) -> None:
    out.append(Finding(kind="invalid", path=path, value=value, why=f"{path} in body {why}"))


def _check(value: Any, schema: Object, path: str, dialect: Dialect, out: list[Finding]) -> None:
    if value is None and schema.get("nullable"):
        return
    actual = type_name(value)
    either = schema.get(dialect("x-{long}-int-or-string"))
    wanted = schema.get("type") or ""
    if either:
        if actual not in ("integer", "string"):
            _invalid(out, path, actual, f'must be of type integer,string: "{actual}"')
            return
    elif wanted and actual != wanted and not (wanted == "number" and actual == "integer"):
        _invalid(out, path, actual, f'must be of type {wanted}: "{actual}"')
        if not (wanted == "integer" and actual == "number"):
            return
    if isinstance(value, str):
        _string(value, schema, path, out)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _number(value, schema, path, out)
    elif isinstance(value, list):
        _list(value, schema, path, dialect, out)
    elif isinstance(value, dict):
        _object(value, schema, path, dialect, out)
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        shown = tuple(v if isinstance(v, str) else interface(v) for v in allowed)
        out.append(Finding(kind="unsupported", path=path, value=_shown(value), supported=shown))
    _junctors(value, schema, path, dialect, out)


def _shown(value: Any) -> Any:
    return Go(interface(value)) if isinstance(value, (dict, list)) else value


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _string(value: str, schema: Object, path: str, out: list[Finding]) -> None:
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if least is not None and len(value) < least:
        _invalid(out, path, value, f"should be at least {least} chars long")
    if most is not None and len(value) > most:
        _invalid(out, path, value, f"should be at most {most} chars long")
    if pattern and not _pattern(pattern).search(value):
        _invalid(out, path, value, f"should match '{pattern}'")
    form = schema.get("format")
    if form and form in _FORMATS and not _has_format(value, form):
        _invalid(out, path, value, f"must be of type {form}: {quote(value)}")


def _has_format(value: str, form: str) -> bool:
    try:
        return bool(_FORMATS[form](value))
    except (ValueError, binascii.Error):
        return False


def _date_time(value: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", value) is not None and bool(
        datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value.upper().replace("Z", "+00:00")))
    )


#: Formats that are checked; every other one is a remark.
_FORMATS: Final[dict[str, Any]] = {
    "date-time": _date_time,
    "date": lambda v: date.fromisoformat(v),
    "ipv4": lambda v: IPv4Address(v),
    "ipv6": lambda v: IPv6Address(v),
    "cidr": lambda v: ip_network(v, strict=False),
    "uuid": lambda v: UUID(v),
    "uri": lambda v: urlsplit(v).scheme,
    "hostname": lambda v: SUBDOMAIN_RE(v.lower()),
    "byte": lambda v: base64.b64decode(v, validate=True) is not None,
    "email": lambda v: re.fullmatch(r"[^@\s]+@[^@\s]+", v),
    "mac": lambda v: re.fullmatch(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}", v),
    "duration": lambda v: re.fullmatch(r"[-+]?(\d+(\.\d+)?\s*(ns|us|µs|ms|s|m|h|d|w)[a-z]*\s*)+", v),
}


def _number(value: int | float, schema: Object, path: str, out: list[Finding]) -> None:
    step, low, high = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    if step and (Fraction(str(value)) / Fraction(str(step))).denominator != 1:
        _invalid(out, path, value, f"should be a multiple of {number(step)}")
    if high is not None:
        if schema.get("exclusiveMaximum"):
            if value >= high:
                _invalid(out, path, value, f"should be less than {number(high)}")
        elif value > high:
            _invalid(out, path, value, f"should be less than or equal to {number(high)}")
    if low is not None:
        if schema.get("exclusiveMinimum"):
            if value <= low:
                _invalid(out, path, value, f"should be greater than {number(low)}")
        elif value < low:
            _invalid(out, path, value, f"should be greater than or equal to {number(low)}")


def _list(value: list[Any], schema: Object, path: str, dialect: Dialect, out: list[Finding]) -> None:
    items = schema.get("items")
    if isinstance(items, dict):
        for item in value:
            _check(item, items, path, dialect, out)
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        _invalid(out, path, len(value), f"should have at least {least} items")
    if most is not None and len(value) > most:
        _invalid(out, path, len(value), f"should have at most {most} items")


def _object(value: Object, schema: Object, path: str, dialect: Dialect, out: list[Finding]) -> None:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        _invalid(out, path, least, f"should have at least {least} properties")
    if most is not None and len(value) > most:
        _invalid(out, path, most, f"should have at most {most} properties")
    properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            out.append(Finding(kind="required", path=_below(path, name)))
    for name, item in value.items():
        child = properties.get(name)
        if child is None and isinstance(rest, dict):
            child = rest
        if child is not None:
            _check(item, child, _below(path, name), dialect, out)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _junctors(value: Any, schema: Object, path: str, dialect: Dialect, out: list[Finding]) -> None:
    def good(child: Object) -> bool:
        return not value_errors(value, child, path, dialect)

    def say(why: str) -> None:
        out.append(Finding(kind="invalid", path="<nil>", value="", why=f'"{path}" {why}'))

    if schema.get("allOf"):
        for child in schema["allOf"]:
            out.extend(value_errors(value, child, path, dialect))
        if not all(map(good, schema["allOf"])):
            say("must validate all the schemas (allOf)")
    if schema.get("anyOf") and not any(map(good, schema["anyOf"])):
        say("must validate at least one schema (anyOf)")
    if schema.get("oneOf"):
        count = sum(map(good, schema["oneOf"]))
        if count != 1:
            found = f"Found {count} valid alternatives" if count else "Found none valid"
            say(f"must validate one and only one schema (oneOf). {found}")
    if isinstance(schema.get("not"), dict) and good(schema["not"]):
        say("must not validate the schema (not)")


def list_errors(value: Any, schema: Object, at: Path, dialect: Dialect, report: Report) -> None:
    """Items that a set or a map of items holds twice, and what embedded objects lack."""
    if isinstance(value, list):
        kind, seen = schema.get(dialect("x-{long}-list-type")), []
        keys = schema.get(dialect("x-{long}-list-map-keys")) or []
        for i, item in enumerate(value):
            if kind in ("set", "map"):
                key = item if kind == "set" else {k: item.get(k) for k in keys if k in item}
                if key in seen:
                    report.duplicate(at[i], _shown(key))
                seen.append(key)
            if isinstance(schema.get("items"), dict):
                list_errors(item, schema["items"], at[i], dialect, report)
    elif isinstance(value, dict):
        if schema.get(dialect("x-{long}-embedded-resource")):
            for member in ("apiVersion", "kind"):
                if not value.get(member):
                    report.required(at / member, "must not be empty")
        properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, item in value.items():
            child = properties.get(name)
            if child is not None:
                list_errors(item, child, at / name, dialect, report)
            elif isinstance(rest, dict):
                list_errors(item, rest, at[name], dialect, report)
