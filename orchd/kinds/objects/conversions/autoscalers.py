"""Conversion of the four versions of HorizontalPodAutoscaler, with v2 as the hub version.

v1 only has a CPU target: other metrics, metric statuses, conditions and behavior are stored in annotations, as JSON in
the form of v2beta1 (behavior: with capitalized member names). v2beta1 stores its behavior in an annotation as well.
"""

from __future__ import annotations

import json
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.shape import ShapeError, canonical

_PREFIX: Final = "autoscaling.alpha.{long}.io/"
_METRICS: Final = _PREFIX + "metrics"
_STATES: Final = _PREFIX + "current-metrics"
_CONDITIONS: Final = _PREFIX + "conditions"
_BEHAVIOR: Final = _PREFIX + "behavior"
_DEFAULT_CPU: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_SPEC_V1: Final = "targetCPUUtilizationPercentage"
_STATUS_V1: Final = "currentCPUUtilizationPercentage"


# --- v1 -----------------------------------------------------------------------------------------


def to_v1(obj: Object, catalog: Catalog) -> Object:
    """Convert v2 to v1."""
    spec, status = dict(fields.spec(obj)), dict(fields.status(obj))
    notes: dict[str, Any] = {}
    others = []
    for metric in spec.pop("metrics", None) or ():
        target = fields.mapping(metric, "resource", "target")
        is_cpu = metric.get("type") == "Resource" and bool(target) and metric["resource"].get("name") == "cpu"
        if is_cpu and target.get("averageUtilization") is not None:
            # The spec of v1 has one: others are lost, as in the reference.
            spec.setdefault(_SPEC_V1, target["averageUtilization"])
        else:
            others.append(_metric_to_old(metric))
    if others:
        notes[_METRICS] = others
    states = status.pop("currentMetrics", None) or ()
    for state in states:
        current = fields.mapping(state, "resource", "current")
        if (state.get("resource") or {}).get("name") == "cpu" and current.get("averageUtilization") is not None:
            status[_STATUS_V1] = current["averageUtilization"]
    if states:
        notes[_STATES] = [_state_to_old(state) for state in states]
    conditions = status.pop("conditions", None)
    if conditions:
        notes[_CONDITIONS] = conditions
    behavior = spec.pop("behavior", None)
    if behavior is not None:
        notes[_BEHAVIOR] = _behavior_to_note(behavior)
    return {**obj, "metadata": _with_annotations(fields.metadata(obj), notes, catalog), "spec": spec, "status": status}


def from_v1(obj: Object, catalog: Catalog) -> Object:
    """Convert v1 to v2. Malformed annotations are ignored."""
    spec, status = dict(fields.spec(obj)), dict(fields.status(obj))
    metadata, notes = _without_annotations(fields.metadata(obj), catalog)
    metrics = [metric_from_old(metric) for metric in notes.get(_METRICS) or ()]
    share = spec.pop(_SPEC_V1, None)
    if share is not None:
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": _utilization(share)}})
    spec["metrics"] = metrics or [_DEFAULT_CPU]
    if _BEHAVIOR in notes:
        spec["behavior"] = notes[_BEHAVIOR]
    share = status.pop(_STATUS_V1, None)
    if notes.get(_STATES):
        status["currentMetrics"] = [_state_from_old(state) for state in notes[_STATES]]
    elif share is not None:
        status["currentMetrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": share}}}
        ]
    if notes.get(_CONDITIONS):
        status["conditions"] = notes[_CONDITIONS]
    return {**obj, "metadata": metadata, "spec": spec, "status": status}


def _utilization(share: int) -> Object:
    return {"type": "Utilization", "averageUtilization": share}


def _with_annotations(metadata: Object, notes: dict[str, Any], catalog: Catalog) -> Object:
    metadata, _ = _without_annotations(metadata, catalog)
    if not notes:
        return metadata
    texts = {
        catalog.dialect(key): json.dumps(note, separators=(",", ":"), ensure_ascii=False) for key, note in notes.items()
    }
    return {**metadata, "annotations": {**(metadata.get("annotations") or {}), **texts}}


