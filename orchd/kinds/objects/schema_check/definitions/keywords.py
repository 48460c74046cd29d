"""Validation of single keywords in the schemas of definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from orchd.kinds.gotext.values import GoText
from orchd.kinds.objects.schema_check.definitions import rules
from orchd.kinds.objects.schema_check.definitions.extension_keywords import ExtensionKeywords, Schema, one_schema
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_OWN: Final = ("metadata", "kind", "apiVersion")
_ADDRESS: Final = GoText('"null"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The position of a schema in a definition, and the rules that apply there.

    `no_defaults` is None where defaults are allowed, else the reason ("" for none). `in_metadata`: inside metadata.
    `rules` is None where expressions of rules are not checked.
    """

    words: ExtensionKeywords
    rules: rules.Place | None
    types: bool = True
    atomic_sets: bool = True
    list_keys: bool = True
    root: bool = True
    no_defaults: str | None = None
    in_metadata: bool = False


def check(schema: Schema, at: Path, report: Report, place: Place) -> None:
    """All findings about the keywords of a schema and of nested schemas. Rules are collected, if nothing is found."""
    before = len(report.causes)
    _plain(schema, at, report, place)
    if schema.get("uniqueItems"):
        report.forbidden(
            at / "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        )
    _below(schema, at, report, replace(place, root=False), root=place.root)
    words = place.words
    if schema.get(words.preserve) is False:
        report.invalid(at / words.preserve, False, "must be true or undefined")
    _map_type(schema, at, report, words)
    _list_type(schema, at, report, place)
    if place.list_keys:
        _keys(schema, at, report, words)
    validations = schema.get(words.validations)
    if validations:
        rules.check_texts(schema, validations, at / words.validations, report)
        if place.rules is not None and len(report.causes) == before:
            resource = place.root or bool(schema.get(words.embedded))
            rule = rules.LocatedRules(schema=schema, at=at / words.validations, place=place.rules, resource=resource)
            place.rules.schemas.append(rule)


def _plain(schema: Schema, at: Path, report: Report, place: Place) -> None:
    kind = schema.get("type") or ""
    if place.types and kind and kind not in TYPES:
        report.unsupported(at / "type", kind, TYPES)
    if schema.get("default") is not None and place.no_defaults is not None:
        report.forbidden(at / "default", f"must not be set {place.no_defaults}".rstrip())
    if schema.get("id"):
        report.forbidden(at / "id", "id is not supported")
    if schema.get("additionalItems") is not None:
        report.forbidden(at / "additionalItems", "additionalItems is not supported")
    for word in ("patternProperties", "definitions"):
        if schema.get(word):
            report.forbidden(at / word, f"{word} is not supported")
    for word in ("dependencies", "$ref"):
        if schema.get(word) is not None:
            report.forbidden(at / word, f"{word} is not supported")
    if kind == "null":
        report.forbidden(at / "type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        report.forbidden(at / "items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get(place.words.embedded):
        report.forbidden(at / place.words.embedded, "must not be used inside of resource meta")


def _below(schema: Schema, at: Path, report: Report, place: Place, *, root: bool) -> None:
    """Check nested schemas. `place` is that of most of them."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    nested, place = replace(place, rules=None), replace(place, rules=place.rules and place.rules.below(schema))
    if rest is not None:
        if properties and rest is not True:
            report.forbidden(at / "additionalProperties", "additionalProperties and properties are mutual exclusive")
        if one_schema(rest) is not None:
            why = "inside additionalProperties applying to object metadata" if place.in_metadata else place.no_defaults
            check(rest, at / "additionalProperties", report, replace(place, no_defaults=why))
    owner = root or bool(schema.get(place.words.embedded))
    for name, inner in properties.items():
        there = place
        if owner and name in _OWN:
            why = f"in top-level {name}" if root else place.no_defaults
            there = replace(place, in_metadata=True, no_defaults=why)
        check(inner, (at / "properties")[name], report, there)
    if schema.get("not") is not None:
        check(schema["not"], at / "not", report, nested)
    for word in ("allOf", "oneOf", "anyOf"):
        for i, inner in enumerate(schema.get(word) or ()):
            check(inner, (at / word)[i], report, nested)
    for name, inner in (schema.get("definitions") or {}).items():
        check(inner, (at / "definitions")[name], report, nested)
    items = schema.get("items")
    place = replace(place, rules=place.rules and place.rules.for_items(schema, at, place.words))
    if isinstance(items, dict):
        check(items, at / "items", report, place)
    for i, inner in enumerate(items if isinstance(items, list) else ()):
        check(inner, (at / "items")[i], report, place)
    for name, inner in (schema.get("dependencies") or {}).items():
        if isinstance(inner, dict):
            check(inner, (at / "dependencies")[name], report, nested)


def _wants_type(schema: Schema, expected: str, word: str, at: Path, report: Report) -> bool:
    """Report and return False if the type is not the one that a keyword requires."""
    kind, why = schema.get("type") or "", f"must be {expected} if {word} is specified"
    if kind == expected:
        return True
    if kind:
        report.invalid(at / "type", kind, why)
    else:
        report.required(at / "type", why)
    return False


def _map_type(schema: Schema, at: Path, report: Report, words: ExtensionKeywords) -> None:
    chosen = schema.get(words.map_type)
    if chosen is None:
        return
    _wants_type(schema, "object", words.map_type, at, report)
    if chosen not in ("atomic", "granular"):
        report.unsupported(at / words.map_type, chosen, ("atomic", "granular"))


def _list_type(schema: Schema, at: Path, report: Report, place: Place) -> None:
    words = place.words
    chosen, keys = schema.get(words.list_type), schema.get(words.list_keys) or []
    if chosen is not None:
        if _wants_type(schema, "array", words.list_type, at, report) and place.atomic_sets:
            is_loose = loose_set(schema, words)
            if is_loose:
                # The reference prints the list type of the items here: a pointer, or nothing.
                list_type = schema["items"].get(words.list_type)
                why = f"must be atomic as item of a list with {words.list_type}=set"
                report.invalid(at / "items" / is_loose, list_type if list_type is not None else _ADDRESS, why)
        if chosen not in ("atomic", "set", "map"):
            report.unsupported(at / words.list_type, chosen, ("atomic", "set", "map"))
    if keys and chosen != "map":
        why = f"must be map if {words.list_keys} is non-empty"
        if chosen is None:
            report.required(at / words.list_type, why)
        else:
            report.invalid(at / words.list_type, chosen, why)
    if chosen == "map":
        _list_map(keys, schema.get("items"), at, report, words)


def loose_set(schema: Schema, words: ExtensionKeywords) -> str:
    """The keyword that makes the items of a set non-atomic; "" if they are atomic, and for other schemas."""
    items = one_schema(schema.get("items"))
    if schema.get(words.list_type) != "set" or items is None:
        return ""
    if items.get("type") == "array" and items.get(words.list_type) not in (None, "atomic"):
        return words.list_type
    if items.get("type") == "object" and items.get(words.map_type) != "atomic":
        return words.map_type
    return ""


def _list_map(keys: list[str], items: Any, at: Path, report: Report, words: ExtensionKeywords) -> None:
    is_map = f"if {words.list_type} is map"
    parent = f"if parent array's {words.list_type} is map"
    if not keys:
        report.required(at / words.list_keys, f"must not be empty {is_map}")
    if items is None:
        report.required(at / "items", f"must have a schema {is_map}")
        return
    if not isinstance(items, dict):
        rendered = GoText("apiextensions.JSONSchemaPropsOrArray{}")
        report.invalid(at / "items", rendered, f"must only have a single schema {is_map}")
        return
    if items.get("type") != "object":
        report.invalid(at / "items" / "type", items.get("type") or "", f"must be object {parent}")
        return
    properties, seen = items.get("properties") or {}, set()
    for name in keys:
        if name not in properties:
            report.invalid(at / words.list_keys, keys, "entries must all be names of item properties")
        elif properties[name].get("type") in ("array", "object"):
            here = (at / "items" / "properties")[name] / "type"
            # The reference prints the type of the items.
            report.invalid(here, items["type"], f"must be a scalar type {parent}")
        if name in seen:
            report.invalid(at / words.list_keys, keys, "must not contain duplicate entries")
        seen.add(name)


def _keys(schema: Schema, at: Path, report: Report, words: ExtensionKeywords) -> None:
    """Check that sets and maps have an item schema, and maps their keys."""
    items, chosen = one_schema(schema.get("items")), schema.get(words.list_type)
    if items is None or chosen not in ("set", "map"):
        return
    if items.get("nullable"):
        report.forbidden(at / "items" / "nullable", f"cannot be nullable when {words.list_type} is {chosen}")
    if chosen == "set":
        return
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    listed = f"this property is in {words.list_keys}, so it"
    for name in schema.get(words.list_keys) or ():
        inner = properties.get(name)
        if inner is None:
            continue
        here = (at / "items" / "properties")[name]
        if name not in needed and inner.get("default") is None:
            report.required(here / "default", f"{listed} must have a default or be a required property")
        if inner.get("nullable"):
            report.forbidden(here / "nullable", f"{listed} cannot be nullable")


def loose_keys(schema: Schema, words: ExtensionKeywords) -> bool:
    """True if items of a set or map may be null, or keys of a map absent."""
    items, chosen = one_schema(schema.get("items")), schema.get(words.list_type)
    if items is None or chosen not in ("set", "map"):
        return False
    if items.get("nullable"):
        return True
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    key_schemas = [(name, properties[name]) for name in schema.get(words.list_keys) or () if name in properties]
    return chosen == "map" and any(
        inner.get("nullable") or (name not in needed and inner.get("default") is None) for name, inner in key_schemas
    )
