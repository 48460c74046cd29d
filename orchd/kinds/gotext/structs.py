"""Values of the reference's internal types in messages: as ``%#v`` prints them, and as JSON in later releases.

`orchd.kinds.gotext.internal_types` has the fields of the types. ``%#v`` prints a pointer as an address, which cannot be
reproduced; every pointer has the same one here.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any, Final, Self

from orchd.kinds.gotext.internal_types import fields_of
from orchd.kinds.gotext.values import GoText, escape_json, interface, quote
from orchd.kinds.quantities import BINARY, DECIMAL, QUANTITY, amount

_POINTER: Final = "(0xc000000000)"


class GoValue(GoText):
    """A value as ``%#v`` prints it; `as_json` is the same value as JSON."""

    __slots__ = ("_as_json", "_type", "_value")
    _type: str
    _value: Any
    #: Kept, as one large value may be shown in many messages. None before it was asked for.
    _as_json: str | None

    @property
    def as_json(self) -> str:
        if self._as_json is None:
            data = _json(self._type, self._value)
            self._as_json = escape_json(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
        return self._as_json

    @property
    def indented(self) -> str:
        """The JSON with a line per member, indented by a space per level."""
        return escape_json(json.dumps(_json(self._type, self._value), ensure_ascii=False, indent=1))


class GoBytes(GoText):
    """Bytes as ``%#v`` prints them; `as_json` is their base64, null for None."""

    __slots__ = ("as_json",)
    as_json: str

    def __new__(cls, raw: bytes | None) -> Self:
        text = super().__new__(
            cls, "[]byte(nil)" if raw is None else "[]byte{" + ", ".join(f"0x{b:x}" for b in raw) + "}"
        )
        text.as_json = "null" if raw is None else f'"{base64.b64encode(raw).decode()}"'
        return text


def dump(type_name: str, value: Any, printed: str = "") -> GoValue:
    """`value` as a Go value of a type of the table, or of a slice, map or pointer of one. `printed` is what ``%#v``
    prints, if the fields do not tell it."""
    value_ = GoValue(printed or _dump(type_name, value))
    value_._type, value_._value, value_._as_json = type_name, value, None
    return value_


def nil_pointer() -> GoValue:
    """A nil pointer as the value of an error."""
    value = GoValue('"null"')
    value._type, value._value, value._as_json = "", None, "null"
    return value


def _dump(type_name: str, value: Any) -> str:
    if type_name == "*v1.Time":
        return "<nil>"
    if type_name == "v1.Time":
        return "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"
    if type_name.startswith("*"):
        return f"(*{type_name[1:]})" + ("(nil)" if value is None else _POINTER)
    if type_name.startswith("[]"):
        if value is None:
            return f"{type_name}(nil)"
        return type_name + "{" + ", ".join(_dump(type_name[2:], v) for v in value) + "}"
    if type_name.startswith("map[string]"):
        if not value:
            return f"{type_name}(nil)"
        inner = type_name[len("map[string]") :]
        return type_name + "{" + ", ".join(f"{quote(k)}:{_dump(inner, value[k])}" for k in sorted(value)) + "}"
    if type_name in ("int32", "int64"):
        return str(value or 0)
    if type_name == "bool":
        return "true" if value else "false"
    if type_name == "intstr.IntOrString":
        kind, number_, text = (1, 0, value) if isinstance(value, str) else (0, value or 0, "")
        return f"intstr.IntOrString{{Type:{kind}, IntVal:{number_}, StrVal:{quote(text)}}}"
    if type_name == "resource.Quantity":
        return go_quantity(str(value))
    if type_name == "core.ResourceList":
        return "core.ResourceList" + _dump("map[string]resource.Quantity", value).removeprefix(
            "map[string]resource.Quantity"
        )
    if type_name.endswith("(nil)"):
        return type_name
    if type_name == "apiextensions.JSON":
        return interface(value)
    fields = _fields(type_name)
    if not fields:
        return f"{type_name}{{{interface(value)}}}" if isinstance(value, (dict, list)) else quote(value or "")
    members = (f"{each.name}:{_dump(each.type, each.of(value))}" for each in fields if not each.newer)
    return type_name + "{" + ", ".join(members) + "}"


class _Field:
    """A field of an internal type. `embedded`: its members are those of the struct itself in JSON. `always`: a
    published type has it in JSON even if it is empty."""

    __slots__ = ("always", "embedded", "json_name", "name", "newer", "type")

    def __init__(self, spelled: str) -> None:
        name, _, type_name = spelled.partition(":")
        self.always, name = name.endswith("!"), name.removesuffix("!")
        self.name, name_given, json_name = name.partition("=")
        self.embedded = bool(name_given) and not json_name
        self.json_name = "metadata" if name == "ObjectMeta=" else (json_name or self.name).lower()
        self.type, newer, _ = type_name.partition("@")
        self.newer = bool(newer)

    def of(self, value: Any) -> Any:
        """The field's value in a struct's. Internal names differ from those of JSON in their capital letters."""
        if self.embedded and self.json_name != "metadata":
            return value
        return next((v for k, v in (value or {}).items() if k.lower() == self.json_name), None)


@cache
def _fields(type_name: str) -> tuple[_Field, ...]:
    return tuple(map(_Field, fields_of(type_name)))


#: Members of a pod's spec that belong to its security context in the internal type.
_HOST: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def _json(type_name: str, value: Any) -> Any:
    """The JSON data of an internal value; its fields have Go's names, except those of types that are also published."""
    if type_name.startswith("*"):
        return None if value is None else _json(type_name[1:], value)
    if type_name.startswith("[]"):
        return None if value is None else [_json(type_name[2:], each) for each in value]
    if type_name.startswith("map[string]"):
        inner = type_name[len("map[string]") :]
        return None if value is None else {key: _json(inner, value[key]) for key in sorted(value)}
    if type_name in _ZERO:
        return _ZERO[type_name] if value is None else value
    if type_name == "resource.Quantity":
        return "0" if value is None else str(value)
    if type_name == "core.ResourceList":
        return None if value is None else {key: str(value[key]) for key in sorted(value)}
    fields = _fields(type_name)
    if not fields:
        return value if value is not None or type_name.endswith("(nil)") else "" if "." in type_name else None
    if type_name.startswith("v1."):
        names = {name.lower(): name for name in value or () if value[name] not in (None, "", [], {})}
        fields_by_name = ((names[each.json_name], each) for each in fields if each.json_name in names)
        empty = {each.name[0].lower() + each.name[1:]: _json(each.type, None) for each in fields if each.always}
        return empty | {name: _json(each.type, value[name]) for name, each in fields_by_name}
    if type_name == "core.PodSpec":
        context = {**(value.get("securityContext") or {}), **{name: value[name] for name in _HOST if name in value}}
        value = {**value, "securityContext": context}
    out: dict[str, Any] = {}
    for each in fields:
        member = _json(each.type, each.of(value))
        if each.embedded:
            out.update(member)
        else:
            out[each.name] = member
    return out


#: The JSON of absent values of types that are no structs.
_ZERO: Final[dict[str, Any]] = {
    "string": "", "bool": False, "int": 0, "int32": 0, "int64": 0, "float64": 0, "intstr.IntOrString": 0,
    "v1.Time": None,
}  # fmt: skip


def quantity(text: str) -> GoValue:
    return dump("resource.Quantity", text)


def go_quantity(text: str, *, short: bool = False) -> str:
    """A quantity as ``%#v`` prints its struct, which depends on how it was written; this is a guess from canonical
    text.

    ``500m`` was written so or, with `short`, as ``0.5``; ``1k`` was written as 1000.
    """
    value, scale = amount(text), 0
    while value.denominator != 1 and scale > -9:
        value, scale = value * 10, scale - 1
    match = QUANTITY.match(text)
    suffix = "" if match is None else match.group(5) or ""
    exponent = "" if match is None else match.group(4) or ""
    scale_floor = int(exponent[1:]) if exponent else 0 if suffix in BINARY or suffix == "k" else DECIMAL[suffix]
    while scale > scale_floor and not short:
        value, scale = value * 10, scale - 1
    if scale_floor > scale == 0:
        value, scale = value / 10**scale_floor, scale_floor
    style = "BinarySI" if suffix in BINARY else "DecimalExponent" if exponent else "DecimalSI"
    return (
        f"resource.Quantity{{i:resource.int64Amount{{value:{value.numerator}, scale:{scale}}}, "
        f'd:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{text}", Format:"{style}"}}'
    )
