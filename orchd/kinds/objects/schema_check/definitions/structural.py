"""Structural schemas (specification, "Custom resources"): a type everywhere, and nothing under a junctor that is not
there outside of it as well."""

from __future__ import annotations

from typing import Any, Final

from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.objects.schema_check.definitions.extension_keywords import (
    JUNCTORS,
    ExtensionKeywords,
    Schema,
    extension_keywords,
    one_schema,
)
from orchd.kinds.objects.schema_check.patterns import pattern_error
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]
#: Keywords that structural schemas do not support.
_WITHOUT_PLACE: Final = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
#: Keywords that do not validate values.
_REMARKS: Final = frozenset(("externalDocs", "example"))


def unreadable(schema: Schema, spelled: ExtensionKeywords) -> str:
    """The reason why a schema cannot be converted to a structural one, "" if it can."""
    for word in _WITHOUT_PLACE:
        value = schema.get(word)
        if value is not None and (value or word == "additionalItems"):
            return f"OpenAPIV3Schema '{word.removeprefix('$') if word == '$schema' else word}' is not supported"
    if isinstance(schema.get("items"), list) and schema["items"]:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    if schema.get(spelled.preserve) is False:
        return f"internal error: '{spelled.preserve}' must be true or undefined"
    inner: list[Any] = [schema.get("not"), schema.get("items"), schema.get("additionalProperties")]
    for word in JUNCTORS:
        inner.extend(schema.get(word) or ())
    inner.extend((schema.get("properties") or {}).values())
    return next((why for each in inner if isinstance(each, dict) and (why := unreadable(each, spelled))), "")


def is_structural(schema: Schema, dialect: Dialect) -> bool:
    """True if a schema is structural."""
    spelled = extension_keywords(dialect)
    return not unreadable(schema, spelled) and not causes(schema, root("x"), ObjectSettings(dialect=dialect))


def causes(schema: Schema, at: Path, settings: ObjectSettings) -> list[Cause]:
    """Findings that make a schema non-structural, in the order of the messages."""
    report = Report(settings)
    spelled = extension_keywords(settings.dialect)
    _invariants(schema, at, report, spelled, _ROOT)
    _values_complete(schema, schema, at, at, report)
    return sorted(report.causes, key=lambda cause: f"{cause.field}: {cause.message}")


def _invariants(schema: Schema, at: Path, report: Report, spelled: ExtensionKeywords, level: str) -> None:
    kind = schema.get("type") or ""
    items, rest = one_schema(schema.get("items")), schema.get("additionalProperties")
    properties: dict[str, Schema] = schema.get("properties") or {}
    embedded, preserve = schema.get(spelled.embedded), schema.get(spelled.preserve)
    either = schema.get(spelled.int_or_string)
    if kind == "array" and items is None:
        report.required(at / "items", "must be specified")
    if items is not None:
        _invariants(items, at / "items", report, spelled, _ITEM)
    for name, inner in properties.items():
        _invariants(inner, (at / "properties")[name], report, spelled, _FIELD)
    if rest is not None:
        if level is _ROOT:
            report.forbidden(at / "additionalProperties", "must not be used at the root")
        if isinstance(rest, dict):
            _invariants(rest, at / "additionalProperties", report, spelled, _FIELD)
    if either:
        for word, value in ((spelled.preserve, preserve), (spelled.embedded, embedded)):
            if value:
                report.invalid(at / word, True, f"must be false if {spelled.int_or_string} is true")
    any_of, all_of = schema.get("anyOf") or [], schema.get("allOf") or []
    _value(
        schema, at, report, spelled,
        skip_any_of=_is_either(any_of), skip_first_all_of=bool(all_of) and _is_either(all_of[0].get("anyOf") or []),
    )  # fmt: skip
    if embedded and kind != "object":
        why = f"must be object if {spelled.embedded} is true"
        if kind:
            report.invalid(at / "type", kind, why)
        else:
            report.required(at / "type", why)
    elif not kind and not either and not preserve:
        report.required(at / "type", f"must not be empty {level}")
    if embedded and rest is not None:
        report.forbidden(at / "additionalProperties", f"must not be used if {spelled.embedded} is set")
    if level is _ROOT and kind and kind != "object":
        report.invalid(at / "type", kind, "must be object at the root")
    _identity(properties, at, report, level, checked=level is _ROOT or bool(embedded))
    if embedded and not preserve and not properties:
        why = f"must not be empty if {spelled.embedded} is true without {spelled.preserve}"
        report.required(at / "properties", why)


def _bare(schema: Schema) -> dict[str, Any]:
    return {word: value for word, value in schema.items() if word not in _REMARKS}


