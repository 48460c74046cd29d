"""Columns of custom kinds, from additionalPrinterColumns of their definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from orchd.kinds.gotext.values import escape_json
from orchd.kinds.jsonpath import JsonPath, JsonPathError, Visits, compile_path
from orchd.kinds.objects.tabulate.text import Cells, Json, Printing

#: The column of a definition without columns, besides the name.
AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}

Cell = Callable[[Any, Printing], Any]


def printer(columns: Sequence[Mapping[str, Any]]) -> Callable[[Json, Printing], Cells]:
    """A printer of the name and of `columns` (name, type, jsonPath). The cells of an invalid path are empty, and those
    for which no visits are left."""
    columns_: list[tuple[JsonPath | None, Cell]] = []
    for column in columns:
        try:
            path = compile_path(column["jsonPath"])
        except JsonPathError:
            # Such a definition is rejected on writes; one from another server must not hide its objects.
            path = None
        columns_.append((path, _CELLS.get(column["type"], _nothing)))

    def cells(o: Json, x: Printing) -> Cells:
        out: Cells = [o["metadata"].get("name")]
        visits = Visits()
        for path, cell in columns_:
            values = path.first(o, visits) if path is not None else ()
            out.append(cell(values[0], x) if values else None)
        return out

    return cells


def count_searches(columns: Sequence[Mapping[str, Any]]) -> int:
    """How often the paths of `columns` may look at each value of an object: once a step that goes to all values below."""
    return sum(path.count("..") + path.count("*") + path.count("?(") for path in (c["jsonPath"] for c in columns))


def _integer(value: Any, x: Printing) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _number(value: Any, x: Printing) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _boolean(value: Any, x: Printing) -> bool | None:
    return value if isinstance(value, bool) else None


def _string(value: Any, x: Printing) -> str:
    """A value as text: lists and maps as JSON with sorted keys, numbers in the shortest form."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, (dict, list)):
        return escape_json(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())
    return str(value)


def number_text(value: float) -> str:
    """A float in the fewest digits, with an exponent of two digits from 1e21 on and below 1e-4."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    if e:
        power = int(exponent)
        if 16 <= power < 21:
            return str(int(value))
        return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02}"
    return mantissa.removesuffix(".0")


def _date(value: Any, x: Printing) -> str | None:
    return x.age.of_custom(value) if isinstance(value, str) else None


def _nothing(value: Any, x: Printing) -> None:
    return None


_CELLS: dict[str, Cell] = {
    "integer": _integer, "number": _number, "boolean": _boolean, "string": _string, "date": _date
}
