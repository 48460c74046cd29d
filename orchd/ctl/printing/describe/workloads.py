"""Descriptions of pods and of the workloads that make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.ctl.printing.describe.related import Related, controls
from orchd.ctl.printing.describe.sheet import Sheet, controller, moment
from orchd.ctl.printing.describe.templates import (
    containers,
    placement,
    pod_template,
    resources,
    seccomp,
    spread,
    volumes,
)
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import between
from orchd.kinds.objects.tabulate.text import NONE, UNSET, labels, optional_bool, selector

#: Length after which a list of indexes is cut at its next comma.
_INDEXES: Final = 50


async def pod(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata, spec, status = obj["metadata"], fields.spec(obj), fields.status(obj)
    sheet.row("Name", metadata["name"])
    sheet.row("Namespace", metadata["namespace"])
    names = {
        "priority": "Priority",
        "priorityClassName": "Priority Class Name",
        "runtimeClassName": "Runtime Class Name",
    }
    sheet.rows(spec, {**names, "serviceAccountName": "Service Account"})
    sheet.row("Node", f"{spec['nodeName']}/{status.get('hostIP', '')}" if spec.get("nodeName") else NONE)
    if status.get("startTime"):
        sheet.row("Start Time", moment(status["startTime"]))
    sheet.labels("Labels", metadata.get("labels"))
    sheet.annotations(metadata.get("annotations"))
    if metadata.get("deletionTimestamp") and status.get("phase") not in ("Failed", "Succeeded"):
        sheet.row("Status", f"Terminating (lasts {related.age(metadata['deletionTimestamp'])})")
        sheet.row("Termination Grace Period", f"{metadata.get('deletionGracePeriodSeconds', 0)}s")
    else:
        sheet.row("Status", status.get("phase", ""))
    sheet.rows(status, {"reason": "Reason", "message": "Message"})
    seccomp(sheet, fields.mapping(spec, "securityContext", "seccompProfile"))
    sheet.row("IP", status.get("podIP", ""))
    sheet.line("IPs:" + ("" if status.get("podIPs") else f"\t{NONE}"))
    for each in status.get("podIPs") or ():
        sheet.row("IP", each.get("ip", ""), 1)
    if controller(obj):
        sheet.row("Controlled By", controller(obj))
    sheet.rows(status, {"nominatedNodeName": "NominatedNodeName"})
    if spec.get("resources") is not None:
        sheet.line("Resources:")
        resources(sheet, spec["resources"], 1)
    for title, key, states in (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
        ("Ephemeral Containers", "ephemeralContainers", "ephemeralContainerStatuses"),
    ):
        if spec.get(key) or key == "containers":
            containers(sheet, title, spec.get(key) or [], status.get(states) or (), pod=obj)
    _pod_conditions(sheet, spec, status)
    volumes(sheet, spec.get("volumes") or [])
    sheet.row("QoS Class", status.get("qosClass") or "BestEffort")
    placement(sheet, spec)
    spread(sheet, spec.get("topologySpreadConstraints") or [])


def _pod_conditions(sheet: Sheet, spec: Object, status: Object) -> None:
    states = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    gates = [each.get("conditionType") for each in spec.get("readinessGates") or ()]
    for title, types in (("Readiness Gates", gates), ("Conditions", list(states))):
        if types:
            sheet.line(f"{title}:\n  Type\tStatus")
            for each in types:
                sheet.line(f"{each} \t{states.get(each, NONE)} ", 1)


def _conditions(sheet: Sheet, obj: Object) -> None:
    conditions = fields.status(obj).get("conditions") or ()
    if conditions:
        sheet.line("Conditions:")
        sheet.table(
            ("Type", "Status", "Reason"),
            ([f"{each.get('type')} ", each.get("status", ""), each.get("reason", "")] for each in conditions),
        )


async def deployment(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata, spec, status = obj["metadata"], fields.spec(obj), fields.status(obj)
    sheet.head(obj, f"CreationTimestamp:\t{moment(metadata.get('creationTimestamp'))}")
    sheet.row("Selector", selector(spec.get("selector")))
    counts = {"updatedReplicas": "updated", "replicas": "total", "availableReplicas": "available"}
    counts["unavailableReplicas"] = "unavailable"
    counted = [f"{spec.get('replicas', 1)} desired", *(f"{status.get(key, 0)} {text}" for key, text in counts.items())]
    sheet.row("Replicas", " | ".join(counted))
    sheet.row("StrategyType", fields.mapping(spec, "strategy").get("type", ""))
    sheet.row("MinReadySeconds", spec.get("minReadySeconds", 0))
    rolling = fields.mapping(spec, "strategy", "rollingUpdate")
    if rolling:
        parts = f"{rolling.get('maxUnavailable')} max unavailable, {rolling.get('maxSurge')} max surge"
        sheet.row("RollingUpdateStrategy", parts)
    pod_template(sheet, spec.get("template"))
    _conditions(sheet, obj)
    query = {"labelSelector": selector(spec.get("selector"))}
    try:
        sets = await related.list("replicasets.apps", metadata["namespace"], query)
    except ApiError:
        return
    own = sorted(
        (each for each in sets if controls(obj, each)),
        key=lambda each: (each["metadata"].get("creationTimestamp") or "", each["metadata"]["name"]),
    )
    current = next((each for each in own if _template(each) == _template(obj)), None)
    if own:
        sheet.row("OldReplicaSets", _replica_sets([each for each in own if each is not current]))
        sheet.row("NewReplicaSet", _replica_sets([current] if current else []))


def _template(obj: Object) -> Object:
    """The pod template without the label that differs between replica sets."""
    template: Object = fields.spec(obj).get("template") or {}
    metadata = fields.metadata(template)
    kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key != "pod-template-hash"}
    return {**template, "metadata": {**metadata, "labels": kept}}


def _replica_sets(sets: Sequence[Object]) -> str:
    texts = (
        f"{each['metadata']['name']} ({fields.status(each).get('replicas', 0)}/{each['spec'].get('replicas', 1)}"
        " replicas created)"
        for each in sets
    )
    return ", ".join(texts) or NONE


async def replica_set(sheet: Sheet, obj: Object, related: Related) -> None:
    """A replica set or replication controller."""
    spec, status = fields.spec(obj), fields.status(obj)
    chosen = spec.get("selector") or {}
    of_sets = chosen.keys() & {"matchLabels", "matchExpressions"}
    sheet.head(obj, f"Selector:\t{selector(chosen) if of_sets else labels(chosen)}")
    if controller(obj):
        sheet.row("Controlled By", controller(obj))
    sheet.row("Replicas", f"{status.get('replicas', 0)} current / {spec.get('replicas', 1)} desired")
    sheet.row("Pods Status", await related.pods_status(obj))
    pod_template(sheet, spec.get("template"))
    _conditions(sheet, obj)


async def stateful_set(sheet: Sheet, obj: Object, related: Related) -> None:
    spec, status = fields.spec(obj), fields.status(obj)
    created = f"CreationTimestamp:\t{moment(obj['metadata'].get('creationTimestamp'))}"
    sheet.head(obj, created, f"Selector:\t{selector(spec.get('selector'))}")
    sheet.row("Replicas", f"{spec.get('replicas', 1)} desired | {status.get('replicas', 0)} total")
    strategy = fields.mapping(spec, "updateStrategy")
    sheet.row("Update Strategy", strategy.get("type", ""))
    rolling = fields.mapping(strategy, "rollingUpdate")
    if rolling.get("partition") is not None:
        sheet.rows(rolling, {"partition": "Partition", "maxUnavailable": "MaxUnavailable"}, 1)
    sheet.row("Pods Status", await related.pods_status(obj))
    pod_template(sheet, spec.get("template"))
    claims = spec.get("volumeClaimTemplates") or ()
    sheet.line("Volume Claims:" + ("" if claims else f"\t{NONE}"))
    for each in claims:
        metadata = each["metadata"]
        sheet.row("Name", metadata.get("name", ""), 1)
        sheet.row("StorageClass", fields.spec(each).get("storageClassName", ""), 1)
        sheet.labels("  Labels", metadata.get("labels"))
        sheet.labels("  Annotations", metadata.get("annotations"))
        sheet.row("Capacity", fields.mapping(each, "spec", "resources", "requests").get("storage", "<default>"), 1)
        sheet.row("Access Modes", fields.spec(each).get("accessModes") or [], 1)


async def daemon_set(sheet: Sheet, obj: Object, related: Related) -> None:
    spec, status = fields.spec(obj), fields.status(obj)
    on = labels(fields.mapping(spec, "template", "spec").get("nodeSelector"))
    sheet.head(obj, f"Selector:\t{selector(spec.get('selector'))}", f"Node-Selector:\t{on}")
    for key, title in (
        ("desiredNumberScheduled", "Desired Number of Nodes Scheduled"),
        ("currentNumberScheduled", "Current Number of Nodes Scheduled"),
        ("updatedNumberScheduled", "Number of Nodes Scheduled with Up-to-date Pods"),
        ("numberAvailable", "Number of Nodes Scheduled with Available Pods"),
        ("numberMisscheduled", "Number of Nodes Misscheduled"),
    ):
        sheet.line(f"{title}: {status.get(key, 0)}")
    sheet.row("Pods Status", await related.pods_status(obj))
    pod_template(sheet, spec.get("template"))


async def job(sheet: Sheet, obj: Object, related: Related) -> None:
    spec, status = fields.spec(obj), fields.status(obj)
    sheet.head(obj, f"Selector:\t{selector(spec.get('selector'))}")
    if controller(obj):
        sheet.row("Controlled By", controller(obj))
    sheet.rows(spec, {"parallelism": "Parallelism"})
    sheet.row("Completions", spec.get("completions", UNSET))
    sheet.rows(spec, {"completionMode": "Completion Mode", "suspend": "Suspend", "backoffLimit": "Backoff Limit"})
    sheet.rows(spec, {"ttlSecondsAfterFinished": "TTL Seconds After Finished"})
    started, completed = status.get("startTime"), status.get("completionTime")
    for title, time in (("Start Time", started), ("Completed At", completed)):
        if time:
            sheet.row(title, moment(time))
    if started and completed:
        sheet.row("Duration", between(started, completed))
    if spec.get("activeDeadlineSeconds") is not None:
        sheet.row("Active Deadline Seconds", f"{spec['activeDeadlineSeconds']}s")
    ready = "" if status.get("ready") is None else f" ({status['ready']} Ready)"
    counts = f"{status.get('active', 0)} Active{ready} / {status.get('succeeded', 0)} Succeeded"
    sheet.row("Pods Statuses", f"{counts} / {status.get('failed', 0)} Failed")
    if spec.get("completionMode") == "Indexed":
        sheet.row("Completed Indexes", _indexes(status.get("completedIndexes") or NONE))
    pod_template(sheet, spec.get("template"))


def _indexes(text: str) -> str:
    comma = text.find(",", _INDEXES)
    return text if comma < 0 else f"{text[: comma + 1]}..."


async def cron_job(sheet: Sheet, obj: Object, related: Related) -> None:
    spec, status = fields.spec(obj), fields.status(obj)
    sheet.head(obj)
    sheet.row("Schedule", spec.get("schedule", ""))
    sheet.row("Concurrency Policy", spec.get("concurrencyPolicy", ""))
    sheet.row("Suspend", optional_bool(spec.get("suspend")))
    sheet.row("Successful Job History Limit", spec.get("successfulJobsHistoryLimit", UNSET))
    sheet.row("Failed Job History Limit", spec.get("failedJobsHistoryLimit", UNSET))
    deadline = spec.get("startingDeadlineSeconds")
    sheet.row("Starting Deadline Seconds", UNSET if deadline is None else f"{deadline}s")
    job = fields.mapping(spec, "jobTemplate", "spec")
    sheet.row("Selector", selector(job["selector"]) if job.get("selector") else UNSET)
    sheet.row("Parallelism", job.get("parallelism", UNSET))
    sheet.row("Completions", job.get("completions", UNSET))
    if job.get("activeDeadlineSeconds") is not None:
        sheet.row("Active Deadline Seconds", f"{job['activeDeadlineSeconds']}s")
    pod_template(sheet, job.get("template"))
    last = status.get("lastScheduleTime")
    sheet.row("Last Schedule Time", moment(last) if last else UNSET)
    sheet.row("Active Jobs", ", ".join(each["name"] for each in status.get("active") or ()) or NONE)
