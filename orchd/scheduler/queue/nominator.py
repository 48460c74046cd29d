"""Pods nominated to nodes: they count there for pods of lower priority until they are bound."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from zope.interface import implementer

from orchd.scheduler.interfaces import INominator
from orchd.scheduler.pods import Pod


@implementer(INominator)
class Nominator:
    """Nominated pods by node name, and by pod uid."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, Pod]] = {}
        self._names: dict[str, str] = {}

    def nodes(self) -> Collection[str]:
        return self._nodes

    def nominated(self, node_name: str) -> Sequence[Pod]:
        return tuple(self._nodes.get(node_name, {}).values())

    def node_of(self, pod: Pod) -> str:
        """The node that a pod is nominated to here; "" for none."""
        return self._names.get(pod.uid, "")

    def nominate(self, pod: Pod, node_name: str) -> None:
        self.clear(pod)
        if node_name:
            self._names[pod.uid] = node_name
            self._nodes.setdefault(node_name, {})[pod.uid] = pod

    def clear(self, pod: Pod) -> None:
        name = self._names.pop(pod.uid, None)
        if name is not None:
            pods = self._nodes[name]
            del pods[pod.uid]
            if not pods:
                del self._nodes[name]

    def update(self, old: Pod | None, new: Pod) -> None:
        """Follow a change of a pending pod. A nomination that only this process knows of is kept."""
        node_name = new.nominated
        if not node_name and (old is None or not old.nominated):
            node_name = self.node_of(new)
        self.nominate(new, node_name)
