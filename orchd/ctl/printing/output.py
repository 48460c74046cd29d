"""Output on standard output: aligned columns, YAML and JSON, with colours at a terminal only."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from orchd.kinds.codec import yaml_

#: Words of a status column, by the colour that they get at a terminal.
_COLOURS = {
    "green": ("Running", "Ready", "Active", "Bound", "Completed", "Succeeded", "True", "Available", "Normal"),
    "yellow": ("Pending", "ContainerCreating", "Terminating", "Unknown", "SchedulingDisabled", "Warning", "Released"),
    "red": ("Failed", "Error", "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "NotReady", "Evicted", "Lost"),
}
_STYLE = {word: colour for colour, words in _COLOURS.items() for word in words}


def interactive() -> bool:
    """True if standard output is a terminal."""
    return sys.stdout.isatty()


#: Characters that a terminal acts upon: C0 but tab and newline, DEL, C1, and those that change the direction of text.
_ACTIVE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A text without characters that a terminal acts upon, which an object may have: ESC is ``^[``, CR ``\\r``, C1
    ``\\u009b``."""
    return _ACTIVE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\r":
        return "\\r"
    return f"^{chr(ord(char) ^ 0x40)}" if ord(char) < 0x80 else f"\\u{ord(char):04x}"


def line(text: str = "") -> None:
    click.echo(printable(text))


def note(text: str) -> None:
    """A line on standard error."""
    click.echo(printable(text), err=True)


def text(text: str) -> None:
    """A text as it is: nothing is escaped, and nothing added at its end."""
    # click removes escape sequences unless colours are requested.
    click.echo(text, nl=False, color=True)


def lines(texts: Iterable[str]) -> None:
    for text in texts:
        line(text)


def raw(data: bytes) -> None:
    """Bytes as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def raw_error(data: bytes) -> None:
    """Bytes as they are, on standard error."""
    sys.stderr.flush()
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


def yaml_text(value: Any) -> str:
    return yaml_.encode(value).decode()


def json_text(value: Any) -> str:
    # JSON escapes C0 by itself.
    return printable(json.dumps(value, indent=4, ensure_ascii=False, sort_keys=True).replace("\x7f", "\\u007f"))


def document(content: str, language: str) -> None:
    """A text in a language: yaml and json as they are, since they escape by themselves."""
    if interactive():
        # Slow to import, and only for terminals.
        from rich.console import Console
        from rich.syntax import Syntax

        Console(soft_wrap=True).print(Syntax(printable(content.rstrip("\n")), language, background_color="default"))
    elif language in ("yaml", "json"):
        text(content.rstrip("\n") + "\n")
    else:
        line(content.rstrip("\n"))


def aligned(row: Iterable[str], widths: Iterable[int], gap: str = "  ") -> str:
    """A row as a line, with cells padded to the widths of their columns."""
    return gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


class Columns:
    """Rows under headings, aligned. Rows that come later (of a watch) keep the widths unless a value is wider. Headings
    are printed in capitals unless they are to be printed `as_given`."""

    def __init__(self, headings: Sequence[str], *, show_headings: bool = True, as_given: bool = False) -> None:
        self._headings = list(headings) if as_given else [heading.upper() for heading in headings]
        self._widths = [len(heading) for heading in self._headings] if show_headings else [0] * len(headings)
        self._due = show_headings

    def write(self, rows: Iterable[Sequence[str]]) -> None:
        listed = [[printable(cell) for cell in row] for row in rows]
        for row in listed:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        if self._due and listed:
            self._due = False
            line(self._aligned(self._headings))
        coloured = interactive()
        for row in listed:
            if coloured:
                self._print(row)
            else:
                line(self._aligned(row))

    def _aligned(self, row: Sequence[str]) -> str:
        return aligned(row, self._widths, "   ")

    def _print(self, row: Sequence[str]) -> None:
        from rich.console import Console
        from rich.text import Text

        text = Text()
        for cell, width in zip(row, self._widths, strict=True):
            text.append(cell.ljust(width), style=_STYLE.get(cell.split(",")[0], ""))
            text.append("   ")
        text.rstrip()
        Console(soft_wrap=True, highlight=False).print(text)


def cell_text(value: Any) -> str:
    """A cell of a table as text on one line."""
    if value is None:
        return "<none>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value).replace("\n", " ")


def bracketed(values: Sequence[str] | None) -> str:
    """Texts in brackets, separated by spaces, as lists of rules show them."""
    return "[" + " ".join(values or ()) + "]"
