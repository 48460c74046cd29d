"""The structural schema of a custom kind as a `Type` (specification, "Custom resources": structural schemas).

Keywords about the shape of values become members of the type; others, and descriptions, are stored in
`Type.constraints` under their JSON names. Fields of a struct are converted at their first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.ir import Field, Type

Schema = Mapping[str, Any]

PRESERVE: Final = "x-{long}-preserve-unknown-fields"
EMBEDDED: Final = "x-{long}-embedded-resource"
INT_OR_STRING: Final = "x-{long}-int-or-string"
LIST_TYPE: Final = "x-{long}-list-type"
LIST_KEYS: Final = "x-{long}-list-map-keys"
MAP_TYPE: Final = "x-{long}-map-type"

_SCALARS: Final = {"string": "string", "boolean": "bool", "integer": "int64", "number": "number"}
#: Keywords that are members of `Type` or `Field`.
_STRUCTURE: Final = frozenset(
    ("type", "properties", "additionalProperties", "items", "default", "enum", "nullable", "$schema", "$ref", "id")
)


class SchemaReader:
    """Converts schemas to types in one dialect. `object_meta` is the type of ObjectMeta."""

    def __init__(self, dialect: Dialect, object_meta: Type) -> None:
        self._object_meta = object_meta
        self._preserve = dialect(PRESERVE)
        self._embedded = dialect(EMBEDDED)
        self._int_or_string = dialect(INT_OR_STRING)
        self._list_type = dialect(LIST_TYPE)
        self._list_keys = dialect(LIST_KEYS)
        self._map_type = dialect(MAP_TYPE)
        self._own = _STRUCTURE | {
            self._preserve, self._embedded, self._int_or_string, self._list_type, self._list_keys, self._map_type,
        }  # fmt: skip

    def kind(self, schema: Schema, load: Callable[[], Schema], *, preserve_all: bool = False) -> Type:
        """The type of a kind. `schema` is its root schema, which is not retained; `load` loads it at the first use of
        fields.

        `preserve_all` keeps all unknown fields (preserveUnknownFields of a definition, whose schema need not be
        structural).
        """
        if preserve_all:
            return Type(
                "struct",
                resolve=lambda: self._root_members({}),
                constraints=self._constraints(schema),
                preserve_unknown=True,
            )
        return Type(
            "struct",
            resolve=lambda: self._root_members(load()),
            constraints=self._constraints(schema),
            nullable=bool(schema.get("nullable")),
            preserve_unknown=bool(schema.get(self._preserve)),
            atomic=schema.get(self._map_type) == "atomic",
        )

    def node(self, schema: Schema) -> Type:
        """The type of a schema below the root."""
        kind = self._kind_of(schema)
        more: dict[str, Any] = {"release": self._object_meta.release}
        if kind == "struct":
            more["resolve"] = lambda: self._members(schema)
        elif kind in ("list", "map"):
            inner = schema.get("items" if kind == "list" else "additionalProperties")
            keep = kind == "list" and bool(schema.get(self._preserve))
            if isinstance(inner, dict):
                # preserveUnknownFields of a list applies to its items.
                more["element"] = self.node({**inner, self._preserve: True} if keep else inner)
                # Defaults of struct members are in their field; this one replaces null items.
                more["element_default"] = inner.get("default")
            else:
                more["element"] = Type("any", constraints={}, preserve_unknown=keep)
        if schema.get("enum"):
            more["enum"] = tuple(schema["enum"])
        return Type(
            kind,
            list_type=schema.get(self._list_type) or "",
            list_keys=tuple(schema.get(self._list_keys) or ()),
            atomic=schema.get(self._map_type) == "atomic",
            constraints=self._constraints(schema),
            nullable=bool(schema.get("nullable")),
            preserve_unknown=bool(schema.get(self._preserve)),
            embedded_resource=bool(schema.get(self._embedded)),
            **more,
        )

    def _kind_of(self, schema: Schema) -> str:
        if schema.get(self._int_or_string):
            return "int-or-string"
        named = schema.get("type") or ""
        if named == "integer" and schema.get("format") == "int32":
            return "int32"
        if named in _SCALARS:
            return _SCALARS[named]
        if named == "array":
            return "list"
        if schema.get("properties"):
            return "struct"
        if schema.get("additionalProperties") is not None:
            return "map"
        return "struct" if named == "object" else "any"

    def _constraints(self, schema: Schema) -> dict[str, Any]:
        return {word: value for word, value in schema.items() if word not in self._own}

    def _members(self, schema: Schema) -> tuple[Field, ...]:
        required = frozenset(schema.get("required") or ())
        members = {
            name: Field(name, self.node(inner), required=name in required, default=inner.get("default"))
            for name, inner in (schema.get("properties") or {}).items()
        }
        if schema.get(self._embedded):
            self._identity(members)
        return tuple(members.values())

    def _root_members(self, schema: Schema) -> tuple[Field, ...]:
        members = {field.name: field for field in self._members(schema)}
        self._identity(members)
        return tuple(members.values())

    def _identity(self, members: dict[str, Field]) -> None:
        """Fields that every object has. metadata always has the type ObjectMeta, whatever the schema restricts."""
        for name in ("apiVersion", "kind"):
            members.setdefault(name, Field(name, Type("string", constraints={})))
        members["metadata"] = Field("metadata", self._object_meta)
