"""Plain filters on copies of single nodes, for what-if runs with other pods than the node has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from orchd.scheduler.framework.profile import Profile
from orchd.scheduler.interfaces import INominator
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import CycleState, Status

#: Key of the filters that can refuse the pod.
_FILTERS = "framework/filters"
#: Key of the pre-filters whose notes depend on the pods of nodes, without those of filters that cannot refuse the pod.
_EXTENSIONS = "framework/extensions"


class WhatIf:
    """The plain forms of a profile's filters. `concerned(state, pod)` gives those filters that can refuse a pod at
    all."""

    def __init__(
        self, profile: Profile, nominator: INominator, concerned: Callable[[CycleState, Pod], Sequence[Any]]
    ) -> None:
        self._profile = profile
        self._nominator = nominator
        self._concerned = concerned

    def prepare(self, state: CycleState, pod: Pod) -> None:
        """Let pre-filter extensions prepare the state, once per cycle and before states are cloned."""
        filters = self._concerned(state, pod)
        # Pods that are added or removed do not matter to a filter that passes every node.
        idle = [plugin for plugin in self._profile.filters if plugin not in filters]
        extensions = tuple(plugin for plugin in self._profile.extensions if plugin not in idle)
        for plugin in extensions:
            plugin.prepare_plain(state, pod)
        state.write(_FILTERS, tuple(filters))
        state.write(_EXTENSIONS, extensions)

    def _extensions(self, state: CycleState) -> Sequence[Any]:
        """The extensions that must be notified of added and removed pods."""
        extensions: Sequence[Any] | None = state.get(_EXTENSIONS)
        return self._profile.extensions if extensions is None else extensions

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        node.add(other)
        for plugin in self._extensions(state):
            plugin.add_pod(state, pod, other, node)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        node.remove(other)
        for plugin in self._extensions(state):
            plugin.remove_pod(state, pod, other, node)

    def run(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        """The first refusal."""
        filters = state.get(_FILTERS)
        for plugin in self._profile.filters if filters is None else filters:
            status: Status | None = plugin.filter(state, pod, node)
            if status is not None:
                return Status(status.code, status.reasons, plugin.name)
        return None

    def nominated(self, pod: Pod, node_name: str) -> list[Pod]:
        """Pods nominated to a node that count for `pod`: others of at least its priority."""
        return [
            other
            for other in self._nominator.nominated(node_name)
            if other.uid != pod.uid and other.priority >= pod.priority
        ]

    def run_with_nominated(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        """`run` with and without the pods nominated to the node: the pod must fit in both cases."""
        others = self.nominated(pod, node.name) if self._nominator.nodes() else ()
        if others:
            copy, full = state.clone(), node.copy()
            for other in others:
                self.add_pod(copy, pod, other, full)
            refused = self.run(copy, pod, full)
            if refused is not None:
                return refused
        return self.run(state, pod, node)
