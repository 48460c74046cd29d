"""Validation of pod disruption budgets."""

from __future__ import annotations

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.conditions import conditions
from orchd.kinds.objects.validate.paths import SPEC, STATUS
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector
from orchd.kinds.objects.validate.workloads import at_most_all, int_or_percent, nonnegative


def create_budget(value: Object, report: Report) -> None:
    spec = fields.spec(value)
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        rendered = dump("policy.PodDisruptionBudgetSpec", spec)
        report.invalid(SPEC, rendered, "minAvailable and maxUnavailable cannot be both set")
    for member, number in (("minAvailable", least), ("maxUnavailable", most)):
        if number is not None:
            int_or_percent(number, SPEC / member, report)
            at_most_all(number, SPEC / member, report)
    eviction = spec.get("unhealthyPodEvictionPolicy")
    if eviction is not None and eviction not in ("AlwaysAllow", "IfHealthyBudget"):
        report.unsupported(SPEC / "unhealthyPodEvictionPolicy", eviction, ("AlwaysAllow", "IfHealthyBudget"))
    label_selector(spec.get("selector"), SPEC / "selector", report)


def update_budget(value: Object, old: Object, report: Report) -> None:
    create_budget(value, report)


def update_budget_status(value: Object, old: Object, report: Report) -> None:
    update_budget_conditions(value, old, report)
    members = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    nonnegative(fields.status(value), members, STATUS, report)


def update_budget_conditions(value: Object, old: Object, report: Report) -> None:
    """Validate a change of the status in v1beta1: only its conditions."""
    conditions(fields.conditions(value), STATUS / "conditions", report)