def _without_annotations(metadata: Object, catalog: Catalog) -> tuple[Object, dict[str, Any]]:
    """Metadata without the annotations of this module, and the values of the readable ones."""
    annotations = metadata.get("annotations") or {}
    ours = {catalog.dialect(key): key for key in (_METRICS, _STATES, _CONDITIONS, _BEHAVIOR)}
    if not annotations.keys() & ours.keys():
        return metadata, {}
    notes = {}
    for name in annotations.keys() & ours.keys():
        try:
            notes[ours[name]] = _read(ours[name], json.loads(annotations[name]), catalog)
        except (ValueError, ShapeError):
            # A malformed annotation counts as absent.
            continue
    rest = {name: text for name, text in annotations.items() if name not in ours}
    kept = {name: item for name, item in metadata.items() if name != "annotations"}
    return ({**kept, "annotations": rest} if rest else kept), notes


_NOTED: Final = {_METRICS: "MetricSpec", _STATES: "MetricStatus", _CONDITIONS: "HorizontalPodAutoscalerCondition"}


def _read(key: str, note: Any, catalog: Catalog) -> Any:
    if key == _BEHAVIOR:
        if not isinstance(note, dict):
            raise ShapeError("behaviour is an object")
        return canonical(behavior_from_note(note), catalog.type("autoscaling/v2.HorizontalPodAutoscalerBehavior"))
    type = catalog.type(f"autoscaling/v1.{_NOTED[key]}")
    if not isinstance(note, list):
        raise ShapeError("a list is wanted")
    return [canonical(item, type) for item in note]


_RULE_NAMES: Final = {
    "StabilizationWindowSeconds": "stabilizationWindowSeconds",
    "SelectPolicy": "selectPolicy",
    "Policies": "policies",
}
_POLICY_NAMES: Final = {"Type": "type", "Value": "value", "PeriodSeconds": "periodSeconds"}


def _behavior_to_note(behavior: Object) -> Object:
    return {"ScaleUp": _rules_to_note(behavior.get("scaleUp")), "ScaleDown": _rules_to_note(behavior.get("scaleDown"))}


