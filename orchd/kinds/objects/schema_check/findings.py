"""What a check finds, and how it reads in an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.objects.validate.gosyntax import interface, quote, show

INVALID: Final = "FieldValueInvalid"
REQUIRED: Final = "FieldValueRequired"
UNSUPPORTED: Final = "FieldValueNotSupported"
#: A member that a schema does not allow; answers call it invalid.
FORBIDDEN: Final = "Forbidden"
DUPLICATE: Final = "FieldValueDuplicate"
#: How the reference prints the place of something that is wrong with an object as a whole.
NO_PLACE: Final = "<nil>"


class Finding:
    """Something wrong with a value. `path` grows on the way up, so that nothing is built for values that are right.

    `text` is what follows ``{path} in body``; where `whole` is set, what follows ``"{path}"``.
    """

    __slots__ = ("path", "reason", "text", "value", "whole")

    def __init__(self, reason: str, text: str = "", value: Any = "", *, whole: bool = False) -> None:
        self.path: str | None = None
        self.reason = reason
        self.text = text
        self.value = value
        self.whole = whole

    def under(self, name: str) -> Finding:
        """The same, seen from the object that has the value as its member `name`."""
        self.path = name if self.path is None else f"{name}.{self.path}"
        return self

    def cause(self, prefix: str = "", *, field: str = "") -> Cause:
        """As an answer says it; `prefix` is the path of the value that was checked. `field` is where that value is a part
        of something else, whose path the text then leaves out."""
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
    """A JSON value as messages have it."""
    return interface(value) if isinstance(value, dict | list) else show(value)


def invalid(at: str, value: Any, why: str) -> Cause:
    return Cause(INVALID, f"Invalid value: {render_value(value)}: {why}", at)


def required(at: str, why: str = "") -> Cause:
    return Cause(REQUIRED, f"Required value: {why}" if why else "Required value", at)


def duplicate(at: str, value: Any) -> Cause:
    return Cause(DUPLICATE, f"Duplicate value: {render_value(value)}", at)


def aggregate(causes: Sequence[Cause]) -> str:
    """Causes as one text, each once; bracketed when there are several."""
    said = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    return said[0] if len(said) == 1 else f"[{', '.join(said)}]"


#: The JSON types as the reference's language names them.
_GO: Final = {
    bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}", dict: "map[string]interface {}"
}  # fmt: skip


def go_type(value: Any) -> str:
    """The type of a JSON value in the reference's language."""
    return "<nil>" if value is None else _GO.get(type(value), "float64")


def supported(values: Sequence[str]) -> str:
    return "supported values: " + ", ".join(map(quote, values))
