"""Validation errors of pods in the reference's format: path, error type, value, reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from orchd.errors import quoted


def format_value(value: Any) -> str:
    """A value as in error messages: strings quoted, None as "null", numbers and booleans plain."""
    if value is None:
        return '"null"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else str(value)


def invalid(path: str, value: Any, why: str) -> str:
    return invalid_text(path, format_value(value), why)


def invalid_text(path: str, value: str, why: str) -> str:
    """Like `invalid`, for a value that is already formatted."""
    return f"{path}: Invalid value: {value}" + (f": {why}" if why else "")


def forbidden(path: str, why: str) -> str:
    return f"{path}: Forbidden: {why}"


def required(path: str, why: str = "") -> str:
    return f"{path}: Required value" + (f": {why}" if why else "")


def listing(type_: str, items: Sequence[str] | None) -> str:
    """A list with its Go type: ``[]int64{1, 2}``, ``[]int64(nil)`` for none."""
    return f"{type_}(nil)" if not items else f"{type_}{{{', '.join(items)}}}"


def spans(ranges: Iterable[Any]) -> str:
    """Ranges of ids: ``[{1 10} {20 30}]``."""
    return "[" + " ".join(f"{{{r.get('min') or 0} {r.get('max') or 0}}}" for r in ranges) + "]"


def within(number: int, ranges: Iterable[Any]) -> bool:
    return any((r.get("min") or 0) <= number <= (r.get("max") or 0) for r in ranges)
