"""Structural schemas (OpenAPI v3) as declarations: types, and the largest sizes that a request can carry.

Sizes are in units of the cost model: a string of ``maxLength`` n may have 4n bytes; without a limit, a string may fill
a request, and a list may have as many of its smallest elements as fit into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.cel import types
from orchd.cel.costs import Range
from orchd.cel.environment import Struct, Variable
from orchd.cel.estimate import Path
from orchd.cel.names import escape
from orchd.cel.objects import Keywords, Schema, viewer, with_metadata
from orchd.cel.types import Type, list_of, map_of, struct

#: Bytes of the largest request.
MAX_REQUEST = 3 * 1024 * 1024
_FIXED = {"duration": 32, "date": 12, "date-time": 32}
_LEAST = {"duration": 3, "date": 12, "date-time": 21}
_FORMATTED = {"duration": types.DURATION, "date": types.TIMESTAMP, "date-time": types.TIMESTAMP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The declaration of one place of a schema: its type, and sizes.

    ``most`` is the largest size of a value, ``least_bytes`` the shortest text of one in JSON.
    """

    type: Type
    most: int = 0
    least_bytes: int = 2
    fields: Mapping[str, Declared] = field(default_factory=dict)
    key: Declared | None = None
    element: Declared | None = None

    def at(self, path: Path) -> Declared | None:
        """Return the declaration at a path of fields, "@items", "@keys" and "@values", None if there is none."""
        place: Declared | None = self
        for name in path:
            if place is None:
                return None
            match name:
                case "@items" | "@values":
                    place = place.element
                case "@keys":
                    place = place.key
                case _:
                    place = place.fields.get(name)
        return place

    def size(self, path: Path) -> Range | None:
        """Return the size of the value at a path."""
        place = self.at(path)
        return Range(0, place.most) if place is not None else None

    def structs(self) -> dict[str, Struct]:
        """Return the types with fields at this place and below it, by name."""
        structs: dict[str, Struct] = {}
        stack = [self]
        while stack:
            place = stack.pop()
            if place.type.kind == "struct":
                structs[place.type.name] = Struct(fields={name: below.type for name, below in place.fields.items()})
                stack.extend(place.fields.values())
            if place.element is not None:
                stack.append(place.element)
        return structs


_KEY = Declared(type=types.STRING)
_SIMPLE = {
    "boolean": Declared(type=types.BOOL, least_bytes=4),
    "number": Declared(type=types.DOUBLE, least_bytes=1),
    "integer": Declared(type=types.INT, least_bytes=1),
}


def declare(schema: Schema, name: str, keywords: Keywords, *, resource: bool = False) -> Declared | None:
    """Return the declaration of a schema, None if it has no type.

    ``name`` is that of the type; types below it are called ``name.field``, elements of lists ``@idx`` and of maps
    ``@elem``. ``resource`` adds kind, apiVersion and metadata.
    """
    if schema.get(keywords.int_or_string):
        length = schema.get("maxLength")
        return Declared(type=types.DYN, most=MAX_REQUEST - 2 if length is None else max(length, 0) * 4, least_bytes=1)
    if resource:
        schema = with_metadata(schema)
    match schema.get("type"):
        case "array":
            return _declare_list(schema, name, keywords)
        case "object":
            return _declare_object(schema, name, keywords)
        case "string":
            return _declare_string(schema)
        case other:
            return _SIMPLE.get(other or "")


def _declare_list(schema: Schema, name: str, keywords: Keywords) -> Declared | None:
    items = schema.get("items")
    if items is None:
        return None
    element = declare(items, f"{name}.@idx", keywords, resource=bool(items.get(keywords.embedded)))
    if element is None:
        return None
    most = schema.get("maxItems")
    if most is None:
        most = (MAX_REQUEST - 2) // (element.least_bytes + 1)
    return Declared(type=list_of(element.type), most=max(most, 0), element=element)


def _declare_object(schema: Schema, name: str, keywords: Keywords) -> Declared | None:
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        element = declare(values, f"{name}.@elem", keywords, resource=bool(values.get(keywords.embedded)))
        if element is None:
            return None
        most = schema.get("maxProperties")
        if most is None:
            most = (MAX_REQUEST - 2) // (element.least_bytes + 6)
        return Declared(type=map_of(types.STRING, element.type), most=max(most, 0), key=_KEY, element=element)
    required = set(schema.get("required") or ())
    fields: dict[str, Declared] = {}
    least = 2
    for field_name, below in (schema.get("properties") or {}).items():
        escaped = escape(field_name)
        declared = declare(below, f"{name}.{escaped}", keywords, resource=bool(below.get(keywords.embedded)))
        if declared is None:
            continue
        if escaped is not None:
            fields[escaped] = declared
        if field_name in required and below.get("default") is None:
            least += len(field_name.encode()) + declared.least_bytes + 4
    return Declared(type=struct(name), least_bytes=least, fields=fields)


def _declare_string(schema: Schema) -> Declared:
    form = schema.get("format") or ""
    length = schema.get("maxLength")
    if form in _FORMATTED:
        return Declared(type=_FORMATTED[form], most=_FIXED[form], least_bytes=_LEAST[form])
    if form == "byte":
        return Declared(type=types.BYTES, most=MAX_REQUEST - 2 if length is None else max(length, 0))
    if length is not None:
        return Declared(type=types.STRING, most=max(length, 0) * 4)
    values: list[Any] = schema.get("enum") or []
    if values:
        return Declared(
            type=types.STRING, most=max((len(value.encode()) for value in values if isinstance(value, str)), default=0)
        )
    return Declared(type=types.STRING, most=MAX_REQUEST - 2)


def declare_variable(
    schema: Schema, type_name: str, vendor: str, *, resource: bool = False
) -> tuple[Variable, dict[str, Struct]]:
    """Return the declaration of a variable whose values are data of a schema, and the types that come with it.

    ``vendor`` is that of the schema's keywords (`objects.Keywords`). Raises `ValueError` for a schema without a type.
    """
    keywords = Keywords(vendor)
    declared = declare(schema, type_name, keywords, resource=resource)
    if declared is None:
        raise ValueError("a schema without a type declares nothing")
    view = viewer(with_metadata(schema) if resource else schema, keywords)
    return Variable(type=declared.type, adapt=view, size=declared.size), declared.structs()
