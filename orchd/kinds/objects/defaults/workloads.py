"""Default rules of the groups apps, batch and autoscaling."""

from __future__ import annotations

import re
from typing import Any, Final

from orchd.errors import quoted
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release
from orchd.kinds.objects.defaults.rules import Rule, fill_members, fill_unset, within
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.shape import ShapeError

_CRON: Final = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}

CONSTANTS: Final[dict[str, dict[str, Any]]] = {
    "apps/v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps/v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps/v1.DeploymentStrategy": {"type": "RollingUpdate"},
    "apps/v1.DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
    "apps/v1.ReplicaSetSpec": {"replicas": 1},
    "apps/v1.StatefulSetSpec": {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"},
    "apps/v1.StatefulSetUpdateStrategy": {"type": "RollingUpdate"},
    "autoscaling/v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling/v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling/v2beta1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling/v2beta2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "batch/v1.CronJobSpec": _CRON,
    "batch/v1.JobSpec": {},
    "batch/v1beta1.CronJobSpec": _CRON,
}


def _deployment_strategy(value: Object, settings: ObjectSettings) -> Object:
    if value.get("type", "RollingUpdate") != "RollingUpdate":
        return value
    return within(value, "rollingUpdate", lambda rolling: fill_unset(rolling, maxUnavailable="25%", maxSurge="25%"))


def _daemon_set_strategy(value: Object, settings: ObjectSettings) -> Object:
    if value.get("type", "RollingUpdate") != "RollingUpdate":
        return value
    value = within(value, "rollingUpdate", lambda rolling: fill_unset(rolling, maxUnavailable=1))
    if settings.feature("DaemonSetUpdateSurge"):
        value = within(value, "rollingUpdate", lambda rolling: fill_unset(rolling, maxSurge=0))
    return value


def _stateful_set_strategy(value: Object, settings: ObjectSettings) -> Object:
    """Default the partition to 0 if the strategy is a rolling update or unset."""
    rolling = value.get("rollingUpdate")
    if "type" not in value and rolling is None:
        return {**value, "rollingUpdate": {"partition": 0}}
    if value.get("type", "RollingUpdate") == "RollingUpdate" and rolling is not None:
        return within(value, "rollingUpdate", lambda rolling: fill_members(rolling, partition=0))
    return value


def _stateful_set_spec(value: Object, settings: ObjectSettings) -> Object:
    if settings.feature("StatefulSetAutoDeletePVC"):
        value = within(
            value,
            "persistentVolumeClaimRetentionPolicy",
            lambda policy: fill_members(policy, whenDeleted="Retain", whenScaled="Retain"),
        )
    claims = value.get("volumeClaimTemplates")
    if claims and not all("kind" in claim and "apiVersion" in claim for claim in claims):
        named = [fill_members(claim, kind="PersistentVolumeClaim", apiVersion="v1") for claim in claims]
        value = {**value, "volumeClaimTemplates": named}
    return value


def _job(value: Object, settings: ObjectSettings) -> Object:
    spec = fields.spec(value)
    filled_spec = spec
    if spec.get("parallelism") is None:
        filled_spec = {**filled_spec, "parallelism": 1}
        if spec.get("completions") is None:
            filled_spec["completions"] = 1
    filled_spec = fill_members(filled_spec, backoffLimit=6)
    if settings.feature("IndexedJob"):
        filled_spec = fill_unset(filled_spec, completionMode="NonIndexed")
    if settings.feature("SuspendJob"):
        filled_spec = fill_members(filled_spec, suspend=False)
    return _with_template_labels(value, spec, filled_spec)


def _job_with_policies(value: Object, settings: ObjectSettings) -> Object:
    """As `_job`, with policies for the failure and the replacement of pods."""
    spec = fields.spec(value)
    policy = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    limit = 2**31 - 1 if spec.get("backoffLimitPerIndex") is not None else 6
    filled = fill_members(spec, backoffLimit=limit, podReplacementPolicy=policy, manualSelector=False)
    return _job({**value, "spec": filled} if filled is not spec else value, settings)


def _with_template_labels(value: Object, spec: Object, filled_spec: Object) -> Object:
    """The job with `filled_spec` instead of `spec`; a job without labels has those of its template."""
    if filled_spec is not spec:
        value = {**value, "spec": filled_spec}
    labels = fields.metadata(spec.get("template") or {}).get("labels")
    metadata = fields.metadata(value)
    if labels and not metadata.get("labels"):
        value = {**value, "metadata": {**metadata, "labels": labels}}
    return value


# --- autoscaling --------------------------------------------------------------------------------

#: Annotation with the non-CPU metrics of v1.
METRICS_ANNOTATION: Final = "autoscaling.alpha.{long}.io/metrics"
_DEFAULT_UTILIZATION: Final = 80
_POLICY_PODS: Final = {"type": "Pods", "value": 4, "periodSeconds": 15}
_POLICY_ALL: Final = {"type": "Percent", "value": 100, "periodSeconds": 15}


def _autoscaler_v1(value: Object, settings: ObjectSettings) -> Object:
    spec = fields.spec(value)
    annotations = fields.annotations_of(value)
    if spec.get("targetCPUUtilizationPercentage") is not None:
        return value
    if settings.dialect(METRICS_ANNOTATION) in annotations:
        return value
    return {**value, "spec": {**spec, "targetCPUUtilizationPercentage": _DEFAULT_UTILIZATION}}


def _autoscaler_v2beta1(value: Object, settings: ObjectSettings) -> Object:
    if value.get("metrics"):
        return value
    resource = {"name": "cpu", "targetAverageUtilization": _DEFAULT_UTILIZATION}
    return {**value, "metrics": [{"type": "Resource", "resource": resource}]}


def _autoscaler_v2(value: Object, settings: ObjectSettings) -> Object:
    if not value.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _DEFAULT_UTILIZATION}
        value = {**value, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}
    behavior = value.get("behavior")
    if behavior is not None:
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [_POLICY_PODS, _POLICY_ALL]}
        down = {"selectPolicy": "Max", "policies": [_POLICY_ALL]}
        full = {
            "scaleUp": {**up, **(behavior.get("scaleUp") or {})},
            "scaleDown": {**down, **(behavior.get("scaleDown") or {})},
        }
        if full != behavior:
            value = {**value, "behavior": full}
    return value


