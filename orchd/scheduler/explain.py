"""Explanations of scheduling decisions as JSON data.

For a bound pod it is the recorded decision, as long as the history has it; for a pending pod, or one that does not
exist yet, the decision as it would be made now. Explaining changes nothing.
"""

from __future__ import annotations

from typing import Any

from orchd import errors
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.framework.cycle import CycleError, Decision, UnfitError
from orchd.scheduler.framework.refusals import Refusals
from orchd.scheduler.pods import Pod
from orchd.scheduler.remedies import remedy
from orchd.scheduler.service import Scheduler
from orchd.scheduler.values import Code, CycleState

#: Maximum number of nodes for which remedies are computed: that runs on the reactor thread.
_MOST_REMEDIES = 100


async def explain(scheduler: Scheduler, namespace: str, name: str) -> dict[str, Any]:
    """The explanation for an existing pod. Raises ApiError 404 if it does not exist."""
    obj = scheduler.event_handlers.pods.get(namespace, name)
    if obj is None:
        raise errors.not_found("", "pods", name)
    pod = scheduler.templates.pod(obj)
    recorded = scheduler.history.get(pod.uid)
    if recorded is not None and (pod.node_name or scheduler.cluster.is_assumed(pod.uid)):
        return describe(recorded)
    if pod.node_name:
        return {"node": pod.node_name, "feasible": {}, "filtered": {}, "message": "the decision is no longer recorded"}
    return await _decide_now(scheduler, pod, obj)


async def dry_run(scheduler: Scheduler, obj: Object) -> dict[str, Any]:
    """The explanation for a pod that is not created; `obj` has not been validated. Raises ApiError 400 for an invalid
    pod."""
    try:
        pod = scheduler.templates.pod(obj)
    except KeyError as error:
        raise errors.bad_request(f"the pod cannot be read: {error} is missing") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise errors.bad_request(f"the pod cannot be read: {error}") from None
    return await _decide_now(scheduler, pod, obj)


async def _decide_now(scheduler: Scheduler, pod: Pod, obj: Object) -> dict[str, Any]:
    """The explanation of the decision as it would be made now."""
    lane = scheduler.lanes.get(pod.template.scheduler_name or scheduler.default_name)
    if lane is None:
        return {
            "node": "", "feasible": {}, "filtered": {},
            "message": f'no profile of this scheduler is named "{pod.template.scheduler_name}"',
        }  # fmt: skip
    position = scheduler.sampling.position
    try:
        decision = await lane.decider.decide(CycleState(), pod, lambda: obj)
    except UnfitError as unfit:
        return {
            "node": "",
            "feasible": {},
            "filtered": _with_remedies(scheduler, pod, unfit.refusals),
            "message": str(unfit),
            "wouldHelp": _remedies(unfit.refusals),
        }
    except CycleError as error:
        return {"node": "", "feasible": {}, "filtered": {}, "message": str(error)}
    finally:
        # The next search for a real pod starts where the last one stopped.
        scheduler.sampling.position = position
    return describe(decision)


def describe(decision: Decision) -> dict[str, Any]:
    """A decision as the JSON of the explain URL."""
    feasible: dict[str, Any] = {}
    for at, row in enumerate(decision.rows.tolist()):
        entry: dict[str, Any] = {"total": 0 if decision.total is None else int(decision.total[at]), "plugins": {}}
        for each in decision.scores:
            weighted = each.weighted
            entry["plugins"][each.plugin] = weighted if isinstance(weighted, int) else int(weighted[at])
        if decision.extenders:
            entry["extenders"] = [int(scores[at]) for scores in decision.extenders]
        feasible[decision.names[row]] = entry
    filtered = {} if decision.refusals is None else _filtered(decision.names, decision.refusals)
    return {"node": decision.node, "feasible": feasible, "filtered": filtered}


def _filtered(names: tuple[str, ...], refusals: Refusals) -> dict[str, Any]:
    return {
        names[row]: {"plugin": status.plugin, "reasons": list(status.reasons)}
        for row, status in refusals.statuses().items()
    }


def _with_remedies(scheduler: Scheduler, pod: Pod, refusals: Refusals) -> dict[str, Any]:
    """The nodes that were filtered out; the first ones with what would have to change there."""
    filtered = _filtered(scheduler.snapshot.names(), refusals)
    for name in list(filtered)[:_MOST_REMEDIES]:
        row = scheduler.snapshot.row_of(name)
        change = remedy(filtered[name]["plugin"], pod, scheduler.snapshot.node(row)) if row >= 0 else ""
        if change:
            filtered[name]["remedy"] = change
    return filtered


def _remedies(refusals: Refusals) -> list[dict[str, Any]]:
    """Changes that would make nodes feasible, the change for the most nodes first."""
    counts: dict[tuple[str, tuple[str, ...], bool], int] = {}
    for status in refusals.statuses().values():
        key = (status.plugin, status.reasons, status.code is Code.UNSCHEDULABLE)
        counts[key] = counts.get(key, 0) + 1
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [
        {"nodes": nodes, "plugin": plugin, "reasons": list(reasons), "preemptionMayHelp": may}
        for (plugin, reasons, may), nodes in ranked
    ]
