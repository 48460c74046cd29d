"""Remedies: what would have to change for a pod to fit a node, as text. One function per plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchd.kinds.objects.placement import find_untolerated_taint
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import Pod
from orchd.scheduler.resources import CPU

Remedy = Callable[[Pod, NodeView], str]


def _resources(pod: Pod, node: NodeView) -> str:
    parts = []
    if len(node.pods) + 1 > node.facts.pods_allowed:
        parts.append(f"{len(node.pods) + 1 - node.facts.pods_allowed} pods fewer")
    for name, amount in pod.template.requests.items():
        missing = amount - (node.facts.allocatable.get(name, 0) - node.requested.get(name, 0))
        if missing > 0:
            parts.append(f"{missing}m more {name}" if name == CPU else f"{missing} more {name}")
    return ", ".join(parts)


def _taint(pod: Pod, node: NodeView) -> str:
    taint = find_untolerated_taint(node.facts.taints, pod.template.tolerations, ("NoSchedule", "NoExecute"))
    if taint is None:
        return ""
    return (
        f"a toleration of {taint.get('key', '')}={taint.get('value') or ''}:{taint.get('effect', '')}, or the "
        "taint removed"
    )


def _cordon(pod: Pod, node: NodeView) -> str:
    return "the node uncordoned"


def _labels(pod: Pod, node: NodeView) -> str:
    pairs = pod.template.node_selector.items()
    missing = [f"{key}={value}" for key, value in pairs if node.labels.get(key) != value]
    if missing:
        return f"node labels {', '.join(missing)}"
    return "node labels that the pod's node affinity asks for"


def _ports(pod: Pod, node: NodeView) -> str:
    return "host ports free: " + ", ".join(f"{port}/{protocol}" for _, protocol, port in pod.template.ports)


def _spread(pod: Pod, node: NodeView) -> str:
    missing = [each.topology_key for each in pod.template.spread if each.hard and each.topology_key not in node.labels]
    if missing:
        return f"node labels {', '.join(missing)}"
    return "fewer matching pods in the node's domain, more in the others, or a larger maxSkew"


REMEDIES: Mapping[str, Remedy] = {
    "NodeResourcesFit": _resources,
    "TaintToleration": _taint,
    "NodeUnschedulable": _cordon,
    "NodeAffinity": _labels,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
}


def remedy(plugin: str, pod: Pod, node: NodeView) -> str:
    """The remedy for a plugin's rejection of a node; "" without one."""
    describe = REMEDIES.get(plugin)
    return "" if describe is None else describe(pod, node)
