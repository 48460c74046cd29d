"""The size of a regular expression, by which expensive ones are refused before they are compiled.

Compiling takes time in the square of the number of parts that a match may leave out, counted after repetitions are
written out (100 ``a{0,1000}``: 11 seconds), and about half a millisecond per class of Unicode properties. It cannot be
interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

#: Maximum of `PatternSize.optional`. RE2 compiles such a pattern in some 50 ms.
MAX_OPTIONAL: Final = 3000
#: What a class of Unicode properties counts as optional parts; other classes count one for each 32 characters.
_PROPERTIES: Final = 30
_CLASS_SHIFT: Final = 5
#: Maximum count of a repetition.
_MAX_COUNT: Final = 1000
#: What counts as a number beyond any limit.
_MUCH: Final = 1 << 40
#: A quotation, an escape, a class, a count, the head of a group, or another character. What is not closed extends to
#: the end.
_SYNTAX: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\[pPx]\{[^}]*+(?:\}|\Z)|\\[pP]?.|\[\^?\]?(?:\[:[a-z^]++:\]|\\.|[^\]\\])*+(?:\]|\\?\Z)"
    r"|\{(\d{1,9})(,?)(\d{0,9})\}|\(\?P?<[^>]*+(?:>|\Z)|\(\?[^:)]*+(?:[:)]|\Z)|.",
    re.DOTALL,
)


class PatternSize(NamedTuple):
    """``optional``: parts that a match may leave out, and as many as large classes are worth; ``parts``: parts in
    all."""

    optional: int
    parts: int


def tokens(text: str) -> Iterator[str]:
    """Return quotations, escapes, classes, counts, heads of groups and characters of a pattern, which need not be
    valid.
    """
    return (match.group() for match in _SYNTAX.finditer(text))


def pattern_size(text: str) -> PatternSize:
    """Estimate the size of a pattern after repetitions are written out. Linear in ``text``, which need not be valid."""
    groups = [_Group()]
    for match in _SYNTAX.finditer(text):
        token, group = match.group(), groups[-1]
        if token == "(" or (token.startswith("(?") and token[-1] in ":>"):
            groups.append(_Group())
        elif token == ")":
            if len(groups) > 1:
                groups.pop()
                group.close()
                groups[-1].add(group.optional, group.parts)
        elif token == "|":
            group.close()
        elif token in ("*", "?"):
            group.repeat(0, 1)
        elif token == "+":
            group.repeat(1, 1)
        elif match[1] is not None:
            least = int(match[1])
            if max(least, int(match[3] or 0)) > _MAX_COUNT:
                # The parser refuses it.
                return PatternSize(0, 0)
            group.repeat(least, int(match[3]) if match[3] else least + (match[2] == ","))
        else:
            group.add(_class_size(token), 1)
    for group in groups:
        group.close()
    return PatternSize(sum(group.optional for group in groups), sum(group.parts for group in groups))


def _class_size(token: str) -> int:
    """The number of optional parts that a part counts as: 0 except for large classes."""
    if token[0] == "\\":
        return _PROPERTIES if token[1:2] in ("p", "P") else 0
    if token[0] != "[":
        return 0
    return max(_PROPERTIES * ("\\p" in token or "\\P" in token), len(token) >> _CLASS_SHIFT)


class _Group:
    """The counts of `pattern_size` for a group that is not closed yet."""

    __slots__ = ("_last_optional", "_last_parts", "optional", "parts")

    def __init__(self) -> None:
        self.optional = self.parts = 0
        #: Those of the last part, which may be repeated.
        self._last_optional = self._last_parts = 0

    def add(self, optional: int, parts: int) -> None:
        """Another part, which may consist of parts."""
        self.close()
        self._last_optional, self._last_parts = optional, parts

    def repeat(self, least: int, most: int) -> None:
        """Repeat the last part."""
        times = max(least, most)
        self._last_optional = min(self._last_optional * times + max(most - least, 0), _MUCH)
        self._last_parts = min(self._last_parts * times, _MUCH)

    def close(self) -> None:
        """Count the last part."""
        self.optional += self._last_optional
        self.parts += self._last_parts
        self._last_optional = self._last_parts = 0