def _rules_to_note(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    note = {old: rules.get(new) for old, new in _RULE_NAMES.items()}
    if note["Policies"] is not None:
        note["Policies"] = [{old: policy.get(new) for old, new in _POLICY_NAMES.items()} for policy in note["Policies"]]
    return note


def _member(value: Any, name: str) -> Any:
    """A member of an annotation's object, case-insensitively, because annotations may be written by hand."""
    if not isinstance(value, dict):
        return None
    member = value.get(name)
    if member is None:
        member = next((item for key, item in value.items() if key.lower() == name.lower()), None)
    return member


def behavior_from_note(note: Object) -> Object:
    out = {}
    for old, new in (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")):
        rules = _member(note, old)
        if rules is not None:
            members = {name: _member(rules, theirs) for theirs, name in _RULE_NAMES.items()}
            if isinstance(members["policies"], list):
                members["policies"] = [
                    {name: _member(policy, theirs) for theirs, name in _POLICY_NAMES.items()}
                    for policy in members["policies"]
                ]
            out[new] = {name: item for name, item in members.items() if item is not None}
    return out


# --- v2beta1 ------------------------------------------------------------------------------------


def to_v2beta1(obj: Object, catalog: Catalog) -> Object:
    """Convert v2 to v2beta1."""
    spec, status = dict(fields.spec(obj)), dict(fields.status(obj))
    if spec.get("metrics"):
        spec["metrics"] = [_metric_to_old(metric) for metric in spec["metrics"]]
    if status.get("currentMetrics"):
        status["currentMetrics"] = [_state_to_old(state) for state in status["currentMetrics"]]
    behavior = spec.pop("behavior", None)
    notes = {} if behavior is None else {_BEHAVIOR: _behavior_to_note(behavior)}
    return {**obj, "metadata": _with_annotations(fields.metadata(obj), notes, catalog), "spec": spec, "status": status}


def from_v2beta1(obj: Object, catalog: Catalog) -> Object:
    """Convert v2beta1 to v2."""
    spec, status = dict(fields.spec(obj)), dict(fields.status(obj))
    metadata, notes = _without_annotations(fields.metadata(obj), catalog)
    if spec.get("metrics"):
        spec["metrics"] = [metric_from_old(metric) for metric in spec["metrics"]]
    if status.get("currentMetrics"):
        status["currentMetrics"] = [_state_from_old(state) for state in status["currentMetrics"]]
    if _BEHAVIOR in notes:
        spec["behavior"] = notes[_BEHAVIOR]
    return {**obj, "metadata": metadata, "spec": spec, "status": status}


# --- metrics: flat in v2beta1, {metric, target} in v2 ---------------------------------------------

_SOURCES: Final = ("object", "pods", "resource", "containerResource", "external")


def _without_none(**members: Any) -> Object:
    return {name: item for name, item in members.items() if item is not None}


def _metric_to_old(metric: Object) -> Object:
    return _each_source(metric, _source_to_old)


def metric_from_old(metric: Object) -> Object:
    return _each_source(metric, _source_from_old)


def _state_to_old(state: Object) -> Object:
    return _each_source(state, _current_to_old)


def _state_from_old(state: Object) -> Object:
    return _each_source(state, _current_from_old)


def _each_source(metric: Object, change: Any) -> Object:
    out = {"type": metric.get("type", "")}
    for name in _SOURCES:
        source = metric.get(name)
        if isinstance(source, dict):
            out[name] = change(name, source)
    return out


def _source_to_old(name: str, source: Object) -> Object:
    target, metric = source.get("target") or {}, source.get("metric") or {}
    value, average, share = target.get("value"), target.get("averageValue"), target.get("averageUtilization")
    match name:
        case "object":
            return _without_none(
                target=source.get("describedObject"), metricName=metric.get("name"), targetValue=value or "0",
                selector=metric.get("selector"), averageValue=average,
            )  # fmt: skip
        case "pods":
            return _without_none(
                metricName=metric.get("name"), targetAverageValue=average, selector=metric.get("selector")
            )
        case "external":
            return _without_none(
                metricName=metric.get("name"), metricSelector=metric.get("selector"), targetValue=value,
                targetAverageValue=average,
            )  # fmt: skip
    return _without_none(
        name=source.get("name"),
        targetAverageUtilization=share,
        targetAverageValue=average,
        container=source.get("container"),
    )


def _source_from_old(name: str, source: Object) -> Object:
    average = source.get("targetAverageValue")
    match name:
        case "object":
            average, value = source.get("averageValue"), source.get("targetValue")
            if average is not None and value == "0":
                value = None
            kind = "Value" if average is None else "AverageValue"
            return _without_none(
                describedObject=source.get("target"), metric=_identifier(source, "selector"),
                target=_without_none(type=kind, value=value, averageValue=average),
            )  # fmt: skip
        case "pods":
            return {
                "metric": _identifier(source, "selector"),
                "target": _without_none(type="AverageValue", averageValue=average),
            }
        case "external":
            value = source.get("targetValue")
            kind = "AverageValue" if value is None else "Value"
            target = _without_none(type=kind, value=value, averageValue=average)
            return {"metric": _identifier(source, "metricSelector"), "target": target}
    share = source.get("targetAverageUtilization")
    kind = "AverageValue" if share is None else "Utilization"
    target = _without_none(type=kind, averageValue=average, averageUtilization=share)
    return _without_none(name=source.get("name"), target=target, container=source.get("container"))


def _identifier(source: Object, selector: str) -> Object:
    return _without_none(name=source.get("metricName"), selector=source.get(selector))


def _current_to_old(name: str, source: Object) -> Object:
    current, metric = source.get("current") or {}, source.get("metric") or {}
    value, average = current.get("value"), current.get("averageValue")
    match name:
        case "object":
            return _without_none(
                target=source.get("describedObject"), metricName=metric.get("name"), currentValue=value or "0",
                selector=metric.get("selector"), averageValue=average,
            )  # fmt: skip
        case "pods":
            return _without_none(
                metricName=metric.get("name"), currentAverageValue=average, selector=metric.get("selector")
            )
        case "external":
            return _without_none(
                metricName=metric.get("name"), metricSelector=metric.get("selector"), currentValue=value or "0",
                currentAverageValue=average,
            )  # fmt: skip
    return _without_none(
        name=source.get("name"), currentAverageUtilization=current.get("averageUtilization"),
        currentAverageValue=average or "0", container=source.get("container"),
    )  # fmt: skip


def _current_from_old(name: str, source: Object) -> Object:
    average = source.get("currentAverageValue")
    match name:
        case "object":
            current = _without_none(value=source.get("currentValue"), averageValue=source.get("averageValue"))
            return _without_none(
                describedObject=source.get("target"), metric=_identifier(source, "selector"), current=current
            )
        case "pods":
            return {"metric": _identifier(source, "selector"), "current": _without_none(averageValue=average)}
        case "external":
            current = _without_none(value=source.get("currentValue"), averageValue=average)
            return {"metric": _identifier(source, "metricSelector"), "current": current}
    current = _without_none(averageValue=average, averageUtilization=source.get("currentAverageUtilization"))
    return _without_none(name=source.get("name"), current=current, container=source.get("container"))
