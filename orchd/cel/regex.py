"""Regular expressions of RE2: matching takes time linear in the text, whatever the pattern.

Patterns that are expensive to compile are refused.
"""

from __future__ import annotations

from typing import Any, Final

import re2

from orchd.cel.costs import Meter
from orchd.cel.patternsize import MAX_OPTIONAL, pattern_size, tokens
from orchd.cel.values import EvaluationError

#: Memory of one compiled pattern and its automaton, in bytes.
_MAX_MEMORY: Final = 4 << 20
#: Number of patterns of evaluations that stay compiled.
_MOST_KEPT: Final = 256
#: Work of a match that is looked at.
_MATCH_WORK: Final = 8
#: Parts of a pattern, times characters of a text, that are a unit of work.
_SEARCH_SHIFT: Final = 8
#: Work of compiling any pattern.
_COMPILE_WORK: Final = 16
#: Optional parts of a pattern, squared, that are a unit of work of its compilation.
_COMPILE_SHIFT: Final = 7


class PatternError(ValueError):
    """An invalid pattern, or one that is expensive to compile. The message says which part is wrong."""


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled", "size")

    def __init__(self, text: str, most: int = MAX_OPTIONAL) -> None:
        """Compile a pattern of which a match may leave out ``most`` parts: the default takes some 50 ms. Raises
        `PatternError`.
        """
        self.size = pattern_size(text)
        if self.size.optional > most:
            raise PatternError(f"expression too large: more than {most} repetitions")
        try:
            self._compiled: Any = re2.compile(text, options=_options())
        except re2.error as error:
            raise PatternError(_describe(error.args[0])) from None
        if "\\C" in text and "\\C" in tokens(text):
            # It matches one byte: texts have none.
            raise PatternError("invalid escape sequence: `\\C`")

    def search(self, meter: Meter, text: str) -> bool:
        self._begin(meter, text)
        return self.matches(text)

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in the text. The work is not metered."""
        return self._compiled.search(text) is not None

    def find(self, meter: Meter, text: str) -> str:
        """Return the first match, empty if there is none."""
        self._begin(meter, text)
        match = self._compiled.search(text)
        return "" if match is None else str(match.group())

    def find_all(self, meter: Meter, text: str, limit: int = -1) -> list[str]:
        """Return matches that do not overlap, at most ``limit`` of them, all if that is negative. The work for each
        match is metered."""
        self._begin(meter, text)
        matches: list[str] = []
        if limit == 0:
            return matches
        last_end = -1
        for match in self._compiled.finditer(text):
            # Finding the places of a match takes time in proportion to the text.
            meter.work(_MATCH_WORK + len(text) // 64)
            # An empty match right behind another match is none.
            if match.start() == match.end() == last_end:
                continue
            last_end = match.end()
            matches.append(match.group())
            if len(matches) == limit:
                break
        return matches

    def _begin(self, meter: Meter, text: str) -> None:
        """Count the work of a search, before it is done: it cannot be interrupted."""
        meter.work(len(text) * self.size.parts >> _SEARCH_SHIFT)


def constant_pattern(text: str, failure: str) -> Pattern:
    """Return the pattern that an expression has as a literal.

    Raises `EvaluationError`, whose text begins with ``failure``.
    """
    try:
        return Pattern(text)
    except PatternError as error:
        raise EvaluationError(f"{failure}: {error}") from None


#: The patterns of evaluations that were used last, by text.
_KEPT: Final[dict[str, Pattern]] = {}


def dynamic_pattern(meter: Meter, text: str, failure: str) -> Pattern:
    """Return a pattern that an evaluation came to, whose compilation is work.

    Raises `EvaluationError` as `constant_pattern` does.
    """
    pattern = _KEPT.get(text)
    if pattern is None:
        optional = min(pattern_size(text).optional, MAX_OPTIONAL)
        meter.work(_COMPILE_WORK + len(text) + (optional * optional >> _COMPILE_SHIFT))
        pattern = constant_pattern(text, failure)
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        _KEPT[text] = pattern
    return pattern


def _options() -> Any:
    options = re2.Options()
    # Errors are returned, not logged.
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    # Captured groups are not used, and capturing many costs time and memory that grow with the square of their number.
    options.never_capture = True
    return options


#: RE2's error message -> the reference's message.
_MESSAGES: Final = {
    "unexpected error": "regexp/syntax: internal error",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


def _describe(message: str | bytes) -> str:
    """Return RE2's message about an error as the reference spells it: what, and the part of the pattern."""
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    what, _, part = text.partition(": ")
    if what == "invalid UTF-8":  # So RE2 calls the end of a pattern behind this, and texts are valid.
        return "invalid escape sequence: `\\x{`"
    if what == "trailing \\":
        return "trailing backslash at end of expression: ``"
    return f"{_MESSAGES.get(what, what)}: `{part}`"
