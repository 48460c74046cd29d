"""Sources of expressions, positions in them, and issues: messages that name a position.

Offsets count code points from 0. Lines and columns of messages count from 1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

#: An issue that belongs to no place of the text, such as too deep nesting.
NOWHERE = -1
#: An issue about a part of the text of which no place is known.
UNPLACED = -2
#: Issues that are shown; the number of others is named.
MAX_ISSUES = 100
#: Longer lines are not repeated in messages.
MAX_SNIPPET_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One thing that is wrong with an expression. ``offset`` is ``NOWHERE`` where no place of the text is at fault, or
    ``UNPLACED``."""

    offset: int
    message: str


class Source:
    """The text of one expression, with its lines."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None

    def location(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 1; (-1, 0) for ``NOWHERE``, (1, 0) for ``UNPLACED`` and in an
        empty text.
        """
        if offset == NOWHERE:
            return -1, 0
        if offset == UNPLACED or not self.text:
            return 1, 0
        starts = self._lines()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str | None:
        """Return a line without its end, None if there is no such line or no text at all."""
        starts = self._lines()
        if not 1 <= number <= len(starts) or not self.text:
            return None
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end]

    def _lines(self) -> list[int]:
        if self._starts is None:
            self._starts = [0] + [at + 1 for at, character in enumerate(self.text) if character == "\n"]
        return self._starts


def render_issues(source: Source, issues: Iterable[Issue]) -> str:
    """Return the text of issues in order of their position: message, line of the source, and a mark below it."""
    issues = list(issues)
    rendered = sorted(issues[:MAX_ISSUES], key=lambda issue: source.location(issue.offset))
    texts = [_render(source, issue) for issue in rendered]
    if len(issues) > MAX_ISSUES:
        texts.append(f"{len(issues) - MAX_ISSUES} more errors were truncated")
    return "\n".join(texts)


def _render(source: Source, issue: Issue) -> str:
    number, column = source.location(issue.offset)
    text = f"ERROR: <input>:{number}:{column}: {issue.message}"
    line = source.line(number)
    if line is None or len(line.encode("utf-8", "surrogatepass")) > MAX_SNIPPET_BYTES:
        return text
    line = line.replace("\t", " ")
    at = max(column - 1, 0)
    before, mark = line[:at], line[at : at + 1]
    dots = "".join("\uff0e" if character > "\x7f" else "." for character in before)
    pointer = "\uff3e" if mark > "\x7f" else "^"
    return f"{text}\n | {line}\n | {dots}{pointer}"