def _is_either(clauses: list[Schema]) -> bool:
    """True for the allowed spelling of an int-or-string schema."""
    return [_bare(clause) for clause in clauses] == _EITHER


def _identity(properties: dict[str, Schema], at: Path, report: Report, level: str, *, checked: bool) -> None:
    """Check apiVersion, kind and metadata."""
    for name in ("kind", "apiVersion"):
        kind = (properties.get(name) or {}).get("type") or ""
        if checked and name in properties and kind != "string":
            report.invalid((at / "properties")[name] / "type", kind, "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    here, kind = (at / "properties")["metadata"], metadata.get("type") or ""
    if checked and kind != "object":
        report.invalid(here / "type", kind, "must be object")
    if level is _ROOT:
        others = _bare(metadata).keys() - {"type", "default", "properties"}
        if others or not (metadata.get("properties") or {}).keys() <= {"name", "generateName"}:
            why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            report.forbidden(here, why)


# -- under junctors


def _value(
    schema: Schema,
    at: Path,
    report: Report,
    spelled: ExtensionKeywords,
    *,
    skip_any_of: bool = False,
    skip_first_all_of: bool = False,
) -> None:
    """Check value validations: schemas under junctors must not specify types or structure."""
    for i, inner in enumerate(() if skip_any_of else schema.get("anyOf") or ()):
        _nested(inner, (at / "anyOf")[i], report, spelled)
    for i, inner in enumerate(schema.get("allOf") or ()):
        _nested(inner, (at / "allOf")[i], report, spelled, skip_any_of=skip_first_all_of and i == 0)
    for i, inner in enumerate(schema.get("oneOf") or ()):
        _nested(inner, (at / "oneOf")[i], report, spelled)
    if schema.get("not") is not None:
        _nested(schema["not"], at / "not", report, spelled)
    if schema.get("pattern"):
        wrong = pattern_error(schema["pattern"], report.settings.release)
        if wrong:
            why = f"must be a valid regular expression, but isn't: {wrong}"
            report.invalid(at / "pattern", schema["pattern"], why)


def _nested(schema: Schema, at: Path, report: Report, spelled: ExtensionKeywords, *, skip_any_of: bool = False) -> None:
    _value(schema, at, report, spelled, skip_any_of=skip_any_of)
    items = one_schema(schema.get("items"))
    if items is not None:
        _nested(items, at / "items", report, spelled)
    properties = schema.get("properties") or {}
    for name, inner in properties.items():
        _nested(inner, (at / "properties")[name], report, spelled)
    forbidden = (
        ("type", "empty"), ("additionalProperties", "undefined"), ("default", "undefined"), ("title", "empty"),
        ("description", "empty"), ("nullable", "false"), (spelled.preserve, "false"), (spelled.embedded, "false"),
        (spelled.int_or_string, "false"), (spelled.list_keys, "empty"), (spelled.list_type, "undefined"),
        (spelled.map_type, "undefined"), (spelled.validations, "empty"),
    )  # fmt: skip
    for word, requirement in forbidden:
        value = schema.get(word)
        if value is not None and (value or requirement == "undefined"):
            report.forbidden(at / word, f"must be {requirement} to be structural")
    if "metadata" in properties:
        report.forbidden((at / "properties")["metadata"], "must not be specified in a nested context")


def _values_complete(validated: Schema, schema: Schema | None, there: Path, at: Path, report: Report) -> None:
    """Check that `schema` (at `there`) specifies all members validated under the junctors of `validated` (at `at`)."""
    if schema is None:
        report.required(there, f"because it is defined in {at}")
        return
    if validated.get("not") is not None:
        _nested_complete(validated["not"], schema, there, at / "not", report)
    for word in JUNCTORS:
        for i, inner in enumerate(validated.get(word) or ()):
            _nested_complete(inner, schema, there, (at / word)[i], report)


def _nested_complete(validated: Schema, schema: Schema | None, there: Path, at: Path, report: Report) -> None:
    if schema is None:
        report.required(there, f"because it is defined in {at}")
        return
    _values_complete(validated, schema, there, at, report)
    items = one_schema(validated.get("items"))
    if items is not None:
        _nested_complete(items, one_schema(schema.get("items")), there / "items", at / "items", report)
    properties = schema.get("properties") or {}
    for name, inner in (validated.get("properties") or {}).items():
        here, place = (at / "properties")[name], (there / "properties")[name]
        if name in properties:
            _nested_complete(inner, properties[name], place, here, report)
        else:
            report.required(place, f"because it is defined in {here}")
