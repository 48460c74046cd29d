"""Tables as JSON from rows encoded once per object: only ages are inserted when a table is sent (docs/decisions.md
1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.codec import json_
from orchd.kinds.objects.tabulate.ages import UNKNOWN, Ages
from orchd.kinds.objects.tabulate.table import Tabulator
from orchd.kinds.objects.tabulate.text import Json, Printing

#: Placeholder of an age in the text of a row: a private use character.
_MARK: Final = "\ue0a9"
_MARK_BYTES: Final = _MARK.encode()


class _Marking(Ages):
    """Replaces ages by placeholders, and records their times."""

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
    """A row as JSON, split at the positions of its ages."""

    __slots__ = ("_pieces", "_times")

    def __init__(self, pieces: list[bytes], times: list[str]) -> None:
        self._pieces = pieces
        self._times = times

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return sum(map(len, self._pieces))

    def at(self, ages: Ages) -> bytes:
        """The row at the time of `ages`."""
        times, pieces = self._times, self._pieces
        if len(times) == 1:
            return b"%b%b%b" % (pieces[0], ages(times[0]).encode(), pieces[1])
        out = [pieces[0]]
        for time, piece in zip(times, pieces[1:], strict=True):
            out.append(ages(time).encode())
            out.append(piece)
        return b"".join(out)


def row(obj: Json, metadata: Json | None, how: Tabulator, dialect: Dialect, now: datetime) -> Row | None:
    """The row of an object, which contains the object `metadata`; None if the text of the row contains the placeholder,
    so that the row cannot be cached."""
    marking = _Marking(now)
    text = json_.encode(how.row(obj, Printing(age=marking, dialect=dialect), metadata))
    pieces = text.split(_MARK_BYTES)
    if len(pieces) != len(marking.times) + 1:
        return None
    return Row(pieces, marking.times)


def table_pieces(
    api_version: str, metadata: Mapping[str, Any], columns: bytes, rows: Sequence[bytes], *, null: bool = False
) -> list[bytes]:
    """Encode a Table in pieces to be sent in order, with a final newline. `columns` is the JSON of its column
    definitions; `null`: without rows, it has null instead of a list."""
    head = b'{"kind":"Table","apiVersion":%b,"metadata":%b,"columnDefinitions":%b,"rows":' % (
        json_.encode(api_version),
        json_.encode(metadata),
        columns,
    )
    return [head, b"null}\n"] if null and not rows else [head, b"[", b",".join(rows), b"]}\n"]
