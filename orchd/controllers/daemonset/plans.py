"""Plan of a reconcile of a daemon set: pods to delete and nodes that need a pod. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.controllers.daemonset.template import HASH_LABEL, add_default_tolerations, is_updated
from orchd.controllers.percent import scale_percent
from orchd.controllers.pods import is_available, is_ready
from orchd.dialect import Dialect
from orchd.kinds.fields import deleting, labels, mapping, name, spec, status, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.placement import RequiredAffinity, Tolerations, find_untolerated_taint

ByNode = Mapping[str, list[Object]]


@dataclass(slots=True)
class Plan:
    """Pods to delete, names of nodes that need a pod, and failed pods (deleted with a back-off)."""

    delete: list[Object] = field(default_factory=list)
    create: list[str] = field(default_factory=list)
    failed: list[tuple[str, Object]] = field(default_factory=list)


#: Whether a set may start a pod on a node, and whether an existing one may stay.
Fit = tuple[bool, bool]


class Placement:
    """Placement rules of the pods of one set."""

    def __init__(self, dialect: Dialect, parent: Object) -> None:
        self._pod_spec = add_default_tolerations(dialect, spec(spec(parent)["template"]))
        self._affinity = RequiredAffinity(self._pod_spec)
        self._tolerations = Tolerations(self._pod_spec["tolerations"])

    def fit(self, node: Object) -> Fit:
        """Reads the node's name, labels and taints."""
        pod_spec = self._pod_spec
        if pod_spec.get("nodeName") and pod_spec["nodeName"] != name(node):
            return False, False
        if not self._affinity.fits(node):
            return False, False
        taints = spec(node).get("taints") or ()
        if find_untolerated_taint(taints, self._tolerations, ("NoSchedule", "NoExecute")) is None:
            return True, True
        return False, find_untolerated_taint(taints, self._tolerations, ("NoExecute",)) is None


def oldest_first(pod: Object) -> tuple[Any, ...]:
    """Sort key: pods with a node, then by age."""
    return not spec(pod).get("nodeName"), pod["metadata"].get("creationTimestamp") or "", name(pod)


def _limit(parent: Object, member: str, nodes: int) -> int:
    limits = mapping(spec(parent), "updateStrategy", "rollingUpdate")
    return scale_percent(limits.get(member), nodes, up=True)


def _surges(parent: Object) -> bool:
    limits = mapping(spec(parent), "updateStrategy", "rollingUpdate")
    return _rolling(parent) and scale_percent(limits.get("maxSurge"), 100, up=True) > 0


def without_surge(parent: Object) -> Object:
    """The set with a rolling update that never runs two pods on a node."""
    strategy = mapping(spec(parent), "updateStrategy")
    limits = {key: value for key, value in mapping(strategy, "rollingUpdate").items() if key != "maxSurge"}
    return with_spec(parent, updateStrategy={**strategy, "rollingUpdate": limits})


def _rolling(parent: Object) -> bool:
    return bool(mapping(spec(parent), "updateStrategy").get("type", "RollingUpdate") == "RollingUpdate")


