"""Node selectors: terms over the labels and the name of a node (specification, "NodeSelector")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from orchd.kinds.digits import int64
from orchd.kinds.objects.label_index import LabelIndex, Place

#: Terms of a node selector: ORed; the requirements of a term are ANDed.
Terms = Sequence[Mapping[str, Any]]


def matches_terms(terms: Terms, labels: Mapping[str, str], name: str = "") -> bool:
    """True if a node matches any term. A term without requirements matches nothing."""
    return any(_matches(term, labels, name) for term in terms)


#: Number of values of a requirement that are compared one by one.
_FEW: Final = 16


class NodeTerms(tuple[Mapping[str, Any], ...]):
    """Terms that are compared with many nodes. They are found by a label that they need, as there may be thousands."""

    _index: LabelIndex[int] | None = None
    #: Terms in which many values of a requirement are a set, by index.
    _sets: dict[int, Mapping[str, Any]]

    def match(self, labels: Mapping[str, str], name: str = "") -> bool:
        """As `matches_terms`."""
        return any(True for _ in self.matching(labels, name))

    def matching(self, labels: Mapping[str, str], name: str = "") -> Iterator[int]:
        """The indexes of the terms that a node matches, in any order."""
        if self._index is None:
            index, self._sets = LabelIndex[int](), {}
            for number, term in enumerate(self):
                if _has_many(term):
                    self._sets[number] = _with_sets(term)
                for place in _places(term):
                    index.add(place, number)
            self._index = index
        sets = self._sets
        return (
            number
            for number in self._index.near(labels, name)
            if _matches(sets.get(number) or self[number], labels, name)
        )


def _places(term: Mapping[str, Any]) -> Iterable[Place]:
    """The places of a term: a node that matches it has one of them."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    for each in expressions:
        if each.get("operator") == "In":
            return [(each.get("key", ""), value) for value in dict.fromkeys(each.get("values") or ())]
    for each in expressions:
        if each.get("operator") in ("Exists", "Gt", "Lt"):
            return [(each.get("key", ""), None)]
    for each in fields:
        if each.get("operator") == "In":
            return [("", value) for value in dict.fromkeys(each.get("values") or ())]
    return [("", None)]


def _has_many(term: Mapping[str, Any]) -> bool:
    """True if a requirement has many values."""
    for requirements in term.values():
        for each in requirements or ():
            if len(each.get("values") or ()) > _FEW:
                return True
    return False


def _with_sets(term: Mapping[str, Any]) -> Mapping[str, Any]:
    """A term in which many values of a requirement are a set."""
    return {member: [_with_set(each) for each in requirements or ()] for member, requirements in term.items()}


def _with_set(requirement: Mapping[str, Any]) -> Mapping[str, Any]:
    values = requirement.get("values") or ()
    return {**requirement, "values": frozenset(values)} if len(values) > _FEW else requirement


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
