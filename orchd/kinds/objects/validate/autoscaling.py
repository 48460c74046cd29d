"""Validation of horizontal pod autoscalers in all versions, and of Scale."""

from __future__ import annotations

import json
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.catalog import split_group_version
from orchd.kinds.gotext.structs import quantity
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, since
from orchd.kinds.objects.conversions.autoscalers import behavior_from_note, metric_from_old
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.field_rules import is_label
from orchd.kinds.objects.validate.core.resources import container_resource_name
from orchd.kinds.objects.validate.names import path_segment, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.quantities import amount

_METRICS: Final = "autoscaling.alpha.{long}.io/metrics"
_BEHAVIOR: Final = "autoscaling.alpha.{long}.io/behavior"
#: Metric type -> its member, in the order in which surplus members are reported.
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TYPES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_MAX_WINDOW: Final = 3600
_MAX_PERIOD: Final = 1800


def create(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    _spec(_internal(value, report), report)


def update(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _spec(_internal(value, report), report, _internal(old, report))


def update_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    for member in ("currentReplicas", "desiredReplicas"):
        report.nonnegative(STATUS / member, fields.status(value).get(member))


def _internal(value: Object, report: Report) -> Object:
    """The spec in the form of v2. In v1, fields that it lacks are in annotations."""
    spec: Object = fields.spec(value)
    version = (value.get("apiVersion") or "").rpartition("/")[2]
    if version == "v2beta1":
        return {**spec, "metrics": [metric_from_old(m) for m in spec.get("metrics") or ()]}
    if version != "v1":
        return spec
    annotations = fields.annotations_of(value)
    metrics = [metric_from_old(m) for m in _parse_annotation(annotations.get(report.dialect(_METRICS)), list)]
    share = spec.get("targetCPUUtilizationPercentage")
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    behavior = _parse_annotation(annotations.get(report.dialect(_BEHAVIOR)), dict)
    return {**spec, "metrics": metrics, **({"behavior": behavior_from_note(behavior)} if behavior else {})}


def _parse_annotation(text: str | None, type_: type[Any]) -> Any:
    """The JSON value of an annotation; invalid text counts as absent, as in conversion."""
    try:
        value = json.loads(text) if text else None
    except ValueError:
        value = None
    return value if isinstance(value, type_) else type_()


def _spec(spec: Object, report: Report, before: Object | None = None) -> None:
    """Validate a spec; `before` is the stored one, whose references may be of versions that are not valid."""
    stored = before or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    floor = 0 if stored.get("minReplicas") == 0 or report.settings.feature("HPAScaleToZero") else 1
    if least is not None and least < floor:
        report.invalid(SPEC / "minReplicas", least, f"must be greater than or equal to {floor}")
    if most < 1:
        report.invalid(SPEC / "maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        report.invalid(SPEC / "maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target, target_before = spec.get("scaleTargetRef") or {}, stored.get("scaleTargetRef") or {}
    _reference(target, SPEC / "scaleTargetRef", report)
    if before is None or any((target.get(m) or "") != (target_before.get(m) or "") for m in ("kind", "apiVersion")):
        _check_target_version(target, SPEC / "scaleTargetRef", report)
    lenient = any(map(_malformed_object_metric, stored.get("metrics") or ()))
    metrics = spec.get("metrics") or []
    custom = False
    for i, metric in enumerate(metrics):
        custom = custom or metric.get("type") in ("Object", "External")
        _metric(metric, (SPEC / "metrics")[i], report, lenient=lenient)
    if least == 0 and not custom:
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        report.forbidden(SPEC / "metrics", why)
    behavior = spec.get("behavior") or {}
    for member in ("scaleUp", "scaleDown"):
        if behavior.get(member) is not None:
            _rules(behavior[member], SPEC / "behavior" / member, report)


def _malformed_version(reference: Object) -> str:
    """The reason why the apiVersion of a reference is not valid, "" if it is."""
    version = reference.get("apiVersion") or ""
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else ""


def _described_version(reference: Object, at: Path, report: Report) -> None:
    wrong = _malformed_version(reference)
    if wrong:
        report.invalid(at / "apiVersion", reference["apiVersion"], wrong)


def _target_version(reference: Object, at: Path, report: Report) -> None:
    version = reference.get("apiVersion") or ""
    wrong = _malformed_version(reference)
    if not wrong and not split_group_version(version)[0] and reference.get("kind") != "ReplicationController":
        wrong = "apiVersion must specify API group"
    if wrong:
        report.invalid(at / "apiVersion", version, wrong)


_check_target_version = since("1.34", _target_version)
_check_described_version = since("1.34", _described_version)


def _reference(reference: Object, at: Path, report: Report) -> None:
    for member in ("kind", "name"):
        value = reference.get(member) or ""
        if not value:
            report.required(at / member)
        else:
            report.invalids(at / member, value, path_segment(value))


def _malformed_object_metric(metric: Object) -> bool:
    described = fields.mapping(metric, "object", "describedObject")
    return metric.get("type") == "Object" and bool(_malformed_version(described))


def _metric(metric: Object, at: Path, report: Report, *, lenient: bool) -> None:
    """Validate a metric. `lenient`: versions of described objects are not validated."""
    kind = metric.get("type") or ""
    if not kind:
        report.required(at / "type", "must specify a metric source type")
    if kind not in _TYPES:
        # Reported twice by the reference: for the type, and for the missing source.
        report.unsupported(at / "type", kind, _TYPES)
        report.unsupported(at / "type", kind, _TYPES)
    source_member = _SOURCES.get(kind, "")
    gated = report.settings.feature("HPAContainerMetrics")
    set_ = [m for m in _SOURCES.values() if metric.get(m) is not None and (gated or m != "containerResource")]
    # Of several sources only the first is validated.
    for member in set_[:1]:
        if member == "object":
            _object(metric[member], at / member, report, lenient=lenient)
        else:
            _RULES[member](metric[member], at / member, report)
    if source_member == "containerResource" and source_member not in set_:
        suffix = "" if gated else " (only allowed when HPAContainerMetrics feature is enabled)"
        report.required(at / source_member, f"must populate information for the given metric source{suffix}")
    elif source_member and source_member not in set_:
        report.required(at / source_member, "must populate information for the given metric source")
    if len(set_) > 1:
        for member in set_:
            if member != source_member:
                report.forbidden(at / member, "must populate the given metric source only")


def _target(target: Object, at: Path, report: Report) -> None:
    kind = target.get("type") or ""
    if not kind:
        report.required(at / "type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        report.invalid(at / "type", kind, "must be either Utilization, Value, or AverageValue")
    for member in ("value", "averageValue"):
        number = target.get(member)
        if number is not None and amount(number) <= 0:
            report.invalid(at / member, quantity(str(number)), "must be positive")
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        report.invalid(at / "averageUtilization", percent, "must be greater than 0")


def _identifier(metric: Object, at: Path, report: Report) -> None:
    name = metric.get("name") or ""
    if not name:
        report.required(at / "name", "must specify a metric name")
    else:
        report.invalids(at / "name", name, path_segment(name))


def _object(source: Object, at: Path, report: Report, *, lenient: bool) -> None:
    described = source.get("describedObject") or {}
    _reference(described, at / "describedObject", report)
    if not lenient:
        _check_described_version(described, at / "describedObject", report)
    _identifier(source.get("metric") or {}, at / "metric", report)
    target = source.get("target") or {}
    _target(target, at / "target", report)
    if target.get("value") is None and target.get("averageValue") is None:
        report.required(at / "target" / "averageValue", "must set either a target value or averageValue")


def _external(source: Object, at: Path, report: Report) -> None:
    _identifier(source.get("metric") or {}, at / "metric", report)
    target = source.get("target") or {}
    _target(target, at / "target", report)
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        why = "must set either a target value for metric or a per-pod target"
        report.required(at / "target" / "averageValue", why)
    if value is not None and average is not None:
        why = "may not set both a target value for metric and a per-pod target"
        report.forbidden(at / "target" / "value", why)


def _pods(source: Object, at: Path, report: Report) -> None:
    _identifier(source.get("metric") or {}, at / "metric", report)
    target = source.get("target") or {}
    _target(target, at / "target", report)
    if target.get("averageValue") is None:
        report.required(at / "target" / "averageValue", "must specify a positive target averageValue")


def _resource(source: Object, at: Path, report: Report) -> None:
    if not source.get("name"):
        report.required(at / "name", "must specify a resource name")
    _share_or_amount(source.get("target") or {}, at, report)


def _share_or_amount(target: Object, at: Path, report: Report) -> None:
    _target(target, at / "target", report)
    percent, average = target.get("averageUtilization"), target.get("averageValue")
    if percent is None and average is None:
        why = "must set either a target raw value or a target utilization"
        report.required(at / "target" / "averageUtilization", why)
    if percent is not None and average is not None:
        why = "may not set both a target raw value and a target utilization"
        report.forbidden(at / "target" / "averageValue", why)


def _container_resource(source: Object, at: Path, report: Report) -> None:
    name, container = source.get("name") or "", source.get("container") or ""
    if not name:
        report.required(at / "name", "must specify a resource name")
    else:
        container_resource_name(name, at / "name", report)
    if not container:
        report.required(at / "container", "must specify a container")
    else:
        is_label(container, at / "container", report)
    _share_or_amount(source.get("target") or {}, at, report)


_RULES: Final = {"external": _external, "pods": _pods, "resource": _resource, "containerResource": _container_resource}


def _rules(rules: Object, at: Path, report: Report) -> None:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        report.invalid(at / "stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _MAX_WINDOW:
        why = f"must be less than or equal to {_MAX_WINDOW}"
        report.invalid(at / "stabilizationWindowSeconds", window, why)
    if select is not None and select not in ("Disabled", "Max", "Min"):
        report.unsupported(at / "selectPolicy", select, ("Disabled", "Max", "Min"))
    policies = rules.get("policies") or []
    if not policies:
        report.required(at / "policies", "must specify at least one Policy")
    for i, policy in enumerate(policies):
        here = (at / "policies")[i]
        value, period = policy.get("value") or 0, policy.get("periodSeconds") or 0
        if policy.get("type") not in ("Percent", "Pods"):
            report.unsupported(here / "type", policy.get("type") or "", ("Percent", "Pods"))
        if value <= 0:
            report.invalid(here / "value", value, "must be greater than zero")
        if period <= 0:
            report.invalid(here / "periodSeconds", period, "must be greater than zero")
        if period > _MAX_PERIOD:
            report.invalid(here / "periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}")


def scale(value: Object, report: Report) -> None:
    """Validate a Scale."""
    metadata = fields.metadata(value)
    meta.create(value, report, namespaced=bool(metadata.get("namespace")), name_rule=subdomain_name)
    report.nonnegative(SPEC / "replicas", fields.spec(value).get("replicas"))


def _update_complete_scale(value: Object, old: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    report.nonnegative(SPEC / "replicas", fields.spec(value).get("replicas"))


def _update_scale(value: Object, old: Object, report: Report) -> None:
    scale(value, report)


#: Earlier releases do not fill in the namespace of a Scale that is sent.
update_scale = by_release(_update_complete_scale, ("1.24", _update_scale))
