"""Regular expressions of schemas, executed by RE2 in the dialect of the reference: matching takes linear time.
"""

from __future__ import annotations

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


class PatternError(ValueError):
    """An invalid expression. The message is the reference's."""


def _options() -> Any:
    options = re2.Options()
    # Errors are returned to the client, not logged.
    options.log_errors = False
    return options


@remember_short(4096)
def pattern(text: str) -> Any:
    """Compile an expression to an object with ``search``. Raises PatternError."""
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
