"""`Sheet`: the lines of a description, with cells that are aligned like those of stock clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.objects.tabulate.text import NONE

#: Longest line of an annotation; longer ones are cut.
_LONGEST: Final = 140
_GAP: Final = 2
_NO_TIME: Final = "Mon, 01 Jan 0001 00:00:00 +0000"


class Sheet:
    """Collects lines; `text` aligns them. Tabs separate the cells of a line. A column is as wide as its widest cell in
    neighbouring lines; the text after the last tab of a line takes no part."""

    def __init__(self, skipped: frozenset[str] = frozenset()) -> None:
        """`skipped`: keys of annotations that are not shown."""
        self._skipped = skipped
        self._lines: list[str] = []

    def line(self, text: str = "", level: int = 0) -> None:
        """Add lines; `level` indents the first."""
        self._lines += ("  " * level + text).split("\n")

    def row(self, title: str, value: Any, level: int = 0) -> None:
        """Add a title and its value."""
        self.line(f"{title}:\t{plain(value)}", level)

    def rows(self, obj: Mapping[str, Any], titles: Mapping[str, str], level: int = 0) -> None:
        """Add a row per title for the fields of `obj` that are set."""
        for key, title in titles.items():
            if obj.get(key) not in (None, ""):
                self.row(title, obj[key], level)

    def listed(self, title: str, values: Sequence[str]) -> None:
        """Add values, one a line, under each other."""
        first, *rest = values or (NONE,)
        self.line(f"{title}:\t{first}")
        for value in rest:
            self.line(f"\t{value}")

    def labels(self, title: str, labels: Mapping[str, str] | None) -> None:
        self.listed(title, [f"{key}={value}" for key, value in sorted((labels or {}).items())])

    def annotations(self, annotations: Mapping[str, str] | None, title: str = "Annotations") -> None:
        lines: list[str] = []
        for key, value in sorted((annotations or {}).items()):
            text = value.removesuffix("\n")
            if key in self._skipped:
                continue
            if len(text) + len(key) + 2 > _LONGEST or "\n" in text:
                lines.append(f"{key}:")
                lines += [f"  {_cut(each)}" for each in text.split("\n")]
            else:
                lines.append(f"{key}: {text}")
        self.listed(title, lines)

    def head(self, obj: Mapping[str, Any], *more: str) -> None:
        """Add name, namespace, labels and annotations."""
        metadata = obj["metadata"]
        self.row("Name", metadata["name"])
        if metadata.get("namespace"):
            self.row("Namespace", metadata["namespace"])
        for line in more:
            self.line(line)
        self.labels("Labels", metadata.get("labels"))
        self.annotations(metadata.get("annotations"))

    def table(
        self, headings: Sequence[str], rows: Iterable[Sequence[Any]], level: int = 1, *, spaced: bool = False
    ) -> None:
        """Add rows under underlined headings; `spaced`: a space follows each cell of rows but the last."""
        self.line("\t".join(headings), level)
        self.line("\t".join("-" * len(each) for each in headings), level)
        for row in rows:
            self.line((" \t" if spaced else "\t").join(map(plain, row)), level)

    def text(self) -> list[str]:
        return _aligned(self._lines)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST - 2 else text[: _LONGEST - 2] + "..."


def _aligned(lines: Sequence[str]) -> list[str]:
    cells = [line.split("\t") for line in lines]
    out = ["" for _ in lines]
    _align(cells, out, 0, 0, len(lines))
    return out


def _align(cells: list[list[str]], out: list[str], column: int, first: int, last: int) -> None:
    """Write the cells from `column` on of the lines from `first` to before `last`, which all have them."""
    at = first
    while at < last:
        end = at
        while end < last and len(cells[end]) > column + 1:
            end += 1
        if end == at:
            out[at] += cells[at][column]
            at += 1
            continue
        width = max(len(cells[each][column]) for each in range(at, end)) + _GAP
        for each in range(at, end):
            out[each] += cells[each][column].ljust(width)
        _align(cells, out, column + 1, at, end)
        at = end


def plain(value: Any) -> str:
    """A value as text: lists and mappings as stock clients print them."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(inner)}' for key, inner in sorted(value.items()))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(plain, value))}]"
    return str(value)


def moment(time: str | None) -> str:
    """A time of an object in the local time zone."""
    if not time:
        return _NO_TIME
    return datetime.fromisoformat(time).astimezone().strftime("%a, %d %b %Y %H:%M:%S %z")


def controller(obj: Mapping[str, Any]) -> str:
    """The controller of an object as ``Kind/name``, "" for none."""
    owner = fields.owner(obj)
    return f"{owner['kind']}/{owner['name']}" if owner else ""
