"""Validation of defaults in schemas: they must be valid, and pruning must not change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.catalog import builtin_types
from orchd.kinds.gotext.values import GoText
from orchd.kinds.objects import shape
from orchd.kinds.objects.schema_check import compiled, embedded, rules
from orchd.kinds.objects.schema_check.definitions.extension_keywords import (
    ExtensionKeywords,
    Schema,
    extension_keywords,
    one_schema,
)
from orchd.kinds.objects.schema_check.findings import aggregate, invalid, render_value
from orchd.kinds.objects.schema_check.limits import NO_LIMITS
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_OWN: Final = ("metadata", "apiVersion", "kind")
#: Creates the embedded object that contains a value.
_Around = Callable[[Any], Any]


def causes(schema: Schema, at: Path, settings: ObjectSettings, *, pruned_ones: bool) -> list[Cause]:
    """Findings about the defaults of a kind's schema. `pruned_ones`: including members that would be pruned."""
    report = Report(settings)
    spelled = extension_keywords(settings.dialect)
    # The root is treated like an embedded object.
    whole = {**schema, spelled.embedded: True}
    with NO_LIMITS.applied():
        _Defaults(report, spelled, pruned_ones).walk(whole, at, whole, _itself, in_metadata=False)
    return report.causes


def has_unpruned(schema: Schema, dialect: Dialect) -> bool:
    """True if pruning would change a default."""
    spelled = extension_keywords(dialect)
    default = schema.get("default")
    if default is not None and pruned(default, schema, spelled) != default:
        return True
    inner = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    return any(has_unpruned(each, dialect) for each in inner if isinstance(each, dict))


def _itself(value: Any) -> Any:
    return value


def pruned(value: Any, schema: Schema | None, spelled: ExtensionKeywords) -> Any:
    """Prune members that a schema does not specify."""
    if isinstance(value, list):
        items = None if schema is None else one_schema(schema.get("items"))
        if items is None and schema is not None and schema.get(spelled.preserve):
            return value
        return [pruned(item, items, spelled) for item in value]
    if not isinstance(value, dict):
        return value
    if schema is None:
        return {}
    properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
    keep, own = schema.get(spelled.preserve), schema.get(spelled.embedded)
    out = {}
    for name, item in value.items():
        if own and name in _OWN:
            out[name] = item
        elif name in properties:
            out[name] = pruned(item, properties[name], spelled)
        elif rest is not None:
            inner = one_schema(rest)
            out[name] = item if keep and inner is None else pruned(item, inner, spelled)
        elif keep:
            out[name] = item
    return out


class _Defaults:
    """Collects findings about the defaults of a schema."""

    def __init__(self, report: Report, spelled: ExtensionKeywords, pruned_ones: bool) -> None:
        self._report = report
        self._words = spelled
        self._pruned_ones = pruned_ones
        #: All defaults of a schema have one.
        self._budget = rules.Budget()

    def walk(self, schema: Schema, at: Path, owner: Schema, around: _Around, *, in_metadata: bool) -> None:
        """Visit a schema. `owner` is the schema of the nearest embedded object, `around` creates that object from a
        value here."""
        if schema.get(self._words.embedded):
            in_metadata, around, owner = False, _itself, schema
        default = schema.get("default")
        if default is not None:
            if in_metadata:
                self._of_metadata(default, schema, at / "default", owner, around)
            else:
                self._plain(default, schema, at / "default")
        # Defaults below additionalProperties are never applied.
        items = one_schema(schema.get("items"))
        if items is not None:
            self.walk(items, at / "items", owner, lambda value: around([value]), in_metadata=in_metadata)
        for name, inner in (schema.get("properties") or {}).items():
            self.walk(
                inner,
                (at / "properties")[name],
                owner,
                _member(around, name),
                in_metadata=in_metadata or (bool(schema.get(self._words.embedded)) and name in _OWN),
            )

    def _plain(self, default: Any, schema: Schema, at: Path) -> None:
        if self._pruned_ones and pruned(default, schema, self._words) != default:
            self._report.invalid(at, self._format(default), "must not have unknown fields")
        wrong = self._unlike(default, schema, str(at)) or self._check_embedded(default, schema, str(at))
        self._report.causes += wrong or self._unfit(default, schema, at)

    def _of_metadata(self, default: Any, schema: Schema, at: Path, owner: Schema, around: _Around) -> None:
        obj = {"kind": "Validation", "apiVersion": "validation/v1", **around(default)}
        whole = {**owner, self._words.embedded: True}
        wrong = self._unlike(obj, whole, "") or self._check_embedded(obj, whole, "")
        if wrong:
            self._report.invalid(at, self._format(default), f"must result in valid metadata: {aggregate(wrong)}")
        else:
            self._report.causes += self._unfit(default, schema, at)

    def _unfit(self, default: Any, schema: Schema, at: Path) -> list[Cause]:
        """Findings of a schema and its rules about its own default."""
        findings = compiled.compile_schema(schema, self._report.settings)(default)
        if findings or not self._report.settings.feature(rules.GATE):
            return list(dict.fromkeys(each.cause(self._report.settings.release, field=str(at)) for each in findings))
        place = rules.compile_places(schema, self._report.settings, root=False)
        if place is None:
            return []
        # As a value that is left alone, and as a new one.
        return rules.evaluate(place, default, default, at=str(at), budget=self._budget) or rules.evaluate(
            place, default, at=str(at), budget=self._budget
        )

    def _format(self, default: Any) -> GoText:
        return GoText(render_value(default, self._report.settings.release))

    def _check_embedded(self, value: Any, schema: Schema, at: str) -> list[Cause]:
        walk = embedded.compile_all(schema, self._report.dialect)
        return [] if walk is None else embedded.embedded_causes(walk, value, self._report.settings, at)

    def _unlike(self, value: Any, schema: Schema, at: str) -> list[Cause]:
        """The first finding about apiVersion, kind or metadata of an embedded object."""
        if isinstance(value, list):
            items = one_schema(schema.get("items"))
            each = [(item, items, f"{at}[{i}]") for i, item in enumerate(value)]
        elif isinstance(value, dict):
            if schema.get(self._words.embedded) and (wrong := self._own(value, at)):
                return wrong
            properties, rest = schema.get("properties") or {}, one_schema(schema.get("additionalProperties"))
            each = [
                (item, properties[name], embedded.below(at, name))
                if name in properties
                else (item, rest, f"{at}[{name}]")
                for name, item in value.items()
            ]
        else:
            return []
        return next(
            (wrong for item, inner, here in each if inner is not None and (wrong := self._unlike(item, inner, here))),
            [],
        )

    def _own(self, value: dict[str, Any], at: str) -> list[Cause]:
        report = Report(self._report.settings)
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                report.causes.append(
                    invalid(embedded.below(at, name), value[name], "must be a string", report.settings.release)
                )
        if "metadata" in value:
            type_ = builtin_types(self._report.dialect).get("meta/v1.ObjectMeta")
            try:
                shape.canonical(value["metadata"], type_)
            except shape.ShapeError as error:
                report.causes.append(
                    invalid(embedded.below(at, "metadata"), value["metadata"], str(error), report.settings.release)
                )
        return report.causes[:1]


def _member(around: _Around, name: str) -> _Around:
    return lambda value: around({name: value})
