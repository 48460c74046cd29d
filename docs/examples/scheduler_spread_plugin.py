"""Spreads the pods of a tenant (a label) over nodes, with at most `most` of them on one.

A plugin with state of a cycle: `pre_filter` counts once, `score` reads. The filter counts the pods of its argument
instead: preemption asks it about copies of nodes from which pods are removed.
"""

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.scheduler.interfaces import IFilter, IPluginFactory, IPreFilter, IScore
from orchd.scheduler.values import Action, ClusterEvent, unresolvable, unschedulable


@implementer(IPreFilter, IFilter, IScore)
class TenantSpread:
    name = "TenantSpread"
    events = (ClusterEvent("pods", Action.DELETE), ClusterEvent("nodes", Action.ADD))

    def __init__(self, handle, label, most):
        self._handle = handle
        self._label = label
        self._most = most

    def _count(self, pod, others):
        return sum(other.labels.get(self._label) == pod.labels[self._label] for other in others)

    def pre_filter(self, state, pod):
        if self._label not in pod.labels:
            return unresolvable(f"the pod has no label {self._label}")
        snapshot = self._handle.snapshot
        state.write(self.name, {snapshot.name_of(row): self._count(pod, snapshot.pods(row)) for row in snapshot.rows()})
        return None

    def filter(self, state, pod, node):
        return (
            unschedulable("too many pods of the tenant") if self._count(pod, node.pods.values()) >= self._most else None
        )

    def score(self, state, pod, node):
        return state.read(self.name)[node.name]

    def normalize(self, state, pod, scores):
        """The fewest pods get 100, the most 0."""
        low, high = min(scores), max(scores)
        return [(high - score) * 100 // (high - low) if high > low else 100 for score in scores]


@implementer(IPlugin, IPluginFactory)
class Factory:
    name = "TenantSpread"
    help = "Spreads the pods of a tenant over nodes."
    points = ("preFilter", "filter", "score")

    def make(self, handle, args):
        unknown = sorted(set(args) - {"label", "most"})
        if unknown:
            raise ValueError(f"unknown field {unknown[0]}")
        return TenantSpread(handle, args.get("label", "tenant"), int(args.get("most", 10)))


factory = Factory()
