"""Scalars of JSON data, read as the type and format of their schema say. An error of the data is returned, not
raised."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from orchd.cel import times
from orchd.cel.base64_errors import URL, failure_offset
from orchd.cel.values import Duration, EvaluationError, Map, Uint, Value

#: Turns data into a value; an error of the data is returned, not raised.
Viewer = Callable[[Any], Value]


class Computed:
    """A computed list that was added to a list with a schema. The reference cannot see it through the schema."""


_GO_TYPES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    dict: "map[string]interface {}",
    Uint: "uint64",
    bytes: "[]uint8",
    Duration: "time.Duration",
    Computed: "[]ref.Val",
    Map: "map[ref.Val]ref.Val",
}


def _go_type(data: Any) -> str:
    return getattr(data, "data_name", "") or _GO_TYPES.get(data.__class__, "[]interface {}")


def invalid(message: str) -> EvaluationError:
    return EvaluationError(f"invalid data, {message}")


def int_or_string(data: Any) -> Value:
    kind = data.__class__
    if kind is str or kind is int:
        return data
    return null_error(data) or invalid("expected XIntOrString value to be either a string or integer")


def null_error(data: Any) -> EvaluationError | None:
    """Return the error for null where a value is needed, None for other data."""
    return invalid("got null for schema with nullable=false") if data is None else None


def text(data: Any) -> Value:
    return data if data.__class__ is str else null_error(data) or invalid(f"expected string, got {_go_type(data)}")


def number(data: Any) -> Value:
    kind = data.__class__
    if kind is float:
        return data
    return float(data) if kind is int else null_error(data) or invalid(f"expected float, got {_go_type(data)}")


def integer(data: Any) -> Value:
    return data if data.__class__ is int else null_error(data) or invalid(f"expected int, got {_go_type(data)}")


def boolean(data: Any) -> Value:
    return data if data.__class__ is bool else null_error(data) or invalid(f"expected bool, got {_go_type(data)}")


def _duration(data: Any) -> Value:
    return times.read_duration(data) if data.__class__ is str else text(data)


def _date(data: Any) -> Value:
    if data.__class__ is not str:
        return text(data)
    timestamp = (
        times.parse_timestamp(f"{data}T00:00:00Z") if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", data) else None
    )
    return timestamp or EvaluationError(f"Invalid date formatted string {data}: {times.date_failure(data)}")


def _date_time(data: Any) -> Value:
    if data.__class__ is not str:
        return text(data)
    return times.parse_date_time(data) or EvaluationError(
        f"Invalid date-time formatted string {data}: {times.date_time_failure(data)}"
    )


_BASE64 = re.compile(r"(?:[\w-]{4})*(?:[\w-]{2}==|[\w-]{3}=)?", re.ASCII)


def _bytes(data: Any) -> Value:
    """The bytes of a text of format byte, which is decoded in the alphabet of URLs: so does the reference."""
    if data.__class__ is not str:
        return text(data)
    encoded = data.replace("\r", "").replace("\n", "")
    if _BASE64.fullmatch(encoded):
        return base64.urlsafe_b64decode(encoded)
    offset = failure_offset(data.encode("utf-8", "surrogatepass"), URL)
    return EvaluationError(f"Invalid byte formatted string {data}: illegal base64 data at input byte {offset}")


FORMATS: dict[str, Viewer] = {"duration": _duration, "date": _date, "date-time": _date_time, "byte": _bytes}
