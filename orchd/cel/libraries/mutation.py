"""Values of mutations: ``JSONPatch{op: 'add', path: '/a', value: 1}`` and ``Object{spec: Object.spec{replicas:
3}}``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.cel.costs import Meter, reading
from orchd.cel.declare import Library, function, overload
from orchd.cel.operators import MISSING, equals
from orchd.cel.types import STRING, Type, struct
from orchd.cel.values import EvaluationError, Opaque, Value, type_name
from orchd.cel.wire import to_wire

PATCH = "JSONPatch"
OBJECT = "Object"
PATCH_TYPE = struct(PATCH)
_TEXTS = ("op", "path", "from")


class Patch(Opaque):
    """One operation of a JSON patch. ``fields`` has "op", "path", "from" (texts) and, if it was given, "value"."""

    __slots__ = ("fields",)
    cel_type: Type = PATCH_TYPE

    def __init__(self, fields: dict[str, Value]) -> None:
        self.fields = fields

    def field(self, name: str) -> Value:
        return self.fields.get(name, MISSING)

    def equals(self, other: Value, meter: Meter) -> bool:
        return isinstance(other, Patch) and equals(self.fields, other.fields, meter)

    def wire(self, spell: Callable[[str], str]) -> dict[str, Any]:
        fields = {name: self.fields[name] for name in _TEXTS}
        if "value" in self.fields:
            fields["value"] = to_wire(self.fields["value"], spell)
        return {"jsonpatch": fields}


def make_patch(fields: dict[str, Value]) -> Patch:
    """Return the patch of a struct literal. Raises `EvaluationError` for fields of wrong types."""
    for name in _TEXTS:
        value = fields.setdefault(name, "")
        if value.__class__ is not str:
            raise EvaluationError(f"unexpected type {type_name(value)} for JSONPatchType '{name}' field")
    return Patch(fields)


class Object(Opaque):
    """A part of an object that is to be applied. The name of its type is the path to it."""

    __slots__ = ("cel_type", "fields")

    def __init__(self, name: str, fields: dict[str, Value]) -> None:
        self.cel_type = struct(name)
        self.fields = fields

    def field(self, name: str) -> Value:
        return self.fields.get(name, MISSING)

    def equals(self, other: Value, meter: Meter) -> bool:
        return (
            isinstance(other, Object) and self.cel_type == other.cel_type and equals(self.fields, other.fields, meter)
        )

    def wire(self, spell: Callable[[str], str]) -> dict[str, Any]:
        return {"object": self.cel_type.name, "fields": _as_map(self, spell)}


def _as_map(value: Value, spell: Callable[[str], str]) -> dict[str, Any]:
    """Return the typed JSON of fields, and of objects below them, as maps."""
    if isinstance(value, Object):
        return {"map": [[{"string": name}, _as_map(below, spell)] for name, below in value.fields.items()]}
    if isinstance(value, list):
        return {"list": [_as_map(below, spell) for below in value]}
    return to_wire(value, spell)


LIBRARY = Library(
    name="jsonpatch",
    functions=(
        function(
            "jsonpatch.escapeKey",
            overload(
                "string_jsonpatch_escapeKey_string",
                [STRING],
                STRING,
                lambda key: key.replace("~", "~0").replace("/", "~1"),
                cost=reading(0, sized=True),
            ),
        ),
    ),
)
