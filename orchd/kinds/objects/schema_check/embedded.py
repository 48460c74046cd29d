"""Validation of embedded resources (specification, "Custom resources": embedded resources)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.crd.schema import EMBEDDED
from orchd.kinds.objects.schema_check.findings import invalid, required
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.names import label_1035, path_segment
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report

#: What is said of a missing version or kind, from a release on.
_MISSING: Final = (("", "must not be empty"), ("1.34", ""))

Schema = Mapping[str, Any]
Walk = Callable[[Any, str, Report], None]


def compile_embedded(schema: Schema, dialect: Dialect) -> Walk | None:
    """Compile the traversal of embedded objects below the root of a kind; None if there are none."""
    word = dialect(EMBEDDED)
    return _node({key: value for key, value in schema.items() if key != word}, word)


def compile_all(schema: Schema, dialect: Dialect) -> Walk | None:
    """Compile the traversal of embedded objects, including the root; None if there are none."""
    return _node(schema, dialect(EMBEDDED))


def below(at: str, name: str) -> str:
    """The path of a member below a path."""
    return f"{at}.{name}" if at else name


def _node(schema: Schema, word: str) -> Walk | None:
    rest, items = schema.get("additionalProperties"), schema.get("items")
    members = {
        name: below_
        for name, inner in (schema.get("properties") or {}).items()
        if (below_ := _node(inner, word)) is not None
    }
    others = _node(rest, word) if isinstance(rest, dict) else None
    each = _node(items, word) if isinstance(items, dict) else None
    here = bool(schema.get(word))
    if not (members or others or each or here):
        return None

    def walk(value: Any, at: str, report: Report) -> None:
        if isinstance(value, list):
            if each is not None:
                for i, item in enumerate(value):
                    each(item, f"{at}[{i}]", report)
        elif isinstance(value, dict):
            if here:
                _resource(value, at, report)
            for name, item in value.items():
                inner = members.get(name)
                if inner is not None:
                    inner(item, below(at, name), report)
                elif others is not None:
                    others(item, f"{at}[{name}]", report)

    return walk


def _resource(value: dict[str, Any], at: str, report: Report) -> None:
    for name in ("apiVersion", "kind"):
        if name not in value:
            report.causes.append(required(below(at, name), report.settings.release.choose(_MISSING)))
        else:
            why = _type_error(name, value[name])
            if why:
                report.causes.append(invalid(below(at, name), value[name], why, report.settings.release))
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        named = value if metadata.get("name") else {**value, "metadata": {**metadata, "name": "fakename"}}
        namespaced = bool(metadata.get("namespace"))
        meta.create(
            named, report, namespaced=namespaced, name_rule=path_segment, at=root(below(at, "metadata")), core=False
        )


def _type_error(name: str, value: Any) -> str:
    if not isinstance(value, str):
        return "must be a string"
    if not value:
        return "must not be empty"
    if name == "apiVersion":
        return f"unexpected GroupVersion string: {value}" if value.count("/") > 1 else ""
    wrong = label_1035(value.lower())
    return "may have mixed case, but should otherwise match: " + ",".join(wrong) if wrong else ""


def embedded_causes(walk: Walk, value: Any, settings: ObjectSettings, at: str = "") -> list[Cause]:
    """All findings about embedded objects of `value`, which is at the path `at`."""
    report = Report(settings)
    walk(value, at, report)
    return report.causes
