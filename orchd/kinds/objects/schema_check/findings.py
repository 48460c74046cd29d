"""Findings of schema checks, and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.gotext.values import interface, quote, show

INVALID: Final = "FieldValueInvalid"
REQUIRED: Final = "FieldValueRequired"
UNSUPPORTED: Final = "FieldValueNotSupported"
#: Code of a member that a schema does not allow, reported as invalid.
FORBIDDEN: Final = "Forbidden"
DUPLICATE: Final = "FieldValueDuplicate"
#: Path that the reference prints for a finding about a whole object.
NO_PLACE: Final = "<nil>"


class Finding:
    """A violation of a schema. `path` is extended while the finding propagates upwards, so that valid values cost nothing.

    `blocks`: the value is not of the shape that rules rely on, so none is evaluated. `text` follows ``{path} in body`` in the message, or ``"{path}"`` if `whole` is set.
    """

    __slots__ = ("blocks", "path", "reason", "text", "value", "whole")

    def __init__(
        self, reason: str, text: str = "", value: Any = "", *, whole: bool = False, blocks: bool = False
    ) -> None:
        self.blocks = blocks or reason in (REQUIRED, UNSUPPORTED)
        self.path: str | None = None
        self.reason = reason
        self.text = text
        self.value = value
        self.whole = whole

    def under(self, name: str) -> Finding:
        """The finding relative to the object that has the value as its member `name`."""
        self.path = name if self.path is None else f"{name}.{self.path}"
        return self

    def cause(self, prefix: str = "", *, field: str = "") -> Cause:
        """The cause for a response. `prefix` is the path of the checked value. `field` is set if that value is part of another
        one, whose path the message omits."""
        path = self.path or ""
        if prefix:
            path = f"{prefix}.{path}" if path else prefix
        if self.whole:
            return invalid(field or NO_PLACE, "", f'"{path}" {self.text}')
        inside = path.removeprefix(".")
        at = ".".join(filter(None, (field, inside))) or NO_PLACE
        if self.reason == REQUIRED:
            return required(at)
        if self.reason == UNSUPPORTED:
            return Cause(UNSUPPORTED, f"Unsupported value: {render_value(self.value)}: {self.text}", at)
        if self.reason == FORBIDDEN:
            path = f"{path}.{self.value}"
        return invalid(at, self.value, f"{path} in body {self.text}")


def render_value(value: Any) -> str:
    """Format a JSON value for messages."""
    return interface(value) if isinstance(value, dict | list) else show(value)


def invalid(at: str, value: Any, why: str) -> Cause:
    return Cause(INVALID, f"Invalid value: {render_value(value)}: {why}", at)


def required(at: str, why: str = "") -> Cause:
    return Cause(REQUIRED, f"Required value: {why}" if why else "Required value", at)


def duplicate(at: str, value: Any) -> Cause:
    return Cause(DUPLICATE, f"Duplicate value: {render_value(value)}", at)


def aggregate(causes: Sequence[Cause]) -> str:
    """Join distinct causes to one text, in brackets if there are several."""
    said = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    return said[0] if len(said) == 1 else f"[{', '.join(said)}]"


def list_supported(values: Sequence[str]) -> str:
    return "supported values: " + ", ".join(map(quote, values))
