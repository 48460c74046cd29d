"""Validation of the schema of a version: all rules, in the reference's order."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import orjson

from orchd.dialect import Dialect
from orchd.kinds.gotext.structs import dump
from orchd.kinds.objects.schema_check.definitions import defaults, keywords, rules, structural
from orchd.kinds.objects.schema_check.definitions.extension_keywords import Schema, extension_keywords
from orchd.kinds.objects.schema_check.definitions.options import Options
from orchd.kinds.objects.schema_check.rules import GATE as RULES
from orchd.kinds.objects.settings import ObjectSettings, RuleTimes
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report

_ALL: Final = Options()
#: The release since which findings about the structure precede those about single keywords.
_STRUCTURE_FIRST: Final = "1.25"
#: Keywords allowed at the root if status is a subresource, because status is validated separately then.
_AT_THE_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength "
    "Pattern MaxItems "
    "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)


@lru_cache(maxsize=64)
def _fine(encoded: bytes, dialect: Dialect, status: bool, has_rules: bool, times: RuleTimes) -> bool:
    report = Report(ObjectSettings(dialect=dialect, features={RULES: has_rules}, rule_times=times))
    _check(orjson.loads(encoded), root("x"), report, Options(), status=status)
    return not report.causes


def is_fine(schema: Schema, settings: ObjectSettings, *, status: bool = False) -> bool:
    """True if a schema meets all rules. Memoized, because every update of a definition's status validates its
    schemas."""
    return _fine(orjson.dumps(schema), settings.dialect, status, settings.feature(RULES), settings.rule_times)


def check(schema: Schema, at: Path, report: Report, options: Options, *, status: bool) -> None:
    """All findings about a schema at the path `at`. `status`: status is a subresource of the version."""
    if options != _ALL or not is_fine(schema, report.settings, status=status):
        _check(schema, at, report, options, status=status)


def _check(schema: Schema, at: Path, report: Report, options: Options, *, status: bool) -> None:
    spelled = extension_keywords(report.dialect)
    before = len(report.causes)
    if status:
        _root_with_status(schema, at, report)
    if schema.get("nullable"):
        report.forbidden(at / "nullable", "nullable cannot be true at the root")
    first = len(report.causes)
    expressions = rules.Place() if report.settings.feature(RULES) else None
    place = keywords.Place(
        words=spelled,
        rules=expressions,
        types=options.types,
        no_defaults=options.no_defaults,
        atomic_sets=options.atomic_sets,
        list_keys=options.list_keys,
    )
    keywords.check(schema, at, report, place)
    if not options.structural:
        return
    why = structural.unreadable(schema, spelled)
    if why:
        if len(report.causes) == before:
            report.invalid(at, "", why)
        return
    wrong = structural.causes(schema, at, report.settings)
    wrong = wrong or defaults.causes(schema, at, report.settings, pruned_ones=options.pruned_defaults)
    position = first if report.settings.release.includes(_STRUCTURE_FIRST) else len(report.causes)
    report.causes[position:position] = wrong
    if expressions is not None and not wrong:
        rules.check_expressions(expressions, at, report, costs=schema not in options.stored)


def _root_with_status(schema: Schema, at: Path, report: Report) -> None:
    spelled = extension_keywords(report.dialect)
    allowed = {name[0].lower() + name[1:] for name in _AT_THE_ROOT.split()}
    allowed |= {spelled.preserve, spelled.validations}
    for word in _ORDER:
        word = report.dialect(word)
        value = schema.get(word)
        if value is None or (word not in _POINTERS and value in ("", False, [], {})):
            continue
        if word == "type":
            if value != "object":
                why = (
                    'only "object" is allowed as the type at the root of the schema if the status subresource '
                    "is enabled"
                )
                report.invalid(at / "type", value, why)
                return
        elif word not in allowed:
            why = (
                f"only [{_AT_THE_ROOT}] fields are allowed at the root of the schema if the status subresource "
                "is enabled"
            )
            report.invalid(at, dump("apiextensions.JSONSchemaProps", internal_schema(schema, report.dialect)), why)
            return


def internal_schema(schema: Schema, dialect: Dialect) -> Schema:
    """A schema with the field names of the reference's internal type in place of extension keywords."""
    head = dialect("x-{long}-")

    def internal_name(word: str) -> str:
        return "x" + "".join(map(str.capitalize, word.removeprefix(head).split("-"))) if word.startswith(head) else word

    out = {internal_name(word): value for word, value in schema.items()}
    for word in ("allOf", "anyOf", "oneOf"):
        if out.get(word):
            out[word] = [internal_schema(each, dialect) for each in out[word]]
    for word in ("properties", "patternProperties"):
        if out.get(word):
            out[word] = {name: internal_schema(each, dialect) for name, each in out[word].items()}
    if out.get("not") is not None:
        out["not"] = internal_schema(out["not"], dialect)
    items = out.get("items")
    if isinstance(items, list):
        out["items"] = {"JSONSchemas": [internal_schema(each, dialect) for each in items]}
    elif items is not None:
        out["items"] = {"Schema": internal_schema(items, dialect)}
    for word in ("additionalProperties", "additionalItems"):
        rest = out.get(word)
        if rest is not None:
            inside = internal_schema(rest, dialect) if isinstance(rest, dict) else None
            out[word] = {"Allows": rest is not False, "Schema": inside}
    if out.get("xValidations"):
        out["xValidations"] = [rules.internal_rule(each) for each in out["xValidations"]]
    return out


#: Keywords that are set whatever their value.
_POINTERS: Final = frozenset(
    ("default", "maxProperties", "minProperties", "not", "additionalProperties", "additionalItems")
)
#: Keywords in the field order of the reference's internal type.
_ORDER = (
    "id", "$schema", "$ref", "description", "type", "nullable", "format", "title", "default", "maximum",
    "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems",
    "uniqueItems", "multipleOf", "enum", "maxProperties", "minProperties", "required", "items", "allOf", "oneOf",
    "anyOf",
    "not", "properties", "additionalProperties", "patternProperties", "dependencies", "additionalItems", "definitions",
    "externalDocs", "example", "x-{long}-preserve-unknown-fields", "x-{long}-embedded-resource",
    "x-{long}-int-or-string", "x-{long}-list-map-keys", "x-{long}-list-type", "x-{long}-map-type",
    "x-{long}-validations",
)  # fmt: skip
