"""Names of field managers from options and user agents."""

from __future__ import annotations

from typing import Final

from orchd.errors import Cause
from orchd.kinds.gotext.values import quote
from orchd.kinds.objects.validate.report import too_long
from orchd.kinds.release import Release

MAX_LENGTH: Final = 128


def manager_from_user_agent(user_agent: str) -> str:
    """The default field manager: the user agent up to the first slash, printable characters, at most 128 bytes."""
    name = user_agent.partition("/")[0]
    if len(name) <= MAX_LENGTH and name.isascii() and name.isprintable():
        return name
    out = ""
    for char in name:
        if not char.isprintable():
            continue
        if len((out + char).encode("utf-8", "replace")) > MAX_LENGTH:
            break
        out += char
    return out


def validate_manager(name: str, release: Release) -> list[Cause]:
    """Errors of the option ``fieldManager``: more than 128 bytes, non-printable characters."""
    causes = []
    if len(name.encode("utf-8", "replace")) > MAX_LENGTH:
        causes.append(
            Cause("FieldValueTooLong", f"Too long: {too_long(MAX_LENGTH).in_release(release)}", "fieldManager")
        )
    position = 0
    for char in name:
        if not char.isprintable():
            causes.append(
                Cause(
                    "FieldValueInvalid",
                    f"Invalid value: {quote(name)}: invalid character U+{ord(char):04X} (at position {position})",
                    "fieldManager",
                )
            )
        position += len(char.encode("utf-8", "replace"))
    return causes
