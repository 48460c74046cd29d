"""Cells of workloads, autoscalers and disruption budgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchd.kinds import fields
from orchd.kinds.conditions import is_true
from orchd.kinds.objects.scalars import canonical_quantity
from orchd.kinds.objects.tabulate.ages import between
from orchd.kinds.objects.tabulate.text import (
    EMPTY,
    NONE,
    UNSET,
    Cells,
    Json,
    Printing,
    age_of,
    containers,
    labels,
    optional_bool,
    selector,
)


def _parts(o: Json) -> tuple[Json, Json, Json]:
    return o["metadata"], fields.spec(o), fields.status(o)


def deployment(o: Json, x: Printing) -> Cells:
    metadata, spec, status = _parts(o)
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    return [
        metadata["name"],
        ready,
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        age_of(o, x),
        *containers(spec["template"]),
        selector(spec.get("selector")),
    ]


def _replicas(spell: Callable[[Json | None], str]) -> Callable[[Json, Printing], Cells]:
    """The cells of a kind with replicas, whose selector `spell` prints."""

    def cells(o: Json, x: Printing) -> Cells:
        metadata, spec, status = _parts(o)
        return [
            metadata["name"],
            spec.get("replicas") or 0,
            status.get("replicas") or 0,
            status.get("readyReplicas") or 0,
            age_of(o, x),
            *containers(spec.get("template") or EMPTY),
            spell(spec.get("selector")),
        ]

    return cells


replica_set = _replicas(selector)
replication_controller = _replicas(labels)


def scale(o: Json, x: Printing) -> Cells:
    metadata, spec, status = _parts(o)
    return [metadata["name"], spec.get("replicas") or 0, status.get("replicas") or 0, age_of(o, x)]


def stateful_set(o: Json, x: Printing) -> Cells:
    metadata, spec, status = _parts(o)
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    return [metadata["name"], ready, age_of(o, x), *containers(spec["template"])]


def daemon_set(o: Json, x: Printing) -> Cells:
    metadata, spec, status = _parts(o)
    template = spec["template"]
    return [
        metadata["name"],
        status.get("desiredNumberScheduled") or 0,
        status.get("currentNumberScheduled") or 0,
        status.get("numberReady") or 0,
        status.get("updatedNumberScheduled") or 0,
        status.get("numberAvailable") or 0,
        labels(fields.spec(template).get("nodeSelector")),
        age_of(o, x),
        *containers(template),
        selector(spec.get("selector")),
    ]


def controller_revision(o: Json, x: Printing) -> Cells:
    metadata = o["metadata"]
    controller = NONE
    for owner in fields.owners(o):
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            controller = f"{owner['kind'].lower()}{'.' if group else ''}{group}/{owner['name']}"
    return [metadata["name"], controller, o.get("revision") or 0, age_of(o, x)]


def job(o: Json, x: Printing) -> Cells:
    metadata, spec, status = _parts(o)
    succeeded = status.get("succeeded") or 0
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    if completions is not None:
        done = f"{succeeded}/{completions}"
    elif parallelism > 1:
        done = f"{succeeded}/1 of {parallelism}"
    else:
        done = f"{succeeded}/1"
    start, end = status.get("startTime"), status.get("completionTime")
    duration = "" if not start else between(start, end) if end else x.age(start)
    return [
        metadata["name"],
        _job_status(metadata, status),
        done,
        duration,
        age_of(o, x),
        *containers(spec["template"]),
        selector(spec.get("selector")),
    ]


def _job_status(metadata: Json, status: Json) -> str:
    for name in ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if metadata.get("deletionTimestamp") if name == "Terminating" else is_true(status, name):
            return name
    return "Running"


def cron_job(o: Json, x: Printing) -> Cells:
    metadata, spec, status = _parts(o)
    last = status.get("lastScheduleTime")
    inner = fields.spec(spec.get("jobTemplate") or EMPTY)
    return [
        metadata["name"],
        spec.get("schedule") or "",
        spec.get("timeZone") or NONE,
        optional_bool(spec.get("suspend")),
        len(status.get("active") or ()),
        x.age(last) if last else NONE,
        age_of(o, x),
        *containers(inner.get("template") or EMPTY),
        selector(inner.get("selector")),
    ]


def pod_template(o: Json, x: Printing) -> Cells:
    template = o.get("template") or EMPTY
    return [o["metadata"]["name"], *containers(template), labels(fields.metadata(template).get("labels"))]


def disruption_budget(o: Json, x: Printing) -> Cells:
    metadata, spec, status = _parts(o)
    limits = [spec.get(name) for name in ("minAvailable", "maxUnavailable")]
    return [
        metadata["name"],
        *("N/A" if limit is None else str(limit) for limit in limits),
        status.get("disruptionsAllowed") or 0,
        age_of(o, x),
    ]


def autoscaler(o: Json, x: Printing) -> Cells:
    return _autoscaler(o, x, _target)


def autoscaler_with_names(o: Json, x: Printing) -> Cells:
    """As `autoscaler`; targets of resources begin with the resource."""
    return _autoscaler(o, x, _named_target)


def _autoscaler(o: Json, x: Printing, target_text: Callable[[Json, Json], str]) -> Cells:
    metadata, spec, status = _parts(o)
    target = spec["scaleTargetRef"]
    least = spec.get("minReplicas")
    metrics = _targets(spec.get("metrics") or [], status.get("currentMetrics") or [], target_text)
    return [
        metadata["name"],
        f"{target['kind']}/{target['name']}",
        metrics,
        UNSET if least is None else str(least),
        spec.get("maxReplicas") or 0,
        status.get("currentReplicas") or 0,
        age_of(o, x),
    ]


def _targets(metrics: list[Json], current: list[Json], text_of: Callable[[Json, Json], str]) -> str:
    if not metrics:
        return NONE
    texts = [text_of(metric, current[i] if i < len(current) else EMPTY) for i, metric in enumerate(metrics[:2])]
    text = ", ".join(texts)
    return f"{text} + {len(metrics) - 2} more..." if len(metrics) > 2 else text


_SOURCES: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _named_target(metric: Json, status: Json) -> str:
    text, name = _target(metric, status), _SOURCES.get(metric.get("type") or "", "")
    return f"{metric[name]['name']}: {text}" if name in ("resource", "containerResource") else text


def _target(metric: Json, status: Json) -> str:
    name = _SOURCES.get(metric.get("type") or "")
    if name is None:
        return "<unknown type>"
    want = (metric.get(name) or EMPTY).get("target") or EMPTY
    have = (status.get(name) or EMPTY).get("current") or EMPTY
    if "averageValue" in want or name == "pods":
        # Averages of metrics that are not per pod are marked.
        suffix = " (avg)" if name in ("external", "object") else ""
        return f"{_amount(have, 'averageValue')}/{_amount(want, 'averageValue')}{suffix}"
    if name in ("external", "object"):
        return f"{_amount(have, 'value')}/{_amount(want, 'value')}"
    percent = have.get("averageUtilization")
    now = "<unknown>" if percent is None else f"{percent}%"
    goal = want.get("averageUtilization")
    return f"{now}/{'<auto>' if goal is None else f'{goal}%'}"


def _amount(source: Json, name: str) -> str:
    value = source.get(name)
    return "<unknown>" if value is None else canonical_quantity(value)
