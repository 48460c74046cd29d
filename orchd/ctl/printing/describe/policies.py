"""Descriptions of roles, bindings, service accounts, autoscalers and disruption budgets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from orchd.ctl.objects.rules import compact_rules, resource_text
from orchd.ctl.printing.describe.related import Related
from orchd.ctl.printing.describe.sheet import Sheet, moment
from orchd.ctl.printing.output import bracketed
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.text import UNSET, selector


def _named(sheet: Sheet, obj: Object) -> None:
    """Add the head of kinds whose descriptions do not show the namespace."""
    metadata = obj["metadata"]
    sheet.row("Name", metadata["name"])
    sheet.labels("Labels", metadata.get("labels"))
    sheet.annotations(metadata.get("annotations"))


async def role(sheet: Sheet, obj: Object, related: Related) -> None:
    _named(sheet, obj)
    sheet.line("PolicyRule:")
    rows = [
        [resource_text(each), *(bracketed(each.get(key)) for key in ("nonResourceURLs", "resourceNames", "verbs"))]
        for each in compact_rules(obj.get("rules") or ())
    ]
    sheet.table(("Resources", "Non-Resource URLs", "Resource Names", "Verbs"), rows)


async def role_binding(sheet: Sheet, obj: Object, related: Related) -> None:
    _named(sheet, obj)
    sheet.line("Role:")
    sheet.row("Kind", obj["roleRef"].get("kind", ""), 1)
    sheet.row("Name", obj["roleRef"].get("name", ""), 1)
    sheet.line("Subjects:")
    rows = [[each.get(key, "") for key in ("kind", "name", "namespace")] for each in obj.get("subjects") or ()]
    sheet.table(("Kind", "Name", "Namespace"), rows)


async def service_account(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.head(obj)
    sheet.listed("Image pull secrets", [each["name"] for each in obj.get("imagePullSecrets") or ()])


async def disruption_budget(sheet: Sheet, obj: Object, related: Related) -> None:
    spec, status = fields.spec(obj), fields.status(obj)
    sheet.row("Name", obj["metadata"]["name"])
    sheet.row("Namespace", obj["metadata"]["namespace"])
    minimum = {"minAvailable": "Min available"}
    sheet.rows(spec, minimum if spec.get("minAvailable") is not None else {"maxUnavailable": "Max unavailable"})
    sheet.row("Selector", UNSET if spec.get("selector") is None else selector(spec["selector"]))
    sheet.line("Status:")
    for key, title in (
        ("disruptionsAllowed", "Allowed disruptions"),
        ("currentHealthy", "Current"),
        ("desiredHealthy", "Desired"),
        ("expectedPods", "Total"),
    ):
        sheet.row(title, status.get(key, 0), 2)


async def autoscaler(sheet: Sheet, obj: Object, related: Related) -> None:
    spec, status = fields.spec(obj), fields.status(obj)
    target = spec.get("scaleTargetRef") or {}
    sheet.head(obj)
    sheet.row("CreationTimestamp", moment(obj["metadata"].get("creationTimestamp")))
    sheet.row("Reference", f"{target.get('kind')}/{target.get('name')}")
    if "metrics" in spec or "targetCPUUtilizationPercentage" not in spec:
        sheet.row("Metrics", "( current / target )")
        current = status.get("currentMetrics") or []
        for at, metric in enumerate(spec.get("metrics") or ()):
            sheet.line(_metric(metric, current[at] if at < len(current) and current[at] else {}), 1)
    else:
        used = status.get("currentCPUUtilizationPercentage", "<unknown>")
        sheet.row("Target CPU utilization", f"{spec['targetCPUUtilizationPercentage']}%")
        sheet.row("Current CPU utilization", f"{used}%")
    sheet.row("Min replicas", spec.get("minReplicas", UNSET))
    sheet.row("Max replicas", spec.get("maxReplicas", 0))
    if spec.get("behavior"):
        sheet.line("Behavior:")
        for key, title in (("scaleUp", "Scale Up"), ("scaleDown", "Scale Down")):
            _behavior(sheet, title, spec["behavior"].get(key))
    counts = f"{status.get('currentReplicas', 0)} current / {status.get('desiredReplicas', 0)} desired"
    sheet.row(f"{target.get('kind')} pods", counts)
    listed = status.get("conditions") or ()
    if listed:
        sheet.line("Conditions:")
        rows = [[each.get(key, "") for key in ("type", "status", "reason", "message")] for each in listed]
        sheet.table(("Type", "Status", "Reason", "Message"), rows)


#: Field of a metric by its type.
_SOURCES: Final = {
    "External": "external", "Pods": "pods", "Object": "object", "Resource": "resource",
    "ContainerResource": "containerResource",
}  # fmt: skip


def _metric(metric: Object, current: Object) -> str:
    """A metric with its current value and its target, as cells."""
    key = _SOURCES.get(metric.get("type", ""))
    if key is None:
        return f"<unknown metric type {json.dumps(metric.get('type', ''))}>"
    source, now = metric.get(key) or {}, fields.mapping(current, key, "current")
    name, target = json.dumps(fields.mapping(source, "metric").get("name", "")), source.get("target") or {}
    average = target.get("averageValue") is not None
    if key in ("resource", "containerResource"):
        of = f" of container {json.dumps(source.get('container'))}" if key == "containerResource" else ""
        title = f"resource {source.get('name')}{of} on pods"
        if average:
            return f"{title}:\t{_amount(now, 'averageValue')} / {target['averageValue']}"
        used = now.get("averageUtilization")
        reached = "<unknown>" if used is None else f"{used}% ({now.get('averageValue', '0')})"
        average_utilization = target.get("averageUtilization")
        return f"{title}  (as a percentage of request):\t{reached} / {'<auto>' if average_utilization is None else f'{average_utilization}%'}"
    if key == "pods":
        return f"{name} on pods:\t{_amount(now, 'averageValue')} / {target.get('averageValue')}"
    where = ""
    if key == "object":
        described = source.get("describedObject") or {}
        where = f" on {described.get('kind')}/{described.get('name')}"
        average = target.get("type") == "AverageValue"
    field, kind = ("averageValue", "target average value") if average else ("value", "target value")
    return f"{name}{where} ({kind}):\t{_amount(now, field)} / {target.get(field, '<nil>')}"


def _amount(now: Mapping[str, Any], key: str) -> str:
    return str(now.get(key, "<unknown>"))


def _behavior(sheet: Sheet, title: str, rules: Object | None) -> None:
    if rules is None:
        return
    sheet.line(f"{title}:", 1)
    if rules.get("stabilizationWindowSeconds") is not None:
        sheet.line(f"Stabilization Window: {rules['stabilizationWindowSeconds']} seconds", 2)
    if rules.get("policies"):
        sheet.line(f"Select Policy: {rules.get('selectPolicy', 'Max')}", 2)
        sheet.line("Policies:", 2)
        for each in rules["policies"]:
            period = f"Period: {each.get('periodSeconds')} seconds"
            sheet.line(f"- Type: {each.get('type')}\tValue: {each.get('value')}\t{period}", 3)