class Planner:
    """For one pass over one set. `fit` has every node, `revision` is the hash of the set's current template."""

    def __init__(self, parent: Object, fit: Mapping[str, Fit], by_node: ByNode, revision: str, now: float) -> None:
        self._parent = parent
        self._by_node = by_node
        self._revision = revision
        self._now = now
        self._fit = fit

    def _available(self, pod: Object) -> bool:
        return is_available(pod, int(spec(self._parent).get("minReadySeconds") or 0), self._now)

    def place(self) -> Plan:
        """One pod on every node that fits, none elsewhere."""
        plan = Plan()
        for node, (starts, stays) in self._fit.items():
            pods = self._by_node.get(node)
            if starts and pods is None:
                plan.create.append(node)
            elif stays:
                self._thin_out(plan, node, starts, pods or [])
            elif pods is not None:
                plan.delete.extend(pod for pod in pods if not deleting(pod))
        for node, pods in self._by_node.items():
            if node not in self._fit:
                # The pod will never be scheduled, so no node confirms its deletion.
                plan.delete.extend(pod for pod in pods if not spec(pod).get("nodeName") and not deleting(pod))
        return plan

    def _thin_out(self, plan: Plan, node: str, starts: bool, pods: list[Object]) -> None:
        """Delete failed pods and all but one of the others; during a surge the new and the old pod stay."""
        running = []
        for pod in pods:
            if deleting(pod):
                continue
            if status(pod).get("phase") == "Failed":
                plan.failed.append((node, pod))
            else:
                running.append(pod)
        running.sort(key=oldest_first)
        if not _surges(self._parent):
            plan.delete.extend(running[1:])
            return
        if not running and starts:
            plan.create.append(node)
        if len(running) < 2:
            return
        fresh = [pod for pod in running if labels(pod).get(HASH_LABEL) == self._revision]
        old = [pod for pod in running if labels(pod).get(HASH_LABEL) != self._revision]
        plan.delete.extend([*fresh[1:], *old[1:]])
        if fresh and old and (not is_ready(old[0]) or self._available(fresh[0])):
            plan.delete.append(old[0])

    def roll(self) -> Plan:
        """The next step of a rolling update, after `place` found nothing more to do."""
        plan = Plan()
        if not _rolling(self._parent):
            return plan
        nodes = sum(1 for starts, _ in self._fit.values() if starts)
        surge, unavailable = _limit(self._parent, "maxSurge", nodes), _limit(self._parent, "maxUnavailable", nodes)
        if surge:
            self._surge(plan, surge)
        else:
            self._replace(plan, unavailable or (1 if nodes else 0))
        return plan

    def _pairs(self) -> Iterable[tuple[str, Object | None, Object | None, bool]]:
        """Node, new pod, old pod, and whether there is at most one of each."""
        for node, pods in sorted(self._by_node.items()):
            fresh: list[Object] = []
            old: list[Object] = []
            for pod in pods:
                if not deleting(pod):
                    (fresh if is_updated(self._parent, pod, self._revision) else old).append(pod)
            clear = len(fresh) <= 1 and len(old) <= 1
            yield node, fresh[0] if fresh else None, old[0] if old else None, clear

    def _replace(self, plan: Plan, most: int) -> None:
        """Delete old unavailable pods, and as many available ones as maxUnavailable permits."""
        missing = 0
        candidates: list[Object] = []
        for _, fresh, old, clear in self._pairs():
            if not clear or (fresh is None) == (old is None):
                missing += 1
            elif fresh is not None:
                missing += not self._available(fresh)
            elif old is not None:
                (candidates if self._available(old) else plan.delete).append(old)
        plan.delete.extend(candidates[: max(0, most - missing)])

    def _surge(self, plan: Plan, most: int) -> None:
        """Create new pods in addition to old ones, and delete old ones whose replacements are available."""
        surging = 0
        candidates: list[str] = []
        for node, fresh, old, clear in self._pairs():
            if not clear:
                surging += 1
            elif old is None:
                continue
            elif fresh is None:
                (candidates if self._available(old) else plan.create).append(node)
            elif self._available(fresh):
                plan.delete.append(old)
            else:
                surging += 1
        plan.create.extend(candidates[: max(0, most - surging)])

    def status(self) -> dict[str, int]:
        """The counts of the set's status."""
        desired = current = misplaced = ready = available = fresh = 0
        for node, (starts, _) in self._fit.items():
            pods = self._by_node.get(node)
            desired += starts
            if not pods:
                continue
            if not starts:
                misplaced += 1
                continue
            current += 1
            pod = min(pods, key=oldest_first)
            ready += is_ready(pod)
            available += self._available(pod)
            fresh += is_updated(self._parent, pod, self._revision)
        numbers = {
            "currentNumberScheduled": current,
            "numberMisscheduled": misplaced,
            "desiredNumberScheduled": desired,
            "numberReady": ready,
        }
        optional = {
            "updatedNumberScheduled": fresh,
            "numberAvailable": available,
            "numberUnavailable": desired - available,
        }
        return {**numbers, **{key: value for key, value in optional.items() if value}}


def by_target(pods: Iterable[Object], target: Callable[[Object], str]) -> dict[str, list[Object]]:
    """Pods by assigned or intended node; pods without either are omitted."""
    by_node: dict[str, list[Object]] = {}
    for pod in pods:
        node = target(pod)
        if node:
            by_node.setdefault(node, []).append(pod)
    return by_node
