"""Pods of controllers: which ones are active, the order of their deletion, and creation from a template."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from twisted.python.failure import Failure

from orchd.controllers.objects import small_number
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition, is_true
from orchd.kinds.fields import annotations_of, deleting, namespace, owner, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of
from orchd.txkit.for_each import side_by_side

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_finished(pod: Mapping[str, Any]) -> bool:
    return status(pod).get("phase") in ("Succeeded", "Failed")


def is_active(pod: Mapping[str, Any]) -> bool:
    """True for a pod that is neither finished nor being deleted."""
    return not is_finished(pod) and not deleting(pod)


def is_ready(pod: Mapping[str, Any]) -> bool:
    return is_true(status(pod), "Ready")


def ready_since(pod: Mapping[str, Any]) -> str | None:
    """The time when the pod became ready, "" if it does not say so; None if it is not ready."""
    ready = find_condition(status(pod), "Ready")
    if ready is None or ready.get("status") != "True":
        return None
    return str(ready.get("lastTransitionTime") or "")


def is_available(pod: Mapping[str, Any], min_ready_seconds: int, now: float) -> bool:
    """True if the pod has been ready for the minimum time."""
    text = ready_since(pod)
    if text is None:
        return False
    if not min_ready_seconds:
        return True
    since = seconds_of(text)
    return since is not None and since + min_ready_seconds <= now


def pod_from_template(template: Mapping[str, Any], name: str, owner: Mapping[str, Any]) -> Object:
    """A new pod of a template, with a name made from `name`, owned by `owner` (an owner reference)."""
    template_metadata = fields.metadata(template)
    metadata: dict[str, Any] = {"generateName": f"{name}-", "ownerReferences": [dict(owner)]}
    for key in ("labels", "annotations", "finalizers"):
        if template_metadata.get(key):
            metadata[key] = template_metadata[key]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec(template)}


def deletion_order(cost_annotation: str, per_node: Mapping[str, int]) -> Callable[[Object], Any]:
    """Sort key of the deletion order. `per_node` counts related pods on each node."""

    def key(pod: Object) -> tuple[Any, ...]:
        urgency, age = deletion_rank(pod, cost_annotation, ready_since(pod))
        return (*urgency, -per_node.get(str(spec(pod).get("nodeName") or ""), 0), *age)

    return key


def deletion_rank(pod: Object, cost_annotation: str, ready: str | None) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The parts of the sort key before and after the number of related pods on the pod's node; `ready` is as in
    `ready_since`."""
    created = seconds_of(pod["metadata"].get("creationTimestamp")) or 0.0
    cost = _cost(annotations_of(pod).get(cost_annotation, ""))
    urgency = (bool(spec(pod).get("nodeName")), _PHASES.get(status(pod).get("phase", ""), 0), ready is not None, cost)
    return urgency, (-(seconds_of(ready) or 0.0), -_restarts(pod), -created)


def _cost(text: str) -> int:
    number = small_number(text.removeprefix("-")) or 0
    return -number if text.startswith("-") else number


def _restarts(pod: Mapping[str, Any]) -> int:
    counts = [int(c.get("restartCount") or 0) for c in status(pod).get("containerStatuses") or ()]
    return max(counts, default=0)


async def slow_start(count: int, make: Callable[[int], Awaitable[Any]]) -> tuple[int, Failure | None]:
    """Call `make` with 0..count-1 in batches of 1, 2, 4 and so on; no further batch after one with a failure.

    A rejection that would meet every object (a quota, an invalid template) then costs one request instead of hundreds.
    Returns the number of successful calls and the first failure.
    """
    done, size, succeeded = 0, 1, 0
    while done < count:
        batch = min(size, count - done)
        results = await side_by_side([make(i) for i in range(done, done + batch)])
        failures = [r for r in results if isinstance(r, Failure)]
        succeeded += batch - len(failures)
        if failures:
            return succeeded, failures[0]
        done += batch
        size *= 2
    return succeeded, None


def group_of(pod: Object, kind: str) -> tuple[str, str] | None:
    """Namespace of a pod and uid of its controller, "" without one; None if the controller is not of `kind`."""
    reference = owner(pod)
    if reference is None:
        return namespace(pod), ""
    return (namespace(pod), str(reference.get("uid", ""))) if reference.get("kind") == kind else None
