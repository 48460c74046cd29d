"""Schemas of custom kinds: what may be said in them, and that they are structural (apiextensions, "structural schema").

In three steps, each only when the one before had nothing to say: single keywords, structure, defaults.
"""

from __future__ import annotations

import re
from typing import Any, Final

from orchd.kinds.objects.validate.gosyntax import Go, interface
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.schemavalues import pruned, value_errors

Object = dict[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
_NO_TYPE: Final = "must be empty to be structural"


def schema(value: Object, at: Path, report: Report) -> None:
    before = len(report.causes)
    if value.get("nullable"):
        report.forbidden(at / "nullable", "nullable cannot be true at the root")
    _keywords(value, at, report)
    if len(report.causes) > before:
        return
    _structure(value, at, report, "root")
    if len(report.causes) > before:
        return
    _defaults(value, at, report)


def _x(report: Report, word: str) -> str:
    return report.dialect("x-{long}-") + word


def _children(value: Object, at: Path) -> list[tuple[Object, Path]]:
    """Every schema directly below, with its path."""
    out: list[tuple[Object, Path]] = []
    for member in ("properties", "patternProperties", "definitions"):
        for name, child in (value.get(member) or {}).items():
            out.append((child, (at / member)[name]))
    for member in ("items", "additionalProperties", "not"):
        if isinstance(value.get(member), dict):
            out.append((value[member], at / member))
    for member in _JUNCTORS:
        for i, child in enumerate(value.get(member) or ()):
            out.append((child, (at / member)[i]))
    return out


def _keywords(value: Object, at: Path, report: Report) -> None:
    for member in _UNSUPPORTED:
        if value.get(member):
            report.forbidden(at / member, f"{member} is not supported")
    if value.get("type") == "null":
        report.forbidden(at / "type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(value.get("items"), list):
        report.forbidden(at / "items", "items must be a schema object and not an array")
    if value.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        report.forbidden(at / "uniqueItems", why)
    if value.get("additionalProperties") and value.get("properties"):
        why = "additionalProperties and properties are mutual exclusive"
        report.forbidden(at / "additionalProperties", why)
    if value.get("pattern"):
        wrong = pattern_error(value["pattern"])
        if wrong:
            why = f"must be a valid regular expression, but isn't: {wrong}"
            report.invalid(at / "pattern", value["pattern"], why)
    preserve = _x(report, "preserve-unknown-fields")
    if value.get(preserve) is False:
        report.invalid(at / preserve, False, "must be true or undefined")
    _map_type(value, at, report)
    _list_type(value, at, report)
    for child, here in _children(value, at):
        _keywords(child, here, report)


def pattern_error(pattern: str) -> str:
    """Why a regular expression cannot be used, in the words of the reference's library; "" when it can."""
    try:
        re.compile(pattern)
    except re.error as error:
        known = {
            "unterminated character set": f"missing closing ]: `{pattern[error.pos or 0:]}`",
            "missing ), unterminated subpattern": f"missing closing ): `{pattern}`",
            "unbalanced parenthesis": f"unexpected ): `{pattern}`",
            "nothing to repeat": f"missing argument to repetition operator: `{pattern[error.pos or 0:][:1]}`",
        }
        return f"error parsing regexp: {known.get(error.msg, error.msg)}"
    return ""


def _wants_type(value: Object, wanted: str, key: str, at: Path, report: Report) -> None:
    kind, why = value.get("type") or "", f"must be {wanted} if {key} is specified"
    if not kind:
        report.required(at / "type", why)
    elif kind != wanted:
        report.invalid(at / "type", kind, why)


def _map_type(value: Object, at: Path, report: Report) -> None:
    key = _x(report, "map-type")
    chosen = value.get(key)
    if chosen is None:
        return
    _wants_type(value, "object", key, at, report)
    if chosen not in ("atomic", "granular"):
        report.unsupported(at / key, chosen, ("atomic", "granular"))


def _list_type(value: Object, at: Path, report: Report) -> None:
    key, keys_key, map_key = (_x(report, w) for w in ("list-type", "list-map-keys", "map-type"))
    chosen, keys = value.get(key), value.get(keys_key) or []
    if chosen is not None:
        _wants_type(value, "array", key, at, report)
        if chosen not in ("atomic", "set", "map"):
            report.unsupported(at / key, chosen, ("atomic", "set", "map"))
    if keys and chosen != "map":
        if chosen is None:
            report.required(at / key, f"must be map if {keys_key} is non-empty")
        else:
            report.invalid(at / key, chosen, f"must be map if {keys_key} is non-empty")
    items = value.get("items") if isinstance(value.get("items"), dict) else None
    if chosen == "map":
        _list_map(keys, items or {}, at, report, keys_key, key)
    if chosen == "set" and items is not None and items.get("type") in ("object", "array"):
        wanted = map_key if items["type"] == "object" else key
        if items.get(wanted) != "atomic":
            why = f"must be atomic as item of a list with {key}=set"
            report.invalid(at / "items" / wanted, items.get(wanted), why)


def _list_map(keys: list[str], items: Object, at: Path, report: Report, keys_key: str, key: str) -> None:
    if not keys:
        report.required(at / keys_key, f"must not be empty if {key} is map")
    if items.get("type") != "object":
        report.invalid(at / "items" / "type", items.get("type") or "", f"must be object if parent array's {key} is map")
    properties, required = items.get("properties") or {}, items.get("required") or ()
    if any(k not in properties for k in keys):
        report.invalid(at / keys_key, keys, "entries must all be names of item properties")
    for name in keys:
        field = properties.get(name)
        if field is None:
            continue
        here = (at / "items" / "properties")[name]
        if field.get("type") in ("object", "array"):
            report.invalid(here / "type", field["type"], f"must be a scalar type if parent array's {key} is map")
        if field.get("default") is None and name not in required:
            why = f"this property is in {keys_key}, so it must have a default or be a required property"
            report.required(here / "default", why)
        if field.get("nullable"):
            report.forbidden(here / "nullable", f"this property is in {keys_key}, so it cannot be nullable")


def _structure(value: Object, at: Path, report: Report, where: str) -> None:
    """A type everywhere, complete outside of the junctors."""
    kind = value.get("type") or ""
    either, preserve = value.get(_x(report, "int-or-string")), value.get(_x(report, "preserve-unknown-fields"))
    if not kind and not either and not (preserve and where != "root"):
        words = {"root": "at the root", "property": "for specified object fields", "item": "for specified array items"}
        report.required(at / "type", f"must not be empty {words[where]}")
    if kind and kind not in _TYPES:
        report.unsupported(at / "type", kind, _TYPES)
    if where == "root" and kind and kind != "object":
        report.invalid(at / "type", kind, "must be object at the root")
    if kind == "array" and not isinstance(value.get("items"), dict):
        report.required(at / "items", "must be specified")
    _embedded(value, preserve, at, report)
    if where == "root" or value.get(_x(report, "embedded-resource")):
        _metadata(value, at, report)
    for name, child in (value.get("properties") or {}).items():
        _structure(child, (at / "properties")[name], report, "property")
    for member, place in (("items", "item"), ("additionalProperties", "property")):
        if isinstance(value.get(member), dict):
            _structure(value[member], at / member, report, place)
    for member in _JUNCTORS:
        for i, child in enumerate(value.get(member) or ()):
            _typeless(child, (at / member)[i], report, bool(either))
    if isinstance(value.get("not"), dict):
        _typeless(value["not"], at / "not", report, False)


def _typeless(value: Object, at: Path, report: Report, either: bool) -> None:
    """Inside a junctor only values are judged, not structure."""
    if value.get("type") and not either:
        report.forbidden(at / "type", _NO_TYPE)
    for member in ("default", "title", "description", "nullable"):
        if value.get(member) not in (None, "", False):
            report.forbidden(at / member, _NO_TYPE)
    for child, here in _children(value, at):
        _typeless(child, here, report, either)


def _embedded(value: Object, preserve: Any, at: Path, report: Report) -> None:
    key = _x(report, "embedded-resource")
    if not value.get(key):
        return
    kind = value.get("type") or ""
    if not preserve and not value.get("properties"):
        why = f"must not be empty if {key} is true without {_x(report, 'preserve-unknown-fields')}"
        report.required(at / "properties", why)
    if not kind:
        report.required(at / "type", f"must be object if {key} is true")
    elif kind != "object":
        report.invalid(at / "type", kind, f"must be object if {key} is true")


def _metadata(value: Object, at: Path, report: Report) -> None:
    properties = value.get("properties") or {}
    for name, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        field = properties.get(name)
        if field is not None and field.get("type") and field["type"] != kind:
            report.invalid((at / "properties")[name] / "type", field["type"], f"must be {kind}")
    field = properties.get("metadata")
    if field is None:
        return
    inner = field.get("properties") or {}
    if set(inner) - {"name", "generateName"} or field.get("additionalProperties") or field.get("required"):
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        report.forbidden((at / "properties")["metadata"], why)


def _defaults(value: Object, at: Path, report: Report) -> None:
    given = value.get("default")
    if given is not None:
        if pruned(given, value, report.dialect) != given:
            report.invalid(at / "default", Go(interface(given)), "must not have unknown fields")
        else:
            for error in value_errors(given, value, "", report.dialect):
                error.say(report, at / "default")
    for child, here in _children(value, at):
        _defaults(child, here, report)
