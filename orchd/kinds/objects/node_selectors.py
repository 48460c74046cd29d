"""Node selectors: terms over the labels and the name of a node (specification, "NodeSelector")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchd.kinds.digits import int64

#: Terms of a node selector: ORed; the requirements of a term are ANDed.
Terms = Sequence[Mapping[str, Any]]


def matches_terms(terms: Terms, labels: Mapping[str, str], name: str = "") -> bool:
    """True if a node matches any term. A term without requirements matches nothing."""
    return any(_matches(term, labels, name) for term in terms)


def _matches(term: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_holds(each, labels.get(each.get("key", ""))) for each in expressions) and all(
        each.get("key") == "metadata.name" and _holds(each, name) for each in fields
    )


def _holds(requirement: Mapping[str, Any], value: str | None) -> bool:
    operator, values = requirement.get("operator"), requirement.get("values") or ()
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return value is not None and compare(operator, value, values)


def compare(operator: Any, value: str, values: Sequence[str]) -> bool:
    """The operators Gt and Lt. Both sides must be 64-bit integers, and there must be one value."""
    left, right = int64(value), int64(values[0]) if len(values) == 1 else None
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right if operator == "Lt" else False
