"""Does a patched object still fit its type? The checks and texts of the step that follows a strategic merge patch.

Text scalars with a form of their own (quantities, times) are not checked here: reading the object says more about them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchd.kinds.ir import Type
from orchd.kinds.patch.gotext import kind_name

_INTEGERS: Final = {"int32": "int32", "int64": "int64", "int64ns": "int64", "uint32": "uint32", "uint64": "uint64"}


def problem(value: Any, type: Type) -> str:
    """Why `value` cannot become a `type`, "" when it can: ``cannot restore slice from map``."""
    kind = type.kind
    if value is None:
        return ""
    if kind == "struct":
        if not isinstance(value, dict):
            return f"cannot restore struct from: {kind_name(value)}"
        for name, field in type.fields.items():
            if value.get(name) is not None and (found := problem(value[name], field.type)):
                return found
        return ""
    if kind == "list":
        if not isinstance(value, list):
            return f"cannot restore slice from {kind_name(value)}"
        return _first_problem(value, type.element)
    if kind == "map":
        if not isinstance(value, dict):
            return f"cannot restore map from {kind_name(value)}"
        return _first_problem(value.values(), type.element)
    return _scalar_problem(value, kind)


def _first_problem(items: Iterable[Any], type: Type) -> str:
    for item in items:
        if found := problem(item, type):
            return found
    return ""


def _scalar_problem(value: Any, kind: str) -> str:
    is_bool = isinstance(value, bool)
    if kind == "string":
        if isinstance(value, str):
            return ""
        # A number could be taken for a character; everything else has no conversion at all.
        return (
            "cannot convert int64 to string" if isinstance(value, int) and not is_bool else "unrecognized type: string"
        )
    if kind == "bool":
        return "" if is_bool else "unrecognized type: bool"
    if kind in _INTEGERS:
        name = _INTEGERS[kind]
        if is_bool or not isinstance(value, int | float):
            return f"unrecognized type: {name}"
        return "" if value == int(value) else f"cannot convert float64 to {name}"
    if kind == "bytes":
        return "" if isinstance(value, str | list) else f"cannot restore slice from {kind_name(value)}"
    return ""
