"""Selectors of new pods get requirements for the labels that ``matchLabelKeys`` and ``mismatchLabelKeys`` name. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.jsonvalues import Object

_OPERATORS: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def with_matched_labels(spec: Object, labels: Mapping[str, str]) -> Object:
    """`spec` of a pod with the values of the pod's `labels` in the selectors of its affinity and spread constraints."""
    changes: dict[str, Any] = {}
    affinity = spec.get("affinity")
    if affinity:
        matched = {
            name: _affinity(affinity[name], labels) for name in ("podAffinity", "podAntiAffinity") if affinity.get(name)
        }
        if matched:
            changes["affinity"] = {**affinity, **matched}
    if spec.get("topologySpreadConstraints"):
        changes["topologySpreadConstraints"] = [_matched(each, labels) for each in spec["topologySpreadConstraints"]]
    return {**spec, **changes} if changes else spec


def _affinity(affinity: Object, labels: Mapping[str, str]) -> Object:
    changes: dict[str, Any] = {}
    for name, terms in affinity.items():
        if name.startswith("required"):
            changes[name] = [_matched(term, labels) for term in terms or ()]
        elif name.startswith("preferred"):
            changes[name] = [
                {**each, "podAffinityTerm": _matched(each["podAffinityTerm"], labels)}
                if each.get("podAffinityTerm")
                else each
                for each in terms or ()
            ]
    return {**affinity, **changes}


def _matched(term: Object, labels: Mapping[str, str]) -> Object:
    """A pod affinity term or a spread constraint. One without a selector matches nothing, and stays so."""
    selector = term.get("labelSelector")
    if selector is None:
        return term
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for member, operator in _OPERATORS
        for key in term.get(member) or ()
        if key in labels
    ]
    if not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}