#: Annotation with the template generation of a DaemonSet, which the server counts.
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def _daemon_set(value: Object, settings: ObjectSettings) -> Object:
    metadata = fields.metadata(value)
    annotations = metadata.get("annotations") or {}
    if TEMPLATE_GENERATION in annotations:
        _check_number(annotations[TEMPLATE_GENERATION])
        return value
    return {**value, "metadata": {**metadata, "annotations": {**annotations, TEMPLATE_GENERATION: "0"}}}


def _device_request(value: Object, settings: ObjectSettings) -> Object:
    value = fill_members(value, allocationMode="ExactCount")
    return value if value["allocationMode"] != "ExactCount" or value.get("count") else {**value, "count": 1}


def _condition_pattern(value: Object, settings: ObjectSettings) -> Object:
    return fill_members(value, status="True")


RULES: Final[dict[str, Rule]] = {
    "apps/v1.DaemonSet": _daemon_set,
    "apps/v1.DaemonSetUpdateStrategy": _daemon_set_strategy,
    "apps/v1.DeploymentStrategy": _deployment_strategy,
    "apps/v1.StatefulSetSpec": _stateful_set_spec,
    "apps/v1.StatefulSetUpdateStrategy": _stateful_set_strategy,
    "autoscaling/v1.HorizontalPodAutoscaler": _autoscaler_v1,
    "autoscaling/v2.HorizontalPodAutoscalerSpec": _autoscaler_v2,
    "autoscaling/v2beta1.HorizontalPodAutoscalerSpec": _autoscaler_v2beta1,
    "autoscaling/v2beta2.HorizontalPodAutoscalerSpec": _autoscaler_v2,
    "resource/v1.DeviceSubRequest": _device_request,
    "resource/v1.ExactDeviceRequest": _device_request,
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": _condition_pattern,
    "batch/v1.Job": by_release(_job, ("1.29", _job_with_policies)),
}


def _check_number(text: str) -> None:
    """Raise ShapeError for a text that is not a 64-bit integer, as decoding of the corresponding member would."""
    if not _WHOLE_NUMBER.fullmatch(text):
        raise ShapeError(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise ShapeError(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
