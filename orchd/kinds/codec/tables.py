"""Tables as JSON from rows that are made once per object: only ages are filled in when a table is sent (docs/decisions.md 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.codec import json_, partial
from orchd.kinds.objects.tabulate.ages import UNKNOWN, Ages
from orchd.kinds.objects.tabulate.table import METADATA, NO_OBJECT, Tabulator
from orchd.kinds.objects.tabulate.text import Printing

#: Stands for an age in a row's text; a character for private use, which no sensible object holds.
_MARK: Final = "\ue0a9"
_MARK_BYTES: Final = _MARK.encode()


class _Marking(Ages):
    """Ages that are not known yet: leaves a mark for each and remembers of which time it was."""

    __slots__ = ("times",)

    def __init__(self, now: datetime) -> None:
        super().__init__(now)
        self.times: list[str] = []

    def __call__(self, time: str | None) -> str:
        if not time:
            return UNKNOWN
        datetime.fromisoformat(time)
        self.times.append(time)
        return _MARK


class Row:
    """One row as JSON, in pieces between which ages belong."""

    __slots__ = ("_pieces", "_times")

    def __init__(self, pieces: list[bytes], times: list[str]) -> None:
        self._pieces = pieces
        self._times = times

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return sum(map(len, self._pieces))

    def at(self, ages: Ages) -> bytes:
        """The row as of the moment of `ages`."""
        times, pieces = self._times, self._pieces
        if len(times) == 1:
            return b"%b%b%b" % (pieces[0], ages(times[0]).encode(), pieces[1])
        out = [pieces[0]]
        for time, piece in zip(times, pieces[1:], strict=True):
            out.append(ages(time).encode())
            out.append(piece)
        return b"".join(out)


def row(
    obj: Mapping[str, Any], how: Tabulator, dialect: Dialect, now: datetime, *, include_object: str, api_version: str
) -> Row | None:
    """The row of an object; None for one whose own text holds the mark (it has to be made anew each time)."""
    marking = _Marking(now)
    shown: Any = obj
    if include_object == NO_OBJECT:
        shown = None
    elif include_object == METADATA:
        shown = partial.partial(obj, api_version)
    text = json_.encode(how.row(dict(obj), Printing(age=marking, dialect=dialect), shown))
    pieces = text.split(_MARK_BYTES)
    if len(pieces) != len(marking.times) + 1:
        return None
    return Row(pieces, marking.times)


def table_pieces(
    api_version: str, metadata: Mapping[str, Any], columns: bytes, rows: Iterable[bytes]
) -> list[bytes]:
    """A Table in pieces to be sent in order, final newline included. `columns` is the JSON of its column definitions."""
    head = b'{"kind":"Table","apiVersion":%b,"metadata":%b,"columnDefinitions":%b,"rows":[' % (
        json_.encode(api_version), json_.encode(metadata), columns
    )
    return [head, b",".join(rows), b"]}\n"]
