"""Which nodes a pod may run on, as far as the node's name, labels and taints decide it. Pure.

The scheduler's filters NodeName, NodeAffinity and TaintToleration, and controllers that choose nodes themselves, decide by
these rules (specification, "Assigning pods to nodes").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]


def tolerates(toleration: Object, taint: Object) -> bool:
    """Does a toleration match a taint? An empty effect or key matches every one."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool((toleration.get("value") or "") == (taint.get("value") or ""))
    return bool(operator == "Exists")


def find_untolerated_taint(taints: Iterable[Object], tolerations: Collection[Object], effects: Collection[str]) -> Object | None:
    """The first taint with one of these effects that nothing tolerates."""
    for taint in taints:
        if taint.get("effect") in effects and not any(tolerates(each, taint) for each in tolerations):
            return taint
    return None


def fits_required_affinity(pod_spec: Object, node: Object) -> bool:
    """Does a node match the node selector of a pod and its required node affinity?"""
    labels = node["metadata"].get("labels") or {}
    selector = pod_spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or fits_node_selector(required, node)


def fits_node_selector(selector: Object, node: Object) -> bool:
    """Does a node match any term? A selector without terms, and a term without requirements, match nothing."""
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    for term in selector.get("nodeSelectorTerms") or ():
        expressions, of_fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if not expressions and not of_fields:
            continue
        if all(_matches(each, labels) for each in expressions) and all(_matches(each, fields) for each in of_fields):
            return True
    return False


def _matches(requirement: Object, found: Mapping[str, str]) -> bool:
    key, values = str(requirement.get("key", "")), requirement.get("values") or ()
    value = found.get(key)
    match requirement.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: Collection[str]) -> bool:
    try:
        left, (right,) = int(value or ""), [int(each) for each in values]
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right
