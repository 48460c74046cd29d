"""Node fit of each daemon set, updated with every change of a node."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.client.informers import key_of
from orchd.controllers.daemonset.plans import Fit, Placement
from orchd.dialect import Dialect
from orchd.kinds.fields import labels, name, spec, uid
from orchd.kinds.jsonvalues import Object

#: Namespace and name.
_Key = tuple[str, str]


class NodeFits:
    """Of nodes, only names, labels and taints are kept. Call `follow_set` for every event of daemon sets and
    `follow_node` for every event of nodes."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._nodes: dict[str, Object] = {}
        #: By set: uid and generation, its placement rules, and the fit of every node.
        self._sets: dict[_Key, tuple[tuple[str, object], Placement, dict[str, Fit]]] = {}

    def follow_set(self, parent: Object, *, gone: bool) -> None:
        """Follow an event of a daemon set; `gone` for its deletion."""
        key, version = key_of(parent), (uid(parent), parent["metadata"].get("generation"))
        entry = self._sets.get(key)
        if gone:
            self._sets.pop(key, None)
        elif entry is None or entry[0] != version:
            placement = Placement(self._dialect, parent)
            self._sets[key] = version, placement, {name(node): placement.fit(node) for node in self._nodes.values()}

    def follow_node(self, old: Object | None, new: Object | None) -> list[_Key]:
        """Follow an event of a node. Returns the sets whose fit changed; all sets after its deletion."""
        node = new or old
        if node is None:
            return []
        before_view, after_view = self._nodes.get(name(node)), None if new is None else _view(new)
        if before_view == after_view:
            return []
        if after_view is None:
            del self._nodes[name(node)]
            for _, _, fits in self._sets.values():
                fits.pop(name(node), None)
            return list(self._sets)
        self._nodes[name(node)] = after_view
        concerned = []
        for key, (_, placement, fits) in self._sets.items():
            before, after = fits.get(name(node), (False, False)), placement.fit(after_view)
            fits[name(node)] = after
            if before != after:
                concerned.append(key)
        return concerned

    def of(self, parent: Object) -> Mapping[str, Fit]:
        """The fit of every node for a set; do not modify it."""
        self.follow_set(parent, gone=False)
        return self._sets[key_of(parent)][2]


def _view(node: Object) -> Object:
    return {
        "metadata": {"name": name(node), "labels": labels(node)},
        "spec": {"taints": spec(node).get("taints") or ()},
    }
