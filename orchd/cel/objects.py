"""Data of JSON seen through a structural schema.

`viewer` makes of a schema a function that turns data into values: scalars at once, lists and objects into views, which
turn what they have when it is asked for. Data that is not what the schema says becomes an error where it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from orchd.cel import times, types
from orchd.cel.costs import Meter
from orchd.cel.names import escape, unescape
from orchd.cel.operators import MISSING, ListView, MapView, equal_values, find_key, is_list, is_map, raised
from orchd.cel.scalars import (
    FORMATS,
    Computed,
    Viewer,
    boolean,
    int_or_string,
    integer,
    invalid,
    null_error,
    number,
    text,
)
from orchd.cel.values import Concatenation, EvaluationError, Opaque, Optional, Timestamp, Value, map_key, no_overload

Schema = Mapping[str, Any]


class Keywords:
    """The keywords of schemas beyond OpenAPI, whose names have a vendor in them: ``x-VENDOR-int-or-string``."""

    __slots__ = ("embedded", "int_or_string", "list_keys", "list_type", "preserve")

    def __init__(self, vendor: str) -> None:
        self.preserve = f"x-{vendor}-preserve-unknown-fields"
        self.int_or_string = f"x-{vendor}-int-or-string"
        self.embedded = f"x-{vendor}-embedded-resource"
        self.list_type = f"x-{vendor}-list-type"
        self.list_keys = f"x-{vendor}-list-map-keys"


_STRING: Schema = {"type": "string"}
_METADATA: Schema = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}


def with_metadata(schema: Schema) -> Schema:
    """Return the schema of a whole resource: with kind, apiVersion and metadata."""
    properties = schema.get("properties") or {}
    metadata = properties.get("metadata") or {}
    if (
        all((properties.get(name) or {}).get("type") == "string" for name in ("kind", "apiVersion"))
        and metadata.get("type") == "object"
        and all(
            ((metadata.get("properties") or {}).get(name) or {}).get("type") == "string"
            for name in ("name", "generateName")
        )
    ):
        return schema
    return {**schema, "properties": {**properties, "kind": _STRING, "apiVersion": _STRING, "metadata": _METADATA}}


def viewer(schema: Schema, keywords: Keywords) -> Viewer:
    """Return the function that turns data of a schema into values."""
    convert = _converter(schema, keywords)
    if schema.get("nullable"):
        return lambda data: None if data is None else convert(data)
    return convert


def _converter(schema: Schema, keywords: Keywords) -> Viewer:
    if schema.get(keywords.int_or_string):
        return int_or_string
    match schema.get("type"):
        case "object":
            return _Shape(schema, keywords).view
        case "array":
            return _list_viewer(schema, keywords)
        case "string":
            return FORMATS.get(schema.get("format") or "", text)
        case "number":
            return number
        case "integer":
            return integer
        case "boolean":
            return boolean
    if schema.get(keywords.preserve):
        return Unknown
    return lambda data: EvaluationError(
        "invalid type, expected object, array, number, integer, boolean or string, or no type with"
        f" x-{types.VENDOR}-int-or-string or x-{types.VENDOR}-preserve-unknown-fields is true, got {schema.get('type') or ''}"
    )


class _Nothing:
    """The class of no data at all."""


#: Viewers that return data of a class as it is.
_DIRECT: dict[Viewer, type] = {text: str, integer: int, number: float, boolean: bool}


class Unknown(Opaque):
    """Data without a type: it can be compared, and nothing else."""

    __slots__ = ("data",)
    cel_type = types.Type("unknown", "unknown")

    def __init__(self, data: Any) -> None:
        self.data = data

    def equals(self, other: Value, meter: Meter) -> bool:
        return same_data(self.data, native(other), meter)


# Objects and maps.


class _Shape:
    """An object or a map of a schema: viewers of its fields, made when they are first needed."""

    __slots__ = ("_keywords", "_schemas", "_values", "fields", "is_object", "viewers")

    def __init__(self, schema: Schema, keywords: Keywords) -> None:
        self._keywords = keywords
        properties = schema.get("properties")
        if schema.get(keywords.embedded):
            properties = with_metadata(schema)["properties"]
        self.is_object = properties is not None
        additional = schema.get("additionalProperties")
        self._schemas: Mapping[str, Schema] = properties or {}
        self._values: Schema | None = additional if not self.is_object and isinstance(additional, Mapping) else None
        #: Viewers by name of JSON; of a map there is one.
        self.viewers: dict[str, Viewer] = {}
        #: (name of JSON, viewer, class of data that needs no viewer) by name of the language, for names that were
        #: looked up.
        self.fields: dict[str, tuple[str, Viewer, type] | None] = {}

    def view(self, data: Any) -> Value:
        if data.__class__ is dict:
            return ObjectView(data, self)
        return null_error(data) or invalid("expected a map for the provided schema with type=object")

    def viewer(self, name: str) -> Viewer | None:
        """Return the viewer of a field by its name in JSON, None if the schema does not know the field."""
        if not self.is_object:
            name = ""
        viewer_ = self.viewers.get(name)
        if viewer_ is None:
            schema = self._schemas.get(name) if self.is_object else self._values
            if schema is None:
                return None
            viewer_ = self.viewers[name] = viewer(schema, self._keywords)
        return viewer_

    def field(self, key: str) -> tuple[str, Viewer, type] | None:
        """Return the name in JSON and the viewer of a field, and the class of data that is its own value."""
        try:
            return self.fields[key]
        except KeyError:
            name = unescape(key)
            viewer = self.viewer(name) if name is not None else None
            result = None
            if name is not None and viewer is not None:
                result = (name, viewer, _DIRECT.get(viewer, _Nothing))
            if len(self.fields) <= len(self._schemas):
                self.fields[key] = result
            return result


class ObjectView(MapView):
    """An object, whose keys are names of the language, or a map, whose keys are those of the data."""

    __slots__ = ("data", "shape")
    class_name = "*common.unstructuredMap"

    def __init__(self, data: dict[str, Any], shape: _Shape) -> None:
        self.data = data
        self.shape = shape

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[str]:
        shape = self.shape
        for name in self.data:
            if shape.viewer(name) is not None:
                yield (escape(name) or name) if shape.is_object else name

    def find(self, key: Value) -> Value:
        if key.__class__ is not str:
            raise no_overload()
        shape = self.shape
        if not shape.is_object:
            view = shape.viewer(key)
            return view(self.data[key]) if view is not None and key in self.data else MISSING
        field = shape.field(key)
        if field is None:
            return MISSING
        value = self.data.get(field[0])
        return MISSING if value is None else field[1](value)

    def equals(self, other: Value, meter: Meter) -> bool:
        if not is_map(other):
            raise no_overload()
        if len(self) != len(other):
            return False
        for name, data in self.data.items():
            meter.work(1)
            if self.shape.viewer(name) is not None:
                mine, yours = self.find(name), find_key(other, name)
                if (mine is MISSING) != (yours is MISSING):
                    return False
                if mine is not MISSING and not equal_values(raised(mine), raised(yours), meter):
                    return False
            elif not isinstance(other, ObjectView):
                raise no_overload()
            elif name in other.data and not same_data(data, other.data[name], meter):
                return False
        return True


# Lists.


def _list_viewer(schema: Schema, keywords: Keywords) -> Viewer:
    items = schema.get("items")
    kind = schema.get(keywords.list_type)
    views: dict[str, Callable[[list[Any]], Value]] = {}
    if items is not None:
        view = viewer(items, keywords)
        keys = [escape(key) or key for key in schema.get(keywords.list_keys) or ()]
        views = {
            "set": partial(SetView, view),
            "map": partial(KeyedView, view, keys),
            "atomic": partial(ItemsView, view),
        }

    def convert(data: Any) -> Value:
        if data.__class__ is not list:
            return null_error(data) or invalid("expected an array for the provided schema with type=array")
        if items is None:
            return EvaluationError("invalid array type, expected Items with a non-empty Schema")
        make = views.get(kind or "atomic")
        if make is None:
            text = f"invalid x-{types.VENDOR}-list-type, expected 'map', 'set' or 'atomic' but got {kind}"
            return EvaluationError(text)
        return make(data)

    return convert


class ItemsView(ListView):
    """A list whose elements are compared in order."""

    __slots__ = ("data", "view")
    class_name = "*common.unstructuredList"

    def __init__(self, view: Viewer, data: list[Any]) -> None:
        self.view = view
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Value]:
        return map(self.view, self.data)

    def item(self, index: int) -> Value:
        return self.view(self.data[index])

    def contains(self, value: Value, meter: Meter) -> bool:
        failure: EvaluationError | None = None
        for element in self:
            meter.work(1)
            try:
                if equal_values(raised(element), value, meter):
                    return True
            except EvaluationError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return False

    def add(self, other: Value) -> Value:
        return ItemsView(self.view, [*self.data, *map(_added, other)])

    def equals(self, other: Value, meter: Meter) -> bool:
        if not is_list(other):
            raise no_overload()
        if len(self) != len(other):
            return False
        for mine, yours in zip(self, other, strict=True):
            meter.work(1)
            if not equal_values(raised(mine), yours, meter):
                return False
        return True


class SetView(ItemsView):
    """A list without order or duplicates."""

    __slots__ = ()
    class_name = "*common.unstructuredSetList"

    def add(self, other: Value) -> Value:
        keys = {map_key(data) for data in self.data}
        added = list(self.data)
        for data in map(native, other):
            if map_key(data) not in keys:
                keys.add(map_key(data))
                added.append(data)
        return SetView(self.view, added)

    def equals(self, other: Value, meter: Meter) -> bool:
        if not is_list(other):
            raise no_overload()
        if len(self) != len(other):
            return False
        meter.work(len(self))
        items = {_hashable(data) for data in self.data}
        return all(_hashable(native(value)) in items for value in other)


class KeyedView(ItemsView):
    """A list of objects, each with keys of its own, without order."""

    __slots__ = ("keys",)
    class_name = "*common.unstructuredMapList"

    def __init__(self, view: Viewer, keys: list[str], data: list[Any]) -> None:
        super().__init__(view, data)
        self.keys = keys

    def key(self, data: Any) -> Any:
        if data.__class__ is not dict:
            return None
        return tuple(_hashable(data.get(key)) for key in self.keys)

    def add(self, other: Value) -> Value:
        added = list(self.data)
        places = {self.key(data): index for index, data in enumerate(added)}
        for data in map(native, other):
            place = places.get(self.key(data))
            if place is None:
                added.append(data)
            else:
                added[place] = data
        return KeyedView(self.view, self.keys, added)

    def equals(self, other: Value, meter: Meter) -> bool:
        if not is_list(other):
            raise no_overload()
        if len(self) != len(other):
            return False
        mine = {self.key(data): data for data in self.data}
        for value in other:
            meter.work(1)
            data = mine.get(self.key(native(value)), MISSING)
            if data is MISSING or not equal_values(raised(self.view(data)), value, meter):
                return False
        return True


# Plain data.


def native(value: Value) -> Any:
    """Return the data of a value, in the form in which lists with a schema store added items."""
    if isinstance(value, ObjectView | ItemsView | Unknown):
        return value.data
    if isinstance(value, Optional):
        return native(value.value)
    if isinstance(value, Timestamp):
        return times.timestamp_text(value)
    if is_list(value) and value.__class__ is not list:
        return [native(element) for element in value]
    return value


def _added(value: Value) -> Any:
    return Computed() if value.__class__ in (list, Concatenation) else native(value)


def _hashable(data: Any) -> Any:
    return repr(data) if data.__class__ in (dict, list) else map_key(data)


def same_data(first: Any, second: Any, meter: Meter | None = None) -> bool:
    """Say whether two data of JSON are the same; empty lists and objects are the same as null."""
    if meter is not None:
        meter.work(1)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same_data(first[key], second[key], meter) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(_same_pairs(first, second, meter))
    return first.__class__ is second.__class__ and bool(first == second)


def _same_pairs(first: list[Any], second: list[Any], meter: Meter | None) -> Iterable[bool]:
    return (same_data(mine, yours, meter) for mine, yours in zip(first, second, strict=True))
