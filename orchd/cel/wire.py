"""Values as typed JSON: ``{"int": "5"}``, ``{"list": [..]}``, ``{"map": [[key, value], ..]}``.

This is how programs that test implementations of the language against each other exchange values.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from orchd.cel import numbers, times
from orchd.cel.operators import MISSING, find_key, is_list, is_map
from orchd.cel.types import Type
from orchd.cel.values import NONE, Duration, EvaluationError, Map, Optional, Timestamp, Uint, Value, type_of

#: A byte that is no text.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: What is nested deeper is not shown.
MAX_DEPTH = 60


def to_wire(value: Value, spell: Callable[[str], str], depth: int = 0) -> dict[str, Any]:
    """Return the typed JSON of a value.

    ``spell`` is that of the environment. Data that is not what its schema says is an ``{"error": message}``.
    """
    if depth > MAX_DEPTH:
        return {"deep": True}
    kind = value.__class__
    if value is None:
        return {"null": None}
    if kind is bool:
        return {"bool": value}
    if kind is int:
        return {"int": str(value)}
    if kind is Uint:
        return {"uint": str(value.value)}
    if kind is float:
        text = numbers.shortest(value)
        return {"double": {"+Inf": "Infinity", "-Inf": "-Infinity"}.get(text, text)}
    if kind is str:
        return {"string": value if value.isascii() else _SURROGATE.sub("\ufffd", value)}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if kind is EvaluationError:
        return {"error": spell(value.message)}
    if is_list(value):
        return {"list": [to_wire(element, spell, depth + 1) for element in value]}
    if is_map(value):
        rows: list[list[dict[str, Any]]] = []
        for key in value:
            member = find_key(value, key)
            cell = {"error": f"no such key: {key}"} if member is MISSING else to_wire(member, spell, depth + 1)
            rows.append([to_wire(key, spell, depth + 1), cell])
        # Fields of data that its schema does not know are counted, and otherwise invisible.
        rows += [[{"nil": True}, {"error": "no such overload"}]] * (len(value) - len(rows))
        return {"map": rows}
    if kind is Timestamp:
        return {"timestamp": times.timestamp_text(Timestamp(value.nanos))}
    if kind is Duration:
        return {"duration": times.duration_text(value), "nanos": str(value.nanos)}
    if kind is Type:
        return {"type": spell(value.name)}
    if kind is Optional:
        return {"optional": [to_wire(value.value, spell, depth + 1)] if value.present else []}
    if hasattr(value, "wire"):
        described: dict[str, Any] = value.wire(spell)
        return described
    return {"opaque": spell(type_of(value).name)}


def from_wire(data: dict[str, Any]) -> Value:
    """Return the value of typed JSON. Raises `ValueError` for anything else."""
    (kind, content), *rest = data.items()
    match kind:
        case "null":
            return None
        case "bool" | "string":
            return content
        case "int":
            return int(content)
        case "uint":
            return Uint(int(content))
        case "double":
            return float(content)
        case "bytes":
            return base64.b64decode(content)
        case "list":
            return [from_wire(element) for element in content]
        case "map":
            result = Map()
            for key, value in content:
                result.put(from_wire(key), from_wire(value))
            return result
        case "optional":
            return Optional(from_wire(content[0])) if content else NONE
        case "timestamp":
            timestamp = times.parse_timestamp(content)
            if timestamp is not None:
                return timestamp
        case "duration":
            nanos = dict(rest).get("nanos")
            span = Duration(int(nanos)) if nanos is not None else times.parse_duration(content)
            if span is not None:
                return span
    raise ValueError(f"not a typed value: {kind}")
