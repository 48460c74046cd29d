"""Validation of deployments, replica sets, daemon sets, stateful sets, controller revisions and replication
controllers."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.digits import integer
from orchd.kinds.gotext import differences
from orchd.kinds.gotext.structs import dump, nil_pointer
from orchd.kinds.gotext.values import GoText
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded, since, until
from orchd.kinds.objects.validate import meta, workloads
from orchd.kinds.objects.validate.core import claims, podannotations, pods
from orchd.kinds.objects.validate.core.field_rules import is_label
from orchd.kinds.objects.validate.names import dns_label_name, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import is_empty, label_selector, labels, usable
from orchd.kinds.objects.validate.workloads import nonnegative, shown_selector
from orchd.kinds.verbatim import text_of

_TEMPLATE: Final = SPEC / "template"
#: Annotation with the revision of a requested rollback, a field of an older version.
_ROLLBACK: Final = "deprecated.deployment.rollback.revision"
_NEGATIVE: Final = re.compile("-0*[1-9][0-9]*").fullmatch
_STATEFUL: Final = "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy'"
_CHANGEABLE: Final = {
    True: reworded(
        f"{_STATEFUL}, 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        (
            "1.34",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
    ),
    False: f"{_STATEFUL} and 'persistentVolumeClaimRetentionPolicy' are forbidden",
}
_RETENTION: Final = ("Retain", "Delete")
_STATEFUL_CHANGEABLE: Final = ("replicas", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy")


def _metadata(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)


def _set_name(value: Object, report: Report) -> None:
    """The name of a stateful set is part of the host names of its pods."""
    meta.create(value, report, namespaced=True, name_rule=dns_label_name)


_stateful_set_metadata = by_release(_metadata, ("1.27", _set_name))


def _same_selector(value: Object, old: Object, report: Report) -> None:
    new, before = fields.spec(value).get("selector"), fields.spec(old).get("selector")
    if new != before:
        report.invalid(SPEC / "selector", shown_selector(new), "field is immutable")


def create_deployment(value: Object, report: Report) -> None:
    _metadata(value, report)
    _deployment(value, report)


def _deployment(value: Object, report: Report) -> None:
    spec, annotations = fields.spec(value), fields.annotations_of(value)
    rollback: str = annotations.get(_ROLLBACK) or ""
    nonnegative(spec, ("replicas",), SPEC, report)
    chosen = spec.get("selector")
    workloads.selector(chosen, "deployment", SPEC / "selector", report)
    if usable(chosen):
        workloads.template(spec.get("template"), chosen, "ReplicaSet", _TEMPLATE, report, replicas=spec.get("replicas"))
    else:
        report.invalid(SPEC / "selector", shown_selector(chosen), "invalid label selector")
    _deployment_strategy(spec.get("strategy") or {}, SPEC / "strategy", report)
    nonnegative(spec, ("minReadySeconds", "revisionHistoryLimit"), SPEC, report)
    if _NEGATIVE(rollback):
        report.nonnegative(SPEC / "rollback" / "version", integer(rollback))
    nonnegative(spec, ("progressDeadlineSeconds",), SPEC, report)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        report.invalid(SPEC / "progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _deployment_strategy(strategy: Object, at: Path, report: Report) -> None:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            report.forbidden(at / "rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    elif kind == "RollingUpdate":
        at = at / "rollingUpdate"
        if rolling is None:
            report.required(at, "this should be defaulted and never be nil")
            return
        unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
        workloads.int_or_percent(unavailable, at / "maxUnavailable", report)
        workloads.int_or_percent(surge, at / "maxSurge", report)
        if not workloads.number_of(unavailable) and not workloads.number_of(surge):
            rendered = dump("intstr.IntOrString", unavailable)
            report.invalid(at / "maxUnavailable", rendered, "may not be 0 when `maxSurge` is 0")
        workloads.at_most_all(unavailable, at / "maxUnavailable", report)
    else:
        report.unsupported(at, dump("apps.DeploymentStrategy", strategy), ("Recreate", "RollingUpdate"))


def update_deployment(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _deployment(value, report)
    _same_selector(value, old, report)


def update_deployment_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    status = fields.status(value)
    nonnegative(
        status,
        (
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "collisionCount",
            "terminatingReplicas",
        ),
        STATUS,
        report,
    )
    workloads.at_most_replicas(status, ("updatedReplicas", "readyReplicas", "availableReplicas"), STATUS, report)
    _available(status, report)
    workloads.collisions(status, fields.status(old), STATUS, report)


_UNREADY: Final = "cannot be greater than readyReplicas"


def _available(status: Object, report: Report, why: str = _UNREADY) -> None:
    if (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        report.invalid(STATUS / "availableReplicas", status.get("availableReplicas") or 0, why)


def create_replica_set(value: Object, report: Report) -> None:
    _metadata(value, report)
    _replica_set(fields.spec(value), report)


def _replica_set(spec: Object, report: Report) -> None:
    nonnegative(spec, ("replicas", "minReadySeconds"), SPEC, report)
    chosen = spec.get("selector")
    workloads.selector(chosen, "deployment", SPEC / "selector", report)
    if usable(chosen):
        workloads.template(spec.get("template"), chosen, "ReplicaSet", _TEMPLATE, report, replicas=spec.get("replicas"))
    else:
        report.invalid(SPEC / "selector", shown_selector(chosen), "invalid label selector")


#: The reference once validated twice, and reported every error twice.
_replica_set_as_new = until("1.28", create_replica_set)


def update_replica_set(value: Object, old: Object, report: Report) -> None:
    _replica_set_as_new(value, report)
    meta.update(value, old, report)
    _replica_set(fields.spec(value), report)
    _same_selector(value, old, report)


def update_replica_set_status(value: Object, old: Object, report: Report) -> None:
    """The rules for replica sets and replication controllers."""
    meta.update(value, old, report)
    status = fields.status(value)
    members = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
    nonnegative(status, (*members, "terminatingReplicas"), STATUS, report)
    workloads.at_most_replicas(status, members[1:4], STATUS, report)
    _available(status, report)


def create_replication_controller(value: Object, report: Report) -> None:
    _metadata(value, report)
    _replication_controller(fields.spec(value), report)


def _replication_controller(spec: Object, report: Report) -> None:
    nonnegative(spec, ("minReadySeconds",), SPEC, report)
    chosen, body = spec.get("selector"), spec.get("template")
    if not chosen:
        report.required(SPEC / "selector")
    nonnegative(spec, ("replicas",), SPEC, report)
    if body is None:
        report.required(_TEMPLATE)
    else:
        selector = {"matchLabels": chosen or {}}
        workloads.template(body, selector, "ReplicationController", _TEMPLATE, report, replicas=spec.get("replicas"))


_controller_as_new = until("1.28", create_replication_controller)


def update_replication_controller(value: Object, old: Object, report: Report) -> None:
    _controller_as_new(value, report)
    meta.update(value, old, report)
    _replication_controller(fields.spec(value), report)


def create_daemon_set(value: Object, report: Report) -> None:
    _metadata(value, report)
    _daemon_set(fields.spec(value), report)


def _daemon_set(spec: Object, report: Report) -> None:
    chosen, body = spec.get("selector"), spec.get("template") or {}
    label_selector(chosen, SPEC / "selector", report)
    if usable(chosen):
        workloads.agrees(chosen, body, _TEMPLATE, report)
    if chosen is not None and is_empty(chosen):
        report.invalid(SPEC / "selector", shown_selector(chosen), "empty selector is invalid for daemonset")
    pods.template(body, _TEMPLATE, report)
    workloads.read_only_disks(body, _TEMPLATE, report)
    workloads.restarts_always(body, "DaemonSet", _TEMPLATE, report)
    nonnegative(spec, ("templateGeneration", "minReadySeconds"), SPEC, report)
    _daemon_strategy(spec.get("updateStrategy") or {}, SPEC / "updateStrategy", report)
    nonnegative(spec, ("revisionHistoryLimit",), SPEC, report)


def _daemon_strategy(strategy: Object, at: Path, report: Report) -> None:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        report.unsupported(at, dump("apps.DaemonSetUpdateStrategy", strategy), ("RollingUpdate", "OnDelete"))
        return
    at = at / "rollingUpdate"
    if rolling is None:
        report.required(at)
        return
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    if not report.settings.feature("DaemonSetUpdateSurge"):
        workloads.int_or_percent(unavailable, at / "maxUnavailable", report)
        if not workloads.number_of(unavailable):
            report.invalid(at / "maxUnavailable", dump("intstr.IntOrString", unavailable), "cannot be 0")
        workloads.at_most_all(unavailable, at / "maxUnavailable", report)
        return
    for rule in (workloads.int_or_percent, workloads.at_most_all):
        rule(unavailable, at / "maxUnavailable", report)
        rule(surge, at / "maxSurge", report)
    if workloads.number_of(unavailable):
        if workloads.number_of(surge):
            rendered = dump("intstr.IntOrString", surge)
            report.invalid(at / "maxSurge", rendered, "may not be set when maxUnavailable is non-zero")
    elif not workloads.number_of(surge):
        report.required(at / "maxUnavailable", "cannot be 0 when maxSurge is 0")


def _update_daemon_set_twice(value: Object, old: Object, report: Report) -> None:
    create_daemon_set(value, report)
    meta.update(value, old, report)
    _daemon_set(fields.spec(value), report)
    _same_selector(value, old, report)


def _update_daemon_set_once(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _same_selector(value, old, report)
    _daemon_set(fields.spec(value), report)


update_daemon_set = by_release(_update_daemon_set_twice, ("1.28", _update_daemon_set_once))


def update_daemon_set_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    status = fields.status(value)
    nonnegative(
        status,
        (
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
            "terminatingReplicas",
        ),
        STATUS,
        report,
    )
    workloads.collisions(status, fields.status(old), STATUS, report)


def create_stateful_set(value: Object, report: Report) -> None:
    _stateful_set_metadata(value, report)
    spec = fields.spec(value)
    _stateful_set_head(spec, report)
    _claim_templates(spec, report)
    _stateful_set_counts(spec, report)
    if spec.get("serviceName"):
        _service_name(spec["serviceName"], SPEC / "serviceName", report)
    _stateful_set_selector(spec, report)


def _stateful_set_head(spec: Object, report: Report) -> None:
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        report.required(SPEC / "podManagementPolicy")
    elif policy not in ("OrderedReady", "Parallel"):
        report.invalid(SPEC / "podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    _stateful_strategy(spec.get("updateStrategy") or {}, SPEC / "updateStrategy", report)
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None and report.settings.feature("StatefulSetAutoDeletePVC"):
        for member in ("whenDeleted", "whenScaled"):
            if retention.get(member) not in _RETENTION:
                at = SPEC / "persistentVolumeClaimRetentionPolicy" / member
                report.unsupported(at, retention.get(member) or "", _RETENTION)


def _claims_of_templates(spec: Object, report: Report) -> None:
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        claims.spec(fields.spec(claim), (SPEC / "volumeClaimTemplates")[i] / "spec", report)


_claim_templates = since("1.34", _claims_of_templates)


def _stateful_set_counts(spec: Object, report: Report) -> None:
    nonnegative(spec, _stateful_counts(report), SPEC, report)
    nonnegative(spec.get("ordinals") or {}, ("start",), SPEC / "ordinals", report)


def _stateful_set_selector(spec: Object, report: Report, *, with_pods: bool = True) -> None:
    """Validate selector and template. `with_pods`: in releases that validate the pod spec before there are pods, do
    it."""
    chosen, body = spec.get("selector"), spec.get("template") or {}
    workloads.selector(chosen, "statefulset", SPEC / "selector", report)
    if usable(chosen):
        if chosen is None or not is_empty(chosen):
            workloads.agrees(chosen, body, _TEMPLATE, report)
        if with_pods:
            _pods_of_claims(spec, report)
        metadata = fields.metadata(body)
        labels(metadata.get("labels"), _TEMPLATE / "labels", report)
        meta.annotation_rules(metadata.get("annotations") or {}, _TEMPLATE / "annotations", report)
        annotations = metadata.get("annotations") or {}
        podannotations.annotation_rules(annotations, fields.spec(body), _TEMPLATE / "annotations", report)
    else:
        report.invalid(SPEC / "selector", shown_selector(chosen), "")
    workloads.restarts_always(body, "StatefulSet", _TEMPLATE, report)


def _pods_with_claims(spec: Object, report: Report) -> None:
    """Validate the template as the pods will be: each claim is a volume, and names of hosts are set by the
    controller."""
    body = spec.get("template") or {}
    pod = {name: value for name, value in fields.spec(body).items() if name not in ("hostname", "subdomain")}
    claims = spec.get("volumeClaimTemplates") or ()
    names = dict.fromkeys(fields.metadata(claim).get("name") or "" for claim in claims)
    if names:
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        pod["volumes"] = [*volumes, *(v for v in pod.get("volumes") or () if (v.get("name") or "") not in names)]
    pods.template({**body, "spec": pod}, _TEMPLATE, report)


#: Other releases validate the pod spec when pods are created: only then do claims become volumes.
_pods_of_claims = since("1.34", _pods_with_claims)
_service_name = since("1.34", is_label)


def _stateful_counts(report: Report) -> tuple[str, ...]:
    return ("replicas", "minReadySeconds") if report.settings.feature("StatefulSetMinReadySeconds") else ("replicas",)


def _stateful_strategy(strategy: Object, at: Path, report: Report) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if not kind:
        report.required(at)
    elif kind == "OnDelete":
        if rolling is not None:
            rendered = dump("apps.RollingUpdateStatefulSetStrategy", rolling)
            report.invalid(at / "rollingUpdate", rendered, "only allowed for updateStrategy 'RollingUpdate'")
    elif kind == "RollingUpdate":
        nonnegative(rolling or {}, ("partition",), at / "rollingUpdate", report)
    else:
        rendered = dump("apps.StatefulSetUpdateStrategy", strategy)
        report.invalid(at, rendered, "must be 'RollingUpdate' or 'OnDelete'")


def _nothing_besides(report: Report) -> tuple[str, ...]:
    return ()


def _ordinals_and_history(report: Report) -> tuple[str, ...]:
    return ("ordinals", "revisionHistoryLimit")


_changeable_besides = by_release(_nothing_besides, ("1.34", _ordinals_and_history))


def _stateful_set_as_new(value: Object, old: Object, report: Report) -> None:
    create_stateful_set(value, report)
    meta.update(value, old, report)


def _stateful_set_changed(value: Object, old: Object, report: Report) -> None:
    """The rules of a change. A template that was invalid before it may stay so, as may what cannot change."""
    meta.update(value, old, report)
    former = Report(report.settings)
    for spec, into in ((fields.spec(old), former), (fields.spec(value), report)):
        _stateful_set_head(spec, into)
        _stateful_set_counts(spec, into)
        _stateful_set_selector(spec, into, with_pods=not former.causes)


_stateful_set_update = by_release(_stateful_set_as_new, ("1.34", _stateful_set_changed))


def update_stateful_set(value: Object, old: Object, report: Report) -> None:
    _stateful_set_update(value, old, report)
    new, before = fields.spec(value), fields.spec(old)
    waits = report.settings.feature("StatefulSetMinReadySeconds")
    changeable = (*_STATEFUL_CHANGEABLE, "minReadySeconds") if waits else _STATEFUL_CHANGEABLE
    kept = {*new, *before}.difference(changeable, _changeable_besides(report))
    if any(not differences.same(new.get(member), before.get(member)) for member in kept):
        report.forbidden(SPEC, _CHANGEABLE[waits])
    _counts_again(new, report)


def _stateful_counts_again(spec: Object, report: Report) -> None:
    nonnegative(spec, _stateful_counts(report), SPEC, report)


_counts_again = until("1.34", _stateful_counts_again)


def update_stateful_set_status(value: Object, old: Object, report: Report) -> None:
    status = fields.status(value)
    waits = report.settings.feature("StatefulSetMinReadySeconds")
    members: tuple[str, ...] = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas")
    members = (*members, "availableReplicas") if waits else members
    nonnegative(status, (*members, "observedGeneration", "collisionCount"), STATUS, report)
    workloads.at_most_replicas(status, members[1:], STATUS, report)
    if waits:
        _available(status, report, reworded(_UNREADY, ("1.35", "cannot be greater than status.readyReplicas")))
    meta.update(value, old, report)
    workloads.collisions(status, fields.status(old), STATUS, report)


def create_controller_revision(value: Object, report: Report) -> None:
    _metadata(value, report)
    _revision(value, report)


def update_controller_revision(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _changed_revision(value, report)
    if text_of(value.get("data")) != text_of(old.get("data")):
        report.invalid(root("data"), _unknown(value.get("data")), "field is immutable")


def _revision_of_any_data(value: Object, report: Report) -> None:
    """Data may be any JSON value but null."""
    if value.get("data") is None:
        report.required(root("data"), "data is mandatory")
    report.nonnegative(root("revision"), value.get("revision"))


def _revision_of_object(value: Object, report: Report) -> None:
    report.nonnegative(root("revision"), value.get("revision"))
    if value.get("data") is None:
        report.required(root("data"), "data is mandatory")
    elif not text_of(value["data"]).lstrip().startswith(b"{"):
        report.required(root("data"), "data must be a valid JSON object")


_revision = by_release(_revision_of_any_data, ("1.34", _revision_of_object))


def _revision_number(value: Object, report: Report) -> None:
    """Validate the changed revision without its data, which cannot change."""
    _metadata(value, report)
    report.nonnegative(root("revision"), value.get("revision"))


_changed_revision = by_release(create_controller_revision, ("1.34", _revision_number))


def _unknown(data: Any) -> GoText:
    """Data as messages print it: the bytes of its JSON."""
    if data is None:
        return nil_pointer()
    octets = ", ".join(f"{byte:#x}" for byte in text_of(data))
    printed = (
        f'runtime.Unknown{{TypeMeta:runtime.TypeMeta{{APIVersion:"", Kind:""}}, Raw:[]uint8{{{octets}}}, ContentEncoding:"", '
        'ContentType:"application/json"}'
    )
    return dump("runtime.RawExtension", json.loads(text_of(data)), printed)
