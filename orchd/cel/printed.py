"""Values in the texts of errors: times, durations and numbers as the reference prints them."""

from __future__ import annotations

from collections.abc import Iterator

from orchd.cel import numbers
from orchd.cel.durations import format_duration
from orchd.cel.operators import find_key, is_list, is_map
from orchd.cel.times import timestamp_text
from orchd.cel.values import Duration, Optional, Timestamp, Uint, Value

#: Characters after which a text is cut.
MOST = 65_536


def printed(value: Value) -> str:
    """The text of a value, cut after `MOST` characters."""
    pieces: list[str] = []
    length = 0
    for piece in _pieces(value):
        pieces.append(piece)
        length += len(piece)
        if length >= MOST:
            break
    return "".join(pieces)[:MOST]


def _pieces(value: Value) -> Iterator[str]:
    kind = value.__class__
    if is_list(value):
        yield "["
        for at, element in enumerate(value):
            yield ", " if at else ""
            yield from _pieces(element)
        yield "]"
    elif is_map(value):
        yield "{"
        for at, key in enumerate(value):
            yield ", " if at else ""
            yield from _pieces(key)
            yield ": "
            yield from _pieces(find_key(value, key))
        yield "}"
    elif kind is Optional:
        yield "optional"
        yield from ("(", *_pieces(value.value), ")") if value.present else (".none()",)
    else:
        yield _scalar(value)


def _scalar(value: Value) -> str:
    kind = value.__class__
    if value is None:
        return "0"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return numbers.shortest(value)
    if kind is Uint:
        return str(value.value)
    if kind is bytes:
        return f"[{' '.join(str(byte) for byte in value)}]"
    if kind is Timestamp:
        return _timestamp(value)
    return format_duration(value.nanos) if kind is Duration else str(value)


def _timestamp(value: Timestamp) -> str:
    """Date, time and offset, apart; an offset has no name but its digits."""
    date, _, clock = timestamp_text(value).partition("T")
    if not value.offset:
        return f"{date} {clock[:-1]} +0000 UTC"
    zone = clock[-6:].replace(":", "")
    return f"{date} {clock[:-6]} {zone} {zone}"
