"""Searching with regular expressions: ``find`` and ``findAll``."""

from __future__ import annotations

from collections.abc import Sequence

from orchd.cel.costs import Cost, Estimate, Meter, Range, Sized
from orchd.cel.declare import Library, function, member
from orchd.cel.libraries.standard import count_pattern, estimate_pattern
from orchd.cel.regex import dynamic_pattern
from orchd.cel.types import INT, STRING, list_of

_FAILURE = "Illegal regex: error parsing regexp"


def _estimate(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    estimate = estimate_pattern(target, args)
    return None if estimate is None or target is None else Estimate(estimate.cost, Range(0, target.size.high))


def _find(meter: Meter, text: str, pattern: str) -> str:
    return dynamic_pattern(meter, pattern, _FAILURE).find(meter, text)


def _find_all(meter: Meter, text: str, pattern: str, limit: int = -1) -> list[str]:
    return dynamic_pattern(meter, pattern, _FAILURE).find_all(meter, text, limit)


_COST = Cost(_estimate, count_pattern, True)
_STRINGS = list_of(STRING)

LIBRARY = Library(
    name="regex",
    functions=(
        function("find", member("string_find_string", [STRING, STRING], STRING, _find, cost=_COST, metered=True)),
        function(
            "findAll",
            member("string_find_all_string", [STRING, STRING], _STRINGS, _find_all, cost=_COST, metered=True),
            member("string_find_all_string_int", [STRING, STRING, INT], _STRINGS, _find_all, cost=_COST, metered=True),
        ),
    ),
)
