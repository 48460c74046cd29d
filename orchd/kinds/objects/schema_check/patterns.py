"""Regular expressions of schemas, in the dialect of the reference."""

from __future__ import annotations

from typing import Final

from orchd.cel.patternsize import tokens
from orchd.cel.regex import Pattern, PatternError
from orchd.kinds.release import Release
from orchd.kinds.shorttexts import remember_short

#: Parts that a match may leave out: what takes about 100 ms to compile. Published definitions have patterns of 8,000.
_MOST_OPTIONAL: Final = 10_000
_HEAD: Final = "error parsing regexp: "


#: True where groups may not be named as in ``(?<name>``, from a release on.
_REFUSES_NAMES: Final = (("", True), ("1.30", False))


@remember_short(4096)
def pattern(text: str) -> Pattern:
    """Compile an expression. Raises PatternError with the reference's message."""
    try:
        return Pattern(text, _MOST_OPTIONAL)
    except PatternError as error:
        raise PatternError(_HEAD + str(error)) from None


def pattern_error(text: str, release: Release) -> str:
    """The error of an expression in a release, "" if it is valid."""
    if release.choose(_REFUSES_NAMES) and "(?<" in text and any(token.startswith("(?<") for token in tokens(text)):
        # RE2 takes it.
        return f"{_HEAD}invalid or unsupported Perl syntax: `(?<`"
    try:
        pattern(text)
    except PatternError as error:
        return str(error)
    return ""
