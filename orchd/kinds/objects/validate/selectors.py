"""Validation of labels and label selectors, and matching of selectors on labels."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.kinds.fields import mapping
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import since
from orchd.kinds.objects.validate.names import label_value, qualified_name
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report


def labels(value: Mapping[str, str] | None, at: Path, report: Report) -> None:
    """Validate labels: keys are qualified names, values are label values. Errors have the path of the map."""
    if not value:
        return
    for key, text in value.items():
        wrong = qualified_name(key)
        if wrong:
            report.invalids(at, key, wrong)
        wrong = label_value(text)
        if wrong:
            report.invalids(at, text, wrong)


def label_selector(selector: Object | None, at: Path, report: Report, *, strict: bool = False) -> None:
    """Validate a selector. `strict`: also the values in its requirements, which older kinds do not check in older
    releases."""
    if not selector:
        return
    labels(selector.get("matchLabels"), at / "matchLabels", report)
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        _requirement(requirement, (at / "matchExpressions")[i], report)
        if strict:
            _label_values(requirement, (at / "matchExpressions")[i], report)
        else:
            _requirement_values(requirement, (at / "matchExpressions")[i], report)


def _label_values(requirement: Object, at: Path, report: Report) -> None:
    for j, value in enumerate(requirement.get("values") or ()):
        report.invalids((at / "values")[j], value, label_value(value))


_requirement_values = since("1.27", _label_values)


def _requirement(requirement: Object, at: Path, report: Report) -> None:
    if not _known_operator(requirement, at, report):
        report.invalid(at / "operator", requirement.get("operator", ""), "not a valid selector operator")
    report.invalids(at / "key", requirement.get("key", ""), qualified_name(requirement.get("key", "")))


def _known_operator(requirement: Object, at: Path, report: Report) -> bool:
    """Validate that there are values where the operator needs some; False for an operator that is not known."""
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in ("In", "NotIn"):
        if not values:
            report.required(at / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            report.forbidden(at / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        return False
    return True


def field_requirement(requirement: Object, at: Path, report: Report) -> None:
    """Validate a requirement on a field in a review, with any operator."""
    if not requirement.get("key"):
        report.required(at / "key", "must be specified")
    _known_operator(requirement, at, report)


def label_requirement(requirement: Object, at: Path, report: Report) -> None:
    """Validate a requirement on a label in a review, with any operator."""
    _known_operator(requirement, at, report)
    report.invalids(at / "key", requirement.get("key", ""), qualified_name(requirement.get("key", "")))
    _label_values(requirement, at, report)


def usable(selector: Object | None) -> bool:
    """True if a selector can be evaluated. Stricter than `label_selector`: values are validated too."""
    if not selector:
        return True
    for key, value in mapping(selector, "matchLabels").items():
        if qualified_name(key) or label_value(value):
            return False
    for requirement in selector.get("matchExpressions") or ():
        operator, values = requirement.get("operator", ""), requirement.get("values") or []
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist") or (operator in ("In", "NotIn")) != bool(values):
            return False
        if qualified_name(requirement.get("key", "")) or any(label_value(v) for v in values):
            return False
    return True


def matches(selector: Object | None, labels: Mapping[str, str] | None) -> bool:
    """True if a usable selector selects these labels. None selects nothing, an empty one everything."""
    if selector is None:
        return False
    have = labels or {}
    for key, value in mapping(selector, "matchLabels").items():
        if have.get(key) != value:
            return False
    return all(_met(requirement, have) for requirement in selector.get("matchExpressions") or ())


def _met(requirement: Object, have: Mapping[str, str]) -> bool:
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    if operator == "In":
        return key in have and have[key] in requirement.get("values", ())
    if operator == "NotIn":
        return key not in have or have[key] not in requirement.get("values", ())
    return bool((key in have) == (operator == "Exists"))


def is_empty(selector: Object | None) -> bool:
    """True if a selector has no requirements."""
    return not selector or (not selector.get("matchLabels") and not selector.get("matchExpressions"))
