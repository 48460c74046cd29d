"""Topology of volumes: node affinity, allowed topologies of classes, zones in labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.node_selectors import Terms, matches_terms

Labels = Mapping[str, str]

#: Separator of the zones of a volume.
_ZONES_APART: Final = "__"


def affinity_terms(volume: Object) -> Terms | None:
    """The node selector terms that a volume requires; None if it can be used on every node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return None if required is None else required.get("nodeSelectorTerms") or ()


def usable_on(volume: Object, labels: Labels) -> bool:
    """True if a node with these labels satisfies the node affinity of a volume."""
    terms = affinity_terms(volume)
    return terms is None or matches_terms(terms, labels)


def allowed_terms(storage_class: Object) -> Terms | None:
    """The topologies of a class as node selector terms; None if it allows every node."""
    topologies = storage_class.get("allowedTopologies")
    if not topologies:
        return None
    return [
        {
            "matchExpressions": [
                {"key": each.get("key", ""), "operator": "In", "values": each.get("values") or ()}
                for each in topology.get("matchLabelExpressions") or ()
            ]
        }
        for topology in topologies
    ]


def selector_terms(selector: Mapping[str, Any] | None) -> Terms | None:
    """A label selector as node selector terms: () for no selector, which matches nothing, None for one that matches
    every node."""
    if selector is None:
        return ()
    labels: Labels = selector.get("matchLabels") or {}
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    expressions += selector.get("matchExpressions") or ()
    return [{"matchExpressions": expressions}] if expressions else None


def zones(label: str) -> frozenset[str] | None:
    """The zones in the label of a volume: several are separated by two underscores. None if one is empty."""
    names = [zone.strip() for zone in label.split(_ZONES_APART)]
    return frozenset(names) if all(names) else None
