"""Which pending pods are retried after a change of a node, of an assigned pod or of themselves: one rule per release
that changed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchd.kinds.objects.placement import find_untolerated_taint
from orchd.scheduler.nodes import NodeFacts, NodeView
from orchd.scheduler.plugins.nodeports import ports_taken
from orchd.scheduler.plugins.nodes import required_matches
from orchd.scheduler.pods import AffinityTerm, Pod, PodTemplate
from orchd.scheduler.queue.queue import QueuedPod, SchedulingQueue
from orchd.scheduler.resources import BASIC
from orchd.scheduler.values import Action, ClusterEvent

POD_ADDED: Final = ClusterEvent("pods", Action.ADD, "AssignedPodAdd")
POD_UPDATED: Final = ClusterEvent("pods", Action.UPDATE, "AssignedPodUpdate")
POD_DELETED: Final = ClusterEvent("pods", Action.DELETE, "AssignedPodDelete")
_NODE_ADDED: Final = ClusterEvent("nodes", Action.ADD, "NodeAdd")
_UNCORDONED: Final = ClusterEvent("nodes", Action.UPDATE_TAINT, "NodeSpecUnschedulableChange")
_ALLOCATABLE: Final = ClusterEvent("nodes", Action.UPDATE_ALLOCATABLE, "NodeAllocatableChange")
_LABELS: Final = ClusterEvent("nodes", Action.UPDATE_LABEL, "NodeLabelChange")
_TAINTS: Final = ClusterEvent("nodes", Action.UPDATE_TAINT, "NodeTaintChange")
_CONDITIONS: Final = ClusterEvent("nodes", Action.UPDATE_CONDITION, "NodeConditionChange")

#: True if a pod affinity term selects the pods of a template.
Selects = Callable[[AffinityTerm, PodTemplate], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """`after_node` is called with what changed, see `node_changes`, and with the node as it is now; `after_pod` with
    the assigned pod as it was, None for one that was just assigned, and as it is now. `after_own` is True if a pending
    pod is retried that changed apart from its status and bookkeeping: its entry in the queue, and as it is now."""

    after_node: Callable[[SchedulingQueue, Sequence[ClusterEvent], NodeView], None]
    after_pod: Callable[[SchedulingQueue, Selects, Pod | None, Pod], None]
    after_own: Callable[[SchedulingQueue, QueuedPod, Pod], bool]


def node_changes(old: NodeFacts | None, new: NodeFacts) -> list[ClusterEvent]:
    """The cluster events of a node's change that may make pods schedulable, the most important first."""
    if old is None:
        return [_NODE_ADDED]
    changes = (
        (_UNCORDONED, old.unschedulable and not new.unschedulable),
        (_ALLOCATABLE, (old.allocatable, old.pods_allowed) != (new.allocatable, new.pods_allowed)),
        (_LABELS, old.labels != new.labels),
        (_TAINTS, old.taints != new.taints),
        (_CONDITIONS, old.conditions != new.conditions),
    )
    return [event for event, happened in changes if happened]


def may_fit(template: PodTemplate, node: NodeView) -> bool:
    """True if pods of the template may fit the node without preemption, by resources, labels, ports and taints."""
    facts = node.facts
    if len(node.pods) + 1 > facts.pods_allowed:
        return False
    requests = template.requests
    if any(requests.values()):
        for name in {*BASIC, *requests}:
            if requests.get(name, 0) > facts.allocatable.get(name, 0) - node.requested.get(name, 0):
                return False
    return (
        required_matches(template, facts)
        and not ports_taken(template, node)
        and find_untolerated_taint(facts.taints, template.tolerations, ("NoSchedule",)) is None
    )


def retry_pods_that_fit(queue: SchedulingQueue, changes: Sequence[ClusterEvent], node: NodeView) -> None:
    """After its most important change, a node helps the pods that fit it, if their plugins registered for that
    change."""
    queue.move(changes[0], lambda template, plugins: may_fit(template, node))


def retry_affine_pods(queue: SchedulingQueue, selects: Selects, old: Pod | None, pod: Pod) -> None:
    """Any change of an assigned pod helps the pods whose affinity selects it, whatever rejected them."""
    event = POD_ADDED if old is None else POD_UPDATED
    queue.move_affine(
        lambda template: any(selects(term, pod.template) for term in template.affinity.near(pod.template)), event.label
    )


def retry_changed_pods(queue: SchedulingQueue, queued: QueuedPod, pod: Pod) -> bool:
    """Any change of a pending pod may help it."""
    return True


def _is_large_enough(template: PodTemplate, facts: NodeFacts) -> bool:
    return facts.pods_allowed > 0 and all(
        requested <= facts.allocatable.get(name, 0) for name, requested in template.requests.items()
    )


