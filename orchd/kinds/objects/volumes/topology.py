"""Where volumes can be used: node affinity of volumes, topologies of classes, zones in labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchd.kinds.objects.volumes.claims import Object

Labels = Mapping[str, str]
#: Terms of a node selector: ORed, the expressions of each ANDed.
Terms = Sequence[Mapping[str, Any]]

#: Between the zones of a volume that is in several.
_ZONES_APART: Final = "__"
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def affinity_terms(volume: Object) -> Terms | None:
    """The node selector terms that a volume requires; None when it can be used on every node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return None if required is None else required.get("nodeSelectorTerms") or ()


def usable_on(volume: Object, labels: Labels) -> bool:
    """Does a node with these labels satisfy a volume's node affinity?"""
    terms = affinity_terms(volume)
    return terms is None or matches(terms, labels)


def matches(terms: Terms, labels: Labels, name: str = "") -> bool:
    """Do a node's labels and name match node selector terms? No term matches nothing, nor does an empty one."""
    return any(_term(term, labels, name) for term in terms)


def _term(term: Mapping[str, Any], labels: Labels, name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_holds(each, labels.get(each.get("key", ""))) for each in expressions) and all(
        each.get("key") == "metadata.name" and _holds(each, name) for each in fields
    )


def _holds(requirement: Mapping[str, Any], value: str | None) -> bool:
    operator: str = requirement.get("operator", "")
    values: Sequence[str] = requirement.get("values") or []
    if operator in ("NotIn", "DoesNotExist"):
        return value is None or (operator == "NotIn" and value not in values)
    if value is None:
        return False
    if operator in ("Gt", "Lt"):
        have, bound = _integer(value), _integer(values[0]) if len(values) == 1 else None
        if have is None or bound is None:
            return False
        return have > bound if operator == "Gt" else have < bound
    return operator == "Exists" or (operator == "In" and value in values)


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if _LOWEST <= number <= _HIGHEST else None


def allowed_terms(storage_class: Object) -> Terms | None:
    """The topologies of a class as node selector terms; None when it allows every node."""
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
    """A label selector as node selector terms: no selector matches nothing, None stands for one that matches every node."""
    if selector is None:
        return ()
    labels: Labels = selector.get("matchLabels") or {}
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    expressions += selector.get("matchExpressions") or ()
    return [{"matchExpressions": expressions}] if expressions else None


def zones(label: str) -> frozenset[str] | None:
    """The zones in the label of a volume: several have two underscores between them. None for a label that says none."""
    found = [zone.strip() for zone in label.split(_ZONES_APART)]
    return frozenset(found) if all(found) else None
