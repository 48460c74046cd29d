"""Label keys of pods that become part of selectors when a pod is created: matchLabelKeys and mismatchLabelKeys. Pure.

The selector of a pod affinity term or a spread constraint gains a requirement with the pod's own value of each key; a
key that the pod lacks adds none, and so does a term without a selector, which selects nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.jsonvalues import Object

_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
#: Members with keys, and the operator of the requirements that they add.
_OPERATORS: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def merge_affinity_keys(spec: Object, labels: Mapping[str, str]) -> Object:
    """The spec of a pod with these labels, whose pod affinity terms select by their keys."""
    affinity = spec.get("affinity") or {}
    merged = {
        kind: {
            **affinity[kind],
            _REQUIRED: [_merged(term, labels) for term in affinity[kind].get(_REQUIRED) or ()],
            _PREFERRED: [
                {**each, "podAffinityTerm": _merged(each.get("podAffinityTerm") or {}, labels)}
                for each in affinity[kind].get(_PREFERRED) or ()
            ],
        }
        for kind in ("podAffinity", "podAntiAffinity")
        if _has_keys(affinity.get(kind) or {})
    }
    for kind, terms in merged.items():
        merged[kind] = {name: value for name, value in terms.items() if value or name in affinity[kind]}
    return {**spec, "affinity": {**affinity, **merged}} if merged else spec


def merge_spread_keys(spec: Object, labels: Mapping[str, str]) -> Object:
    """The spec of a pod with these labels, whose spread constraints select by their keys."""
    constraints = spec.get("topologySpreadConstraints") or ()
    if not any(each.get("matchLabelKeys") for each in constraints):
        return spec
    return {**spec, "topologySpreadConstraints": [_merged(each, labels) for each in constraints]}


def _has_keys(affinity: Mapping[str, Any]) -> bool:
    terms = [
        *(affinity.get(_REQUIRED) or ()),
        *(each.get("podAffinityTerm") or {} for each in affinity.get(_PREFERRED) or ()),
    ]
    return any(term.get(member) for term in terms for member, _ in _OPERATORS)


def _merged(term: Mapping[str, Any], labels: Mapping[str, str]) -> Object:
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for member, operator in _OPERATORS
        for key in term.get(member) or ()
        if key in labels
    ]
    if selector is None or not added:
        return dict(term)
    requirements = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": requirements}}
