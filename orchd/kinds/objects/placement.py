"""Rules that decide by a node's name, labels and taints if a pod may run on it (specification, "Assigning pods to nodes").

The scheduler's filters NodeName, NodeAffinity and TaintToleration, and controllers that choose nodes, share these rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.objects.node_selectors import matches_terms


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


def find_untolerated_taint(taints: Iterable[ObjectView], tolerations: Collection[ObjectView], effects: Collection[str]) -> ObjectView | None:
    """The first taint with one of these effects that no toleration matches, None if all are tolerated."""
    for taint in taints:
        if taint.get("effect") in effects and not any(tolerates(each, taint) for each in tolerations):
            return taint
    return None


def fits_required_affinity(pod_spec: ObjectView, node: ObjectView) -> bool:
    """True if a node matches the node selector of a pod and its required node affinity."""
    labels = node["metadata"].get("labels") or {}
    selector = pod_spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or fits_node_selector(required, node)


def fits_node_selector(selector: ObjectView, node: ObjectView) -> bool:
    """True if a node matches any term. A selector without terms, and a term without requirements, match nothing."""
    terms = selector.get("nodeSelectorTerms") or ()
    return matches_terms(terms, node["metadata"].get("labels") or {}, node["metadata"]["name"])
