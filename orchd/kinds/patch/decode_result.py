"""Conversion of the result of a strategic merge patch, or of an apply, to its type, with the reference's checks and
messages.

Scalars with a special text form (quantities, times) are not checked here: decoding the object reports better errors.
"""

from __future__ import annotations

import binascii
from typing import Any, Final

from orchd.kinds.gotext import typenames
from orchd.kinds.gotext.values import json_name, kind_name
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import shape, shape_scalars
from orchd.kinds.objects.scalars import ScalarError

#: Kind of integer -> its Go name and number of bits.
_INTEGERS: Final = {
    "int32": ("int32", 32), "int64": ("int64", 64), "int64ns": ("int64", 64), "uint32": ("uint32", 32),
    "uint64": ("uint64", 64),
}  # fmt: skip
_BAD_BYTES: Final = "illegal base64 data"
_OF_BYTES: Final = (("", ""), ("1.35", "error decoding from json: "))
_TIMES: Final = frozenset(("time", "microtime", "duration"))


class RestoreError(ValueError):
    """A value that cannot be converted to its type: ``cannot restore slice from map``."""


def restore(value: Any, type: Type, alias: str = "") -> Any:
    """Convert `value` to `type`. Returns `value` itself if nothing changes. Raises RestoreError.

    As in the reference, integers lose a fraction of zero, and high bits beyond their size. `alias` is the named type of
    the value's field, if it has one (`typenames`).
    """
    kind = type.kind
    if value is None:
        return None
    if kind == "struct":
        if not isinstance(value, dict):
            raise RestoreError(f"cannot restore struct from: {kind_name(value)}")
        out = value
        for name, field in type.fields.items():
            old = value.get(name)
            if old is not None:
                new = restore(old, field.type, typenames.alias(type, name))
                if new is not old:
                    out = {**out, name: new}
        return out
    if kind == "list":
        if not isinstance(value, list):
            raise RestoreError(f"cannot restore slice from {kind_name(value)}")
        inner = typenames.elements(alias)
        items = [restore(item, type.element, inner) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if kind == "map":
        if not isinstance(value, dict):
            raise RestoreError(f"cannot restore map from {kind_name(value)}")
        inner = typenames.elements(alias)
        entries = {key: restore(item, type.element, inner) for key, item in value.items()}
        return value if all(entries[key] is item for key, item in value.items()) else entries
    return _scalar(value, kind, alias)


def shape_applied(obj: Object, type: Type) -> Object:
    """The canonical shape of an applied object. Integers lose what exceeds their size. Raises ShapeError or
    RestoreError."""
    try:
        return shape.canonical(obj, type)
    except shape.ShapeError as error:
        restored: Object = restore(obj, type)
        if restored is obj:
            raise shape.ShapeError(explain(error, type)) from None
        return shape.canonical(restored, type)


def explain(error: shape.ShapeError, type: Type) -> str:
    """The text of an error of the bytes of a restored object."""
    text = str(error)
    if text.startswith(_BAD_BYTES) and type.release is not None:
        return type.release.choose(_OF_BYTES) + text
    return text


def _scalar(value: Any, kind: str, alias: str) -> Any:
    is_bool = isinstance(value, bool)
    if kind == "string" and not isinstance(value, str):
        # Go converts numbers to strings as characters; other types have no conversion.
        number = isinstance(value, int) and not is_bool
        raise RestoreError(f"cannot convert int64 to {alias or 'string'}" if number else "unrecognized type: string")
    if kind == "bool" and not is_bool:
        raise RestoreError("unrecognized type: bool")
    if kind in _TIMES and not isinstance(value, str):
        raise RestoreError(f"json: cannot unmarshal {json_name(value)} into Go value of type string")
    if kind == "bytes":
        return _bytes(value)
    if kind == "int-or-string":
        return _int_or_string(value)
    return _integer(value, *_INTEGERS[kind]) if kind in _INTEGERS else value


def _int_or_string(value: Any) -> Any:
    try:
        return shape_scalars.int_or_string(value)
    except shape_scalars.MismatchError as error:
        raise RestoreError(error.text()) from None


def _bytes(value: Any) -> str:
    """Base64, also of a list of numbers."""
    if isinstance(value, list):
        data = bytes(0 if item is None else _integer(item, "uint8", 8) for item in value)
        return binascii.b2a_base64(data, newline=False).decode()
    if not isinstance(value, str):
        raise RestoreError(f"cannot restore slice from {kind_name(value)}")
    try:
        return shape_scalars.base64_text(value)
    except ScalarError as error:
        raise RestoreError(f"error decoding from json: {error}") from None


def _integer(value: Any, name: str, bits: int) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RestoreError(f"unrecognized type: {name}")
    whole = int(value)
    if whole != value:
        raise RestoreError(f"cannot convert float64 to {name}")
    if isinstance(value, float) and not -(1 << 63) <= whole < 1 << 63:
        return -(1 << 63)
    if name.startswith("u"):
        return whole % (1 << bits)
    low = (whole + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return value if low == value and isinstance(value, int) else low