def _is_tolerated(template: PodTemplate, facts: NodeFacts) -> bool:
    return find_untolerated_taint(facts.taints, template.tolerations, ("NoSchedule", "NoExecute")) is None


#: By plugin: whether a node as it is now may help pods that the plugin rejected. Others hope for the best.
_NODE_HINTS: Final[Mapping[str, Callable[[PodTemplate, NodeFacts], bool]]] = {
    "NodeResourcesFit": _is_large_enough, "NodeAffinity": required_matches, "TaintToleration": _is_tolerated,
}  # fmt: skip


def retry_by_node_hints(queue: SchedulingQueue, changes: Sequence[ClusterEvent], node: NodeView) -> None:
    """After all its changes, a node helps the pods of which a plugin that rejected them registered for one of the
    changes and thinks so. The other plugins are not asked: they reject the pod in its next attempt, and then it waits
    for what they register."""
    action = Action(0)
    for each in changes:
        action |= each.action

    def helps(template: PodTemplate, plugins: frozenset[str]) -> bool:
        hints = [_NODE_HINTS.get(name) for name in plugins]
        return not hints or any(hint is None or hint(template, node.facts) for hint in hints)

    queue.move(ClusterEvent("nodes", action, changes[0].label), helps)


def _pod_change(old: Pod | None, new: PodTemplate) -> ClusterEvent | None:
    """The cluster event of an assigned pod's change; None if it cannot help other pods."""
    if old is None:
        return POD_ADDED
    before = old.template
    action = Action(0)
    if before.labels != new.labels:
        action |= Action.UPDATE
    if _requests_less(before, new):
        action |= Action.SCALE_DOWN
    return ClusterEvent("pods", action, POD_UPDATED.label) if action else None


def retry_by_pod_hints(queue: SchedulingQueue, selects: Selects, old: Pod | None, pod: Pod) -> None:
    """An assigned pod helps those whose required affinity or spread constraints select it, those that it repelled
    before its labels changed, and, when it requests less, those for which a node had too little."""
    event = _pod_change(old, pod.template)
    if event is None:
        return
    versions = [pod.template] if old is None else [old.template, pod.template]

    def near(template: PodTemplate) -> bool:
        return any(selects(term, pod.template) for term in template.affinity.near(pod.template)) or (
            old is not None and any(selects(term, old.template) for term in template.anti_affinity.near(old.template))
        )

    def spread(template: PodTemplate) -> bool:
        return template.namespace == pod.namespace and any(
            each.selector.matches(version.labels) for each in template.spread for version in versions
        )

    hints: Mapping[str, Callable[[PodTemplate], bool]] = {"InterPodAffinity": near, "PodTopologySpread": spread}

    def helps(template: PodTemplate, plugins: frozenset[str]) -> bool:
        return not plugins or any(name not in hints or hints[name](template) for name in plugins)

    queue.move(event, helps)


def _tolerates_more(old: PodTemplate, new: PodTemplate) -> bool:
    return len(old.tolerations) != len(new.tolerations)


def _spreads_otherwise(old: PodTemplate, new: PodTemplate) -> bool:
    if _tolerates_more(old, new) and any(each.honors_taints for each in new.spread):
        return True
    return any(each.selector.matches(old.labels) != each.selector.matches(new.labels) for each in new.spread)


def _requests_less(old: PodTemplate, new: PodTemplate) -> bool:
    return any(amount > new.requests.get(name, 0) for name, amount in old.requests.items())


#: By plugin: whether the change of a pod that the plugin rejected may help this pod.
_OWN_HINTS: Final[Mapping[str, Callable[[PodTemplate, PodTemplate], bool]]] = {
    "InterPodAffinity": lambda old, new: False, "NodeResourcesFit": _requests_less,
    "NodeUnschedulable": _tolerates_more, "PodTopologySpread": _spreads_otherwise, "TaintToleration": _tolerates_more,
}  # fmt: skip


def retry_by_own_hints(queue: SchedulingQueue, queued: QueuedPod, pod: Pod) -> bool:
    """A change of a pending pod helps it if a plugin that rejected it thinks so, or has no opinion but registered for
    updates of pods. A pod that no plugin rejected is always retried, as is one in an attempt."""
    plugins, (old, new) = queued.refused_by, (queued.pod.template, pod.template)
    if not plugins or not queued.place:
        return True
    others = queue.registered_for(frozenset(plugins - _OWN_HINTS.keys()), POD_UPDATED)
    return bool(others) or any(_OWN_HINTS[name](old, new) for name in plugins & _OWN_HINTS.keys())


#: By the release that begins a rule.
RETRY_RULES: Final = (
    ("", RetryRule(after_node=retry_pods_that_fit, after_pod=retry_affine_pods, after_own=retry_changed_pods)),
    ("1.32", RetryRule(after_node=retry_by_node_hints, after_pod=retry_by_pod_hints, after_own=retry_by_own_hints)),
)
