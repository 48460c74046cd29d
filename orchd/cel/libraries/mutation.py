"""Values of mutations: ``JSONPatch{op: 'add', path: '/a', value: 1}`` and ``Object{spec: Object.spec{replicas:
3}}``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.cel.attributes import content_of
from orchd.cel.costs import Meter, reading
from orchd.cel.declare import Library, function, overload
from orchd.cel.operators import MISSING, equals, find_key, is_list, is_map
from orchd.cel.printed import printed
from orchd.cel.types import DYN, STRING, Type, struct
from orchd.cel.values import EvaluationError, Opaque, Value, class_name, type_name
from orchd.cel.wire import to_wire

PATCH = "JSONPatch"
OBJECT = "Object"
PATCH_TYPE = struct(PATCH)
_TEXTS = ("op", "path", "from")
#: Names of the fields of a patch, and their types.
FIELDS = {**dict.fromkeys(_TEXTS, STRING), "value": DYN}


class Patch(Opaque):
    """One operation of a JSON patch. ``fields`` has "op", "path", "from" (texts) and, if it was given, "value"."""

    __slots__ = ("fields",)
    cel_type: Type = PATCH_TYPE

    def __init__(self, fields: dict[str, Value]) -> None:
        self.fields = fields

    def field(self, name: str) -> Value:
        return self.fields.get(name) or MISSING if name in _TEXTS else self.fields.get(name, MISSING)

    def read_absent(self, name: str) -> Value:
        if name not in FIELDS:
            raise EvaluationError(f"unsupported indexer: {name}")
        return self.fields.get(name)

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
    """A part of an object that is to be applied. The name of its type is the path to it.

    Fields are read as plain data: an object below is a map, without its type.
    """

    __slots__ = ("_content", "cel_type", "fields")
    class_name = "*dynamic.ObjectVal"

    def __init__(self, name: str, fields: dict[str, Value]) -> None:
        self.cel_type = struct(name)
        self.fields = fields
        #: Made once: the elements of fields are work of the literal.
        self._content: Value = None

    def content(self) -> Value:
        if self._content is None:
            self._content = self._convert()
        return self._content

    def _convert(self) -> Value:
        for name, value in self.fields.items():
            for key in value if is_map(value) else ():
                if key.__class__ is not str:
                    key_text = f"'{printed(key)}' is of type {class_name(key)}, not string"
                    return EvaluationError(f'fail to convert field "{name}": map key {key_text}')
        return {name: _plain(value) for name, value in self.fields.items()}

    def field(self, name: str) -> Value:
        content = self.content()
        return MISSING if content.__class__ is EvaluationError else content.get(name, MISSING)

    def read_absent(self, name: str) -> Value:
        if self.content().__class__ is EvaluationError:
            raise EvaluationError(f'cannot get field "{name}"')
        return None

    def equals(self, other: Value, meter: Meter) -> bool:
        return isinstance(other, Object) and _same(self, other, meter)

    def wire(self, spell: Callable[[str], str]) -> dict[str, Any]:
        return {"object": self.cel_type.name, "fields": to_wire(self.content(), spell)}


def _plain(value: Value) -> Value:
    """Return the data of the value of a field, and of what is directly below it."""
    if is_map(value):
        return {key: content_of(find_key(value, key)) for key in value}
    return [content_of(element) for element in value] if is_list(value) else content_of(value)


def _same(first: Value, second: Value, meter: Meter) -> bool:
    """Say whether values of fields are the same; the reference takes no two lists and no two maps for the same."""
    meter.work(1)
    if first is second or first.__class__ is not second.__class__:
        return first is second
    if not isinstance(first, Object):
        return not is_map(first) and not is_list(first) and bool(first == second)
    if first.cel_type != second.cel_type or first.fields.keys() != second.fields.keys():
        return False
    return all(_same(value, second.fields[name], meter) for name, value in first.fields.items())


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
