"""Findings of schema checks, and their messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.gotext.values import interface, quote, show, show_json
from orchd.kinds.objects.validate.report import too_long, too_many
from orchd.kinds.release import Release

INVALID: Final = "FieldValueInvalid"
REQUIRED: Final = "FieldValueRequired"
UNSUPPORTED: Final = "FieldValueNotSupported"
#: Code of a member that a schema does not allow, reported as invalid.
FORBIDDEN: Final = "Forbidden"
DUPLICATE: Final = "FieldValueDuplicate"
#: Reasons of values that rules cannot rely on: values of another type, long texts, large lists and objects.
TYPE: Final = "FieldValueTypeInvalid"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
#: Path that the reference prints for a finding about a whole object.
NO_PLACE: Final = "<nil>"


class Finding:
    """A violation of a schema. `path` is extended while the finding propagates upwards, so that valid values cost
    nothing.

    `text` follows ``{path} in body`` in the message, or ``"{path}"`` if `whole` is set. `limit` is the bound of what is
    too long or too many.
    """

    __slots__ = ("limit", "path", "reason", "text", "value", "whole")

    def __init__(self, reason: str, text: str = "", value: Any = "", *, whole: bool = False, limit: int = 0) -> None:
        self.limit = limit
        self.path: str | None = None
        self.reason = reason
        self.text = text
        self.value = value
        self.whole = whole

    @property
    def blocks(self) -> bool:
        """True if the value is not of the shape that rules rely on, so that none is evaluated."""
        return self.reason in _BLOCKING

    def under(self, name: str) -> Finding:
        """The finding relative to the object that has the value as its member `name`."""
        path = self.path
        self.path = name if path is None else f"{name}{path}" if path.startswith("[") else f"{name}.{path}"
        return self

    def at_item(self, index: int) -> Finding:
        """The finding relative to the list that has the value as an item."""
        return self.under(f"[{index}]")

    def cause(self, release: Release, prefix: str = "", *, field: str = "") -> Cause:
        """The cause for a response. `prefix` is the path of the checked value. `field` is set if that value is part of
        another one, whose path the message omits."""
        path = self.path or ""
        if prefix:
            path = prefix + (path if path.startswith("[") else f".{path}") if path else prefix
        if self.whole:
            return invalid(field or NO_PLACE, "", f'"{path}" {self.text}', release)
        inside = path.removeprefix(".")
        at = ".".join(filter(None, (field, inside))) or NO_PLACE
        if self.reason == REQUIRED:
            return required(at)
        if self.reason == UNSUPPORTED:
            return Cause(UNSUPPORTED, f"Unsupported value: {render_value(self.value, release)}: {self.text}", at)
        if self.reason == FORBIDDEN:
            path = f"{path}.{self.value}"
        reason, message = release.choose(_CLASSES)(self, f"{path} in body {self.text}", release)
        return Cause(reason, message, at)


_BLOCKING: Final = frozenset((REQUIRED, UNSUPPORTED, TYPE, TOO_LONG, TOO_MANY))


def _as_invalid(finding: Finding, text: str, release: Release) -> tuple[str, str]:
    """Reason and message: the value is invalid, whatever is wrong with it."""
    return INVALID, f"Invalid value: {render_value(finding.value, release)}: {text}"


def _by_reason(finding: Finding, text: str, release: Release) -> tuple[str, str]:
    """Reason and message: values of another type and those that exceed a limit have reasons of their own."""
    if finding.reason == TYPE:
        return TYPE, _as_invalid(finding, text, release)[1]
    if finding.reason == TOO_LONG:
        return TOO_LONG, f"Too long: {too_long(finding.limit).in_release(release)}"
    if finding.reason == TOO_MANY:
        return TOO_MANY, f"Too many: {finding.value}: {too_many(finding.limit).in_release(release)}"
    return _as_invalid(finding, text, release)


#: How findings are classified, from a release on.
_CLASSES: Final[tuple[tuple[str, Callable[[Finding, str, Release], tuple[str, str]]], ...]] = (
    ("", _as_invalid),
    ("1.25", _by_reason),
)


def _in_go(value: Any) -> str:
    return interface(value) if isinstance(value, dict | list) else show(value)


_PRINTERS: Final[tuple[tuple[str, Callable[[Any], str]], ...]] = (("", _in_go), ("1.34", show_json))


def render_value(value: Any, release: Release) -> str:
    """Format a JSON value for messages."""
    return release.choose(_PRINTERS)(value)


def invalid(at: str, value: Any, why: str, release: Release) -> Cause:
    return Cause(INVALID, f"Invalid value: {render_value(value, release)}: {why}", at)


def required(at: str, why: str = "") -> Cause:
    return Cause(REQUIRED, f"Required value: {why}" if why else "Required value", at)


def duplicate(at: str, value: Any, release: Release) -> Cause:
    return Cause(DUPLICATE, f"Duplicate value: {render_value(value, release)}", at)


def aggregate(causes: Sequence[Cause]) -> str:
    """Join distinct causes to one text, in brackets if there are several."""
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def list_supported(values: Sequence[str]) -> str:
    return "supported values: " + ", ".join(map(quote, values))
