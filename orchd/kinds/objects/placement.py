"""Rules that decide by a node's name, labels and taints if a pod may run on it (specification, "Assigning pods to
nodes").

The scheduler's filters NodeName, NodeAffinity and TaintToleration, and controllers that choose nodes, share these
rules.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from operator import itemgetter
from typing import Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.objects.node_selectors import NodeTerms

#: Number of tolerations that are compared one by one.
_FEW: Final = 16


def tolerates(toleration: ObjectView, taint: ObjectView) -> bool:
    """True if a toleration matches a taint. An empty effect or key matches every one."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool((toleration.get("value") or "") == (taint.get("value") or ""))
    return bool(operator == "Exists")


class Tolerations:
    """The tolerations of a pod. Many are found by key, effect and value, so that the work does not grow with their
    number for each taint."""

    __slots__ = ("_all", "_keys", "_places")

    def __init__(self, tolerations: Collection[ObjectView]) -> None:
        self._all = tolerations
        #: None before the first taint.
        self._keys: frozenset[str] | None = None
        #: Key, effect and value ("" without; None for Exists) -> position and toleration of the first such. None for a
        #: few, and before the first taint.
        self._places: dict[tuple[str, str, str | None], tuple[int, ObjectView]] | None = None

    def __len__(self) -> int:
        return len(self._all)

    def _indexed(self) -> dict[tuple[str, str, str | None], tuple[int, ObjectView]] | None:
        if self._places is None and len(self._all) > _FEW:
            self._places = {}
            for place, each in enumerate(self._all):
                operator = each.get("operator") or "Equal"
                if operator in ("Equal", "Exists"):
                    value = None if operator == "Exists" else each.get("value") or ""
                    self._places.setdefault((each.get("key") or "", each.get("effect") or "", value), (place, each))
        return self._places

    def has(self, taint: ObjectView) -> bool:
        """True if a toleration matches a taint."""
        if self._keys is None:
            self._keys = frozenset(each.get("key") or "" for each in self._all)
        if "" not in self._keys and (taint.get("key") or "") not in self._keys:
            return False
        places = self._indexed()
        if places is None:
            return any(tolerates(each, taint) for each in self._all)
        key, effect, value = taint.get("key") or "", taint.get("effect") or "", taint.get("value") or ""
        for place in ((key, effect), (key, ""), ("", effect), ("", "")):
            if (*place, None) in places or (*place, value) in places:
                return True
        return False

    def first(self, taint: ObjectView) -> ObjectView | None:
        """The first toleration that matches a taint."""
        places = self._indexed()
        if places is None:
            return next((each for each in self._all if tolerates(each, taint)), None)
        forms = product(("", taint.get("key") or ""), ("", taint.get("effect") or ""), (None, taint.get("value") or ""))
        matching = [places[one] for one in forms if one in places]
        return min(matching, key=itemgetter(0))[1] if matching else None


def find_untolerated_taint(
    taints: Collection[ObjectView], tolerations: Tolerations, effects: Collection[str]
) -> ObjectView | None:
    """The first taint with one of these effects that no toleration matches, None if all are tolerated."""
    for taint in taints:
        if taint.get("effect") in effects and not tolerations.has(taint):
            return taint
    return None


class RequiredAffinity:
    """The node selector of a pod and its required node affinity."""

    __slots__ = ("_selector", "_terms")

    def __init__(self, pod_spec: ObjectView) -> None:
        self._selector = pod_spec.get("nodeSelector") or {}
        affinity = fields.mapping(pod_spec, "affinity", "nodeAffinity")
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        self._terms = None if required is None else NodeTerms(required.get("nodeSelectorTerms") or ())

    def fits(self, node: ObjectView) -> bool:
        """True if a node matches both. An affinity without terms, and a term without requirements, match nothing."""
        labels = fields.labels(node)
        if any(labels.get(key) != value for key, value in self._selector.items()):
            return False
        return self._terms is None or self._terms.match(labels, node["metadata"]["name"])
