"""Loops with two variables: index and element of a list, key and value of a map."""

from __future__ import annotations

from orchd.cel.declare import Library, function, overload
from orchd.cel.macros import exists_one, quantifier, transform_list, transform_map
from orchd.cel.operators import MISSING, find_key
from orchd.cel.printed import printed
from orchd.cel.types import map_of, parameter
from orchd.cel.values import EvaluationError, Map, Value

_K, _V = parameter("K"), parameter("V")
_MAP = map_of(_K, _V)


def _insert(target: Value, key: Value, value: Value) -> Value:
    if find_key(target, key) is not MISSING:
        raise EvaluationError(f"insert failed: key {printed(key)} already exists")
    if not isinstance(target, Map):
        copy = Map()
        for present in target:
            copy.put(present, find_key(target, present))
        target = copy
    target.put(key, value)
    return target


def _insert_all(target: Value, entries: Value) -> Value:
    for key in entries:
        target = _insert(target, key, find_key(entries, key))
    return target


LIBRARY = Library(
    name="two-variable comprehensions",
    functions=(
        # Only macros can call it, on an accumulator that nobody else sees: see `control_flow`.
        function(
            "cel.@mapInsert",
            overload("@mapInsert_map_key_value", [_MAP, _K, _V], _MAP, _insert),
            overload("@mapInsert_map_map", [_MAP, _MAP], _MAP, _insert_all),
        ),
    ),
    macros={
        ("all", 3, True): quantifier("all", 2),
        ("exists", 3, True): quantifier("exists", 2),
        ("existsOne", 3, True): exists_one(2),
        ("exists_one", 3, True): exists_one(2),
        ("transformList", 3, True): transform_list(2),
        ("transformList", 4, True): transform_list(2),
        ("transformMap", 3, True): transform_map(entries=False),
        ("transformMap", 4, True): transform_map(entries=False),
        ("transformMapEntry", 3, True): transform_map(entries=True),
        ("transformMapEntry", 4, True): transform_map(entries=True),
    },
)
