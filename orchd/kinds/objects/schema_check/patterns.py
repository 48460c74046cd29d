"""Regular expressions of schemas, in the RE2 dialect of the reference and run by RE2 itself: the time that a match takes
grows with the text and never with the expression's tricks.
"""

from __future__ import annotations

from typing import Any, Final

import re2

from orchd.kinds.shorttexts import remember_short

#: What RE2 says about an expression -> how the reference says it.
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


class PatternError(ValueError):
    """An expression that is none, in the reference's words."""


def _options() -> Any:
    options = re2.Options()
    # What is wrong with an expression is told to who sent it, not to the log.
    options.log_errors = False
    return options


@remember_short(4096)
def pattern(text: str) -> Any:
    """A compiled expression, with ``search``. Raises PatternError."""
    foreign = _foreign(text)
    if foreign:
        raise PatternError(_HEAD + foreign)
    try:
        return re2.compile(text, _options())
    except re2.error as error:
        raise PatternError(_HEAD + _said(error.args[0])) from None


def _said(why: str | bytes) -> str:
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
            # The first bracket of a class stands for itself.
            i += 1 + text.startswith("^", i + 1)
            i += text.startswith("]", i)
        elif text.startswith("(?<", i):
            return "invalid or unsupported Perl syntax: `(?<`"
        else:
            i += 1
    return ""


def pattern_error(text: str) -> str:
    """Why an expression cannot be used; "" when it can."""
    try:
        pattern(text)
    except PatternError as error:
        return str(error)
    return ""
