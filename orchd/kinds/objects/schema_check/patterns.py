"""Regular expressions of schemas, executed by RE2 in the dialect of the reference: matching takes linear time.

Compiling takes time in the square of the number of parts that a match may leave out, counted after repetitions are written out
(100 ``a{0,1000}``: 11 seconds). It cannot be interrupted, so that expressions with more than `MAX_OPTIONAL` are refused.
"""

from __future__ import annotations

import re
from typing import Any, Final

import re2

from orchd.kinds.shorttexts import remember_short

#: RE2's error message -> the reference's message.
_SAID: Final = {
    "unexpected error": "regexp/syntax: internal error",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
_HEAD: Final = "error parsing regexp: "
#: Maximum count of a repetition.
_MAX_COUNT: Final = 1000
#: What counts as a number beyond any limit.
_MUCH: Final = 1 << 40
#: Maximum number of parts that a match may leave out. RE2 compiles as many in some 25 ms.
MAX_OPTIONAL: Final = 3000
#: A quotation, an escape, a class, a count, the head of a group, or another character. What is not closed extends to the end.
_SYNTAX: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\[px]\{[^}]*+(?:\}|\Z)|\\.|\[\^?\]?(?:\[:[a-z^]++:\]|\\.|[^\]\\])*+(?:\]|\\?\Z)"
    r"|\{(\d{1,9})(,?)(\d{0,9})\}|\(\?P?<[^>]*+(?:>|\Z)|\(\?[^:)]*+(?:[:)]|\Z)|.",
    re.DOTALL,
)


class PatternError(ValueError):
    """An invalid expression. The message is the reference's."""


def _options() -> Any:
    options = re2.Options()
    # Errors are returned to the client, not logged.
    options.log_errors = False
    return options


def optional_parts(text: str) -> int:
    """Estimate the number of parts that a match may leave out, after repetitions are written out. Linear in `text`, which need
    not be valid."""
    groups = [_Group()]
    for match in _SYNTAX.finditer(text):
        token, group = match.group(), groups[-1]
        if token == "(" or (token.startswith("(?") and token[-1] in ":>"):
            groups.append(_Group())
        elif token == ")":
            if len(groups) > 1:
                groups.pop()
                group.close()
                groups[-1].add(group.optional)
        elif token == "|":
            group.close()
            group.optional += 1
        elif token in ("*", "?"):
            group.repeat(0, 1)
        elif token == "+":
            group.repeat(1, 1)
        elif match[1] is not None:
            least = int(match[1])
            if max(least, int(match[3] or 0)) > _MAX_COUNT:
                # The parser refuses it.
                return 0
            group.repeat(least, int(match[3]) if match[3] else least + (match[2] == ","))
        else:
            group.add(0)
    for group in groups:
        group.close()
    return sum(group.optional for group in groups)


class _Group:
    """What `optional_parts` counts of a group, which is open."""

    __slots__ = ("_last", "optional")

    def __init__(self) -> None:
        self.optional = 0
        #: Optional parts of the last part, which may be repeated.
        self._last = 0

    def add(self, optional: int) -> None:
        """Another part."""
        self.close()
        self._last = optional

    def repeat(self, least: int, most: int) -> None:
        """Repeat the last part."""
        self._last = min(self._last * max(least, most) + max(most - least, 0), _MUCH)

    def close(self) -> None:
        """Count the last part."""
        self.optional += self._last
        self._last = 0


@remember_short(4096)
def pattern(text: str) -> Any:
    """Compile an expression to an object with ``search``. Raises PatternError."""
    if optional_parts(text) > MAX_OPTIONAL:
        raise PatternError(f"{_HEAD}expression too large: more than {MAX_OPTIONAL} repetitions")
    foreign = _foreign(text)
    if foreign:
        raise PatternError(_HEAD + foreign)
    try:
        return re2.compile(text, _options())
    except re2.error as error:
        raise PatternError(_HEAD + _describe(error.args[0])) from None


def _describe(why: str | bytes) -> str:
    said = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
    what, _, where = said.partition(": ")
    if what == "trailing \\":
        return "trailing backslash at end of expression: ``"
    return f"{_SAID.get(what, what)}: `{where}`"


def _foreign(text: str) -> str:
    """What RE2 takes and the reference does not: ``(?<name>`` and ``\\C``, outside of classes and quotations."""
    if "(?<" not in text and "\\C" not in text:
        return ""
    i, inside = 0, False
    while i < len(text):
        if text.startswith("\\Q", i) and not inside:
            end = text.find("\\E", i)
            i = len(text) if end < 0 else end + 2
        elif text[i] == "\\":
            if text.startswith("\\C", i):
                return "invalid escape sequence: `\\C`"
            i += 2
        elif inside:
            inside = text[i] != "]"
            i += 1
        elif text[i] == "[":
            inside = True
            # The first bracket of a class is literal.
            i += 1 + text.startswith("^", i + 1)
            i += text.startswith("]", i)
        elif text.startswith("(?<", i):
            return "invalid or unsupported Perl syntax: `(?<`"
        else:
            i += 1
    return ""


def pattern_error(text: str) -> str:
    """The error of an expression, "" if it is valid."""
    try:
        pattern(text)
    except PatternError as error:
        return str(error)
    return ""
