"""Validation of configurations of admission webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.expressions import match_conditions
from orchd.kinds.objects.validate.names import fully_qualified, label_1035, subdomain_name
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector
from orchd.kinds.objects.validate.webhooks import client

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = (*_NO_SIDE_EFFECTS, "Some", "Unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """Rules that v1 has and v1beta1 has not, and that a change of a configuration which breaks them need not follow.

    `lenient`: review versions may all be unknown. `conditions`: match conditions are validated, since one of them
    changed.
    """

    side_effects: tuple[str, ...] = _NO_SIDE_EFFECTS
    unique_names: bool = True
    lenient: bool = False
    conditions: bool = True


def create(value: Object, report: Report) -> None:
    _webhooks(value, report, _Rules())


def create_v1beta1(value: Object, report: Report) -> None:
    """Validate a new configuration sent as v1beta1: any side effects, and several webhooks of one name."""
    _webhooks(value, report, _Rules(side_effects=_SIDE_EFFECTS, unique_names=False))


def update(value: Object, old: Object, report: Report) -> None:
    """Validate a change. What v1 or this release rejects is accepted if the stored configuration has it."""
    hooks = old.get("webhooks") or ()
    names = [hook.get("name") for hook in hooks]
    harmless = all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in hooks)
    rules = _Rules(
        side_effects=_NO_SIDE_EFFECTS if harmless else _SIDE_EFFECTS,
        unique_names=len(names) == len(set(names)),
        lenient=_unknown_reviews(old),
        conditions=_conditions(value) != _conditions(old),
    )
    _webhooks(value, report, rules)


def update_v1beta1(value: Object, old: Object, report: Report) -> None:
    """As `update`, by the rules of `create_v1beta1`."""
    _webhooks(value, report, _Rules(side_effects=_SIDE_EFFECTS, unique_names=False, lenient=_unknown_reviews(old)))


def _conditions(value: Object) -> list[object]:
    """The match conditions of each webhook of a configuration."""
    return [hook.get("matchConditions") or [] for hook in value.get("webhooks") or ()]


def _unknown_reviews(value: Object) -> bool:
    """True if a webhook of a configuration accepts no review version that the server sends."""
    sent = set(REVIEW_VERSIONS)
    return any(not sent & set(hook.get("admissionReviewVersions") or ()) for hook in value.get("webhooks") or ())


def _webhooks(value: Object, report: Report, rules: _Rules) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name, core=False)
    names: set[str] = set()
    for i, hook in enumerate(value.get("webhooks") or ()):
        at = root("webhooks")[i]
        _webhook(hook, at, report, rules.side_effects)
        if rules.conditions:
            match_conditions(hook.get("matchConditions") or (), at / "matchConditions", report)
        review_versions(
            hook.get("admissionReviewVersions") or [], at / "admissionReviewVersions", report, lenient=rules.lenient
        )
        name = hook.get("name") or ""
        if name and rules.unique_names:
            if name in names:
                report.duplicate(at / "name", name)
            names.add(name)


def review_versions(versions: list[str], at: Path, report: Report, *, lenient: bool = False) -> None:
    if not versions:
        report.required(at, f"must specify one of {', '.join(REVIEW_VERSIONS)}")
        return
    repeated = repeats(versions)
    for i, version in enumerate(versions):
        if i in repeated:
            report.invalid(at[i], version, "duplicate version")
            continue
        report.invalids(at[i], version, label_1035(version))
    if not lenient and not set(versions) & set(REVIEW_VERSIONS):
        report.invalid(at, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")


def _webhook(hook: Object, at: Path, report: Report, side_effects: tuple[str, ...]) -> None:
    name = hook.get("name") or ""
    if name:
        _joined(at / "name", name, fully_qualified(name), report)
    else:
        report.required(at / "name")
    for i, rule in enumerate(hook.get("rules") or ()):
        rule_with_operations(rule, (at / "rules")[i], report)
    one_of(hook.get("failurePolicy"), ("Fail", "Ignore"), at / "failurePolicy", report)
    one_of(hook.get("matchPolicy"), ("Equivalent", "Exact"), at / "matchPolicy", report)
    effects = hook.get("sideEffects")
    if effects is None:
        report.required(at / "sideEffects", f"must specify one of {', '.join(side_effects)}")
    else:
        one_of(effects, side_effects, at / "sideEffects", report)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        report.invalid(at / "timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    label_selector(hook.get("namespaceSelector"), at / "namespaceSelector", report)
    label_selector(hook.get("objectSelector"), at / "objectSelector", report)
    one_of(hook.get("reinvocationPolicy"), ("IfNeeded", "Never"), at / "reinvocationPolicy", report)
    client(hook.get("clientConfig") or {}, at / "clientConfig", report)


def _joined(at: Path, name: str, wrong: Sequence[str], report: Report) -> None:
    """Report several errors as one cause."""
    if wrong:
        report.invalid(at, name, ",".join(wrong))


def one_of(value: str | None, allowed: tuple[str, ...], at: Path, report: Report) -> None:
    """Report a value that is set, and none of the allowed ones."""
    if value is not None and value not in allowed:
        report.unsupported(at, value, allowed)


def rule_with_operations(rule: Object, at: Path, report: Report) -> None:
    """Validate a rule of a webhook or policy: operations and resources."""
    operations = rule.get("operations") or []
    if not operations:
        report.required(at / "operations")
    if len(operations) > 1 and "*" in operations:
        rendered = dump("[]admissionregistration.OperationType", operations)
        report.invalid(at / "operations", rendered, "if '*' is present, must not specify other operations")
    for i, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            report.unsupported((at / "operations")[i], operation, _OPERATIONS)
    groups, versions = rule.get("apiGroups") or [], rule.get("apiVersions") or []
    if not groups:
        report.required(at / "apiGroups")
    if len(groups) > 1 and "*" in groups:
        report.invalid(at / "apiGroups", groups, "if '*' is present, must not specify other API groups")
    if not versions:
        report.required(at / "apiVersions")
    if len(versions) > 1 and "*" in versions:
        report.invalid(at / "apiVersions", versions, "if '*' is present, must not specify other API versions")
    for i, version in enumerate(versions):
        if not version:
            report.required((at / "apiVersions")[i])
    _resources(rule.get("resources") or [], at / "resources", report)
    one_of(rule.get("scope"), _SCOPES, at / "scope", report)


def _resources(resources: list[str], at: Path, report: Report) -> None:
    if not resources:
        report.required(at)
    with_wildcard: set[str] = set()
    all_subresources: set[str] = set()
    whole = False
    for i, resource in enumerate(resources):
        if not resource:
            report.required(at[i])
            continue
        name, slash, sub = resource.partition("/")
        if not slash:
            # The last one applies, as in the reference.
            whole = resource != "*"
            continue
        if name in with_wildcard:
            report.invalid(at[i], resource, f"if '{name}/*' is present, must not specify {resource}")
        if sub in all_subresources:
            report.invalid(at[i], resource, f"if '*/{sub}' is present, must not specify {resource}")
        if sub == "*":
            with_wildcard.add(name)
        if name == "*":
            all_subresources.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        report.invalid(at, resources, "if '*/*' is present, must not specify other resources")
    if whole and "*" in resources:
        report.invalid(at, resources, "if '*' is present, must not specify other resources without subresources")
