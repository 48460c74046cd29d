"""Validation of affinity, tolerations and topology spread constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, since
from orchd.kinds.objects.validate.core.field_rules import is_qualified
from orchd.kinds.objects.validate.names import label, label_value, qualified_name, subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT: Final = "must be in the range 1-100"


def affinity(value: Object, at: Path, report: Report) -> None:
    node = value.get("nodeAffinity")
    if node is not None:
        here = at / "nodeAffinity"
        if node.get(_REQUIRED) is not None:
            node_selector(node[_REQUIRED], here / _REQUIRED, report)
        for i, term in enumerate(node.get(_PREFERRED) or ()):
            _weight(term, (here / _PREFERRED)[i], report)
            preferred = (here / _PREFERRED)[i] / "preference"
            # Values may be any text, which is warned of.
            node_selector_term(term.get("preference") or {}, preferred, report, any_values=True)
    for member in ("podAffinity", "podAntiAffinity"):
        pods = value.get(member)
        if pods is None:
            continue
        for i, term in enumerate(pods.get(_REQUIRED) or ()):
            _pod_term(term, (at / member / _REQUIRED)[i], report)
        for i, weighted in enumerate(pods.get(_PREFERRED) or ()):
            here = (at / member / _PREFERRED)[i]
            _weight(weighted, here, report)
            _pod_term(weighted.get("podAffinityTerm") or {}, here / "podAffinityTerm", report)


def _weight(term: Object, at: Path, report: Report) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        report.invalid(at / "weight", weight, _WEIGHT)


def _pod_term(term: Object, at: Path, report: Report) -> None:
    label_selector(term.get("labelSelector"), at / "labelSelector", report)
    label_selector(term.get("namespaceSelector"), at / "namespaceSelector", report)
    for name in term.get("namespaces") or ():
        report.invalids(at / "namespace", name, label(name))
    if term.get("matchLabelKeys") or term.get("mismatchLabelKeys"):
        _label_keys(term, at, report)
    key = term.get("topologyKey") or ""
    if not key:
        report.required(at / "topologyKey", "can not be empty")
    report.invalids(at / "topologyKey", key, qualified_name(key))


def node_selector(selector: Object, at: Path, report: Report) -> None:
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        report.required(at / "nodeSelectorTerms", "must have at least one node selector term")
    for i, term in enumerate(terms):
        node_selector_term(term, (at / "nodeSelectorTerms")[i], report)


def node_selector_term(term: Object, at: Path, report: Report, *, any_values: bool = False) -> None:
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        _expression(requirement, (at / "matchExpressions")[i], report)
        if not any_values:
            _values(requirement.get("values") or (), (at / "matchExpressions")[i] / "values", report)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        _field(requirement, (at / "matchFields")[i], report)


def _expression(requirement: Object, at: Path, report: Report) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            report.required(at / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            report.forbidden(at / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            report.required(at / "values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        report.invalid(at / "operator", operator, "not a valid selector operator")
    is_qualified(requirement.get("key") or "", at / "key", report)


def _label_values(values: Sequence[str], at: Path, report: Report) -> None:
    for i, value in enumerate(values):
        report.invalids(at[i], value, label_value(value))


_values = since("1.32", _label_values)


def _field(requirement: Object, at: Path, report: Report) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            report.required(at / "values", why)
    else:
        report.invalid(at / "operator", operator, "not a valid selector operator")
    if requirement.get("key") != "metadata.name":
        report.invalid(at / "key", requirement.get("key") or "", "not a valid field selector key")
        return
    for i, value in enumerate(values):
        report.invalids((at / "values")[i], value, subdomain(value))


def tolerations(listed: list[Object], at: Path, report: Report) -> None:
    for i, toleration in enumerate(listed):
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        if key:
            wrong = qualified_name(key)
            if wrong:
                report.invalids(at[i] / "key", key, wrong)
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            report.invalid(at[i] / "operator", operator, why)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            report.invalid(at[i] / "effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator in ("Equal", ""):
            wrong = label_value(value)
            if wrong:
                report.invalid(at[i] / "operator", value, report.joined(wrong, ";"))
        elif operator == "Exists":
            if value:
                _unused_value(toleration, at[i] / "operator", report)
        else:
            _unknown_operator(operator, at[i] / "operator", report)
        if effect and effect not in EFFECTS:
            report.unsupported(at[i] / "effect", effect, EFFECTS)


def _toleration_shown(toleration: Object, at: Path, report: Report) -> None:
    report.invalid(at, dump("core.Toleration", toleration), "value must be empty when `operator` is 'Exists'")


def _value_shown(toleration: Object, at: Path, report: Report) -> None:
    report.invalid(at, toleration["value"], "value must be empty when `operator` is 'Exists'")


def _operator_of_two(operator: str, at: Path, report: Report) -> None:
    report.unsupported(at, operator, ("Equal", "Exists"))


def _operator_of_four(operator: str, at: Path, report: Report) -> None:
    compares = operator in ("Lt", "Gt")
    report.unsupported(at, operator, ("Equal", "Exists", "Lt", "Gt") if compares else ("Equal", "Exists"))


_unknown_operator = by_release(_operator_of_two, ("1.35", _operator_of_four))
_unused_value = by_release(_toleration_shown, ("1.35", _value_shown))


def spread(listed: list[Object], at: Path, report: Report) -> None:
    #: The last constraint with a key and action.
    last = {(each.get("topologyKey"), each.get("whenUnsatisfiable")): i for i, each in enumerate(listed)}
    for i, constraint in enumerate(listed):
        skew, key = constraint.get("maxSkew") or 0, constraint.get("topologyKey") or ""
        action = constraint.get("whenUnsatisfiable") or ""
        if skew <= 0:
            report.invalid(at[i] / "maxSkew", skew, "must be greater than zero")
        if not key:
            report.required(at[i] / "topologyKey", "can not be empty")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            report.unsupported(at[i] / "whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        if last.get((key, action), i) > i:
            report.duplicate(at[i] / "{topologyKey, whenUnsatisfiable}", f"{{{key}, {action}}}")
        _newer_spread(constraint, at[i], report)


def _spread_policies(constraint: Object, at: Path, report: Report) -> None:
    action, domains = constraint.get("whenUnsatisfiable") or "", constraint.get("minDomains")
    if domains is not None:
        if domains <= 0:
            report.invalid(at / "minDomains", domains, "must be greater than zero")
        if action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            report.invalid(at / "minDomains", domains, why)
    for member in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if constraint.get(member) not in (None, "Honor", "Ignore"):
            report.unsupported(at / member, constraint[member], ("Honor", "Ignore"))
    _label_keys(constraint, at, report)
    label_selector(constraint.get("labelSelector"), at / "labelSelector", report)


_newer_spread = since("1.26", _spread_policies)


def _label_keys(owner: Object, at: Path, report: Report) -> None:
    """Validate keys whose values are those of the pod: they need a selector, which must not use them otherwise.

    The selector has got a requirement for each matched key already (`orchd.kinds.objects.label_keys`).
    """
    matched, mismatched = owner.get("matchLabelKeys") or (), owner.get("mismatchLabelKeys") or ()
    selector = owner.get("labelSelector")
    for member, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            report.forbidden(at / member, "must not be specified when labelSelector is not set")
        elif keys:
            for i, key in enumerate(keys):
                report.invalids((at / member)[i], key, qualified_name(key))
    indexes = {key: i for i, key in enumerate(matched)}
    used = set((selector or {}).get("matchLabels") or ())
    for requirement in (selector or {}).get("matchExpressions") or ():
        key = requirement.get("key") or ""
        if key in indexes and key in used:
            report.invalid(at[indexes[key]], key, "exists in both matchLabelKeys and labelSelector")
        used.add(key)
    excluded = set(mismatched)
    for i, key in enumerate(matched):
        if key in excluded:
            report.invalid((at / "matchLabelKeys")[i], key, "exists in both matchLabelKeys and mismatchLabelKeys")
