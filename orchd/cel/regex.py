"""Regular expressions of RE2: matching takes time linear in the text, whatever the pattern."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

from orchd.cel.costs import Meter
from orchd.cel.values import EvaluationError

#: Memory of one compiled pattern and its automaton, in bytes.
MAX_MEMORY = 8 << 20
#: Work of a match that is looked at, in units of `Meter.work`.
MATCH_WORK = 8


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def search(self, text: str) -> bool:
        return self._compiled.search(text) is not None

    def find(self, text: str) -> str:
        """Return the first match, empty if there is none."""
        match = self._compiled.search(text)
        return "" if match is None else str(match.group())

    def find_all(self, meter: Meter, text: str, limit: int = -1) -> list[str]:
        """Return matches that do not overlap, at most ``limit`` of them, all if that is negative. Matches are work."""
        matches: list[str] = []
        if limit == 0:
            return matches
        last_end = -1
        for match in self._compiled.finditer(text):
            # Finding the places of a match takes time in proportion to the text.
            meter.work(MATCH_WORK + len(text) // 64)
            # An empty match right behind another match is none.
            if match.start() == match.end() == last_end:
                continue
            last_end = match.end()
            matches.append(match.group())
            if len(matches) == limit:
                break
        return matches


def compile_pattern(pattern: str, failure: str) -> Pattern:
    """Return the compiled pattern. Raises `EvaluationError`, whose text begins with ``failure``."""
    compiled, error = _compiled(pattern)
    if compiled is None:
        raise EvaluationError(f"{failure}: {error}")
    return compiled


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[Pattern | None, str]:
    if _BYTES.search(pattern):
        return None, "invalid escape sequence: `\\C`"
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        return Pattern(re2.compile(pattern, options=options)), ""
    except re2.error as error:
        text = error.args[0]
        return None, _described(text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text))


#: An escape that matches one byte: texts have none.
_BYTES = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_FAILURES = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}


def _described(text: str) -> str:
    """Return the text of an error as the reference spells it: what, and the part of the pattern."""
    what, _, part = text.partition(": ")
    return f"{_FAILURES.get(what, what)}: `{part}`"
