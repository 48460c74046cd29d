"""The schema representation, on which all algorithms over objects recurse as (value, type).

A `Type` is inert data: names, shapes and rules. Built-in kinds are read from the tables in `builtin/` (by `TypeTable`,
lazily), custom kinds from their definition (`crd/`). `kind` is one of

    string bool bytes int32 int64 uint32 uint64 number     scalars (number: JSON number, protobuf double)
    quantity int-or-string time microtime duration int64ns  scalars with their own JSON form
    struct   fields by JSON name                            list    `element`
    map      string keys, values of type `element`          any     any JSON value ("raw": any object; "fieldsv1")

A field line of a table is ``(name, number, type, flags)``. The type is a scalar, ``Name`` of the same module,
``package/version.Name``, ``[]T`` or ``{}T``. Flags, separated by spaces: ``required``, ``omit`` (omitted from output
when empty), ``ptr`` (an explicit zero is preserved), ``inline`` (flattened in JSON, a message of its own in protobuf),
``default=X`` (JSON), ``enum=A|B``, ``merge=key`` or ``merge`` (strategic merge), ``replace``, ``retainKeys``, ``set``,
``list=atomic``, ``keys=a,b`` (list of type map), ``atomic`` (map or struct as one), ``pb=X`` (protobuf type if it does
not follow from the type; ``pb=zero`` for a zero that is encoded though it is absent in JSON), ``granular`` (an atomic
type that this field does not own as one), ``since=1.24`` (the release that introduced the line), ``until=1.30`` (the
first release without it: a field that changed has a line for each form). A flag with ``@1.35`` holds from that release
on, instead of one of the same name before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.release import Release

SCALARS: Final = frozenset(
    "string bool bytes int32 int64 uint32 uint64 number quantity int-or-string time microtime duration int64ns".split()
)
OPAQUE: Final = frozenset(("any", "raw", "fieldsv1"))

#: One line of a table: JSON name, protobuf number (0: none), type, flags.
Line = tuple[str, int, str, str]


class Field:
    """A member of a struct. `name` is "" for an inlined struct, whose fields are in the parent's `fields`."""

    __slots__ = ("default", "inline", "name", "number", "omit", "ptr", "required", "type", "wire")

    def __init__(
        self,
        name: str,
        type: Type,
        *,
        number: int = 0,
        required: bool = False,
        omit: bool = False,
        ptr: bool = False,
        inline: bool = False,
        default: Any = None,
        wire: str = "",
    ) -> None:
        self.name = name
        self.type = type
        self.number = number
        self.required = required
        self.omit = omit
        self.ptr = ptr
        self.inline = inline
        self.default = default
        self.wire = wire

    def __repr__(self) -> str:
        return f"<Field {self.name or '(inline)'}: {self.type!r}>"


class Type:
    """A node of a schema.

    `name` is ``package/version.Name`` for named structs, else "". `members` are the fields in table order with inlined
    structs unexpanded; `fields` maps every JSON name, inlined ones flattened. `list_type` is "", "atomic", "set" or
    "map" (with `list_keys`); `atomic`: a map or struct is owned as one. `merge_strategies` (of "merge", "replace",
    "retainKeys") and `merge_key` are those of strategic merge patch and belong to the field's type. `enum` holds the
    allowed values. `constraints` holds the remaining JSON schema keywords of a custom kind's node by their JSON name;
    `nullable`, `preserve_unknown`, `embedded_resource` and `element_default` (of a list or map, in place of null
    elements) are likewise set only there. `definition` is the name under which OpenAPI publishes the struct, "" if it
    is not published. `release` is that of the tables that a type comes from; for a custom kind, that of the server.
    None for types of algorithms.
    """

    __slots__ = (
        "_resolve",
        "atomic",
        "constraints",
        "definition",
        "element_",
        "element_default",
        "embedded_resource",
        "enum",
        "fields_",
        "granular",
        "kind",
        "list_keys",
        "list_type",
        "members_",
        "memo",
        "merge_key",
        "merge_strategies",
        "name",
        "nullable",
        "preserve_unknown",
        "release",
    )

    def __init__(
        self,
        kind: str,
        *,
        name: str = "",
        element: Type | None = None,
        element_default: Any = None,
        members: Iterable[Field] | None = None,
        resolve: Callable[[], tuple[Field, ...]] | None = None,
        list_type: str = "",
        list_keys: tuple[str, ...] = (),
        atomic: bool = False,
        granular: bool = False,
        merge_strategies: frozenset[str] = frozenset(),
        merge_key: str = "",
        enum: tuple[Any, ...] = (),
        constraints: Mapping[str, Any] | None = None,
        nullable: bool = False,
        preserve_unknown: bool = False,
        embedded_resource: bool = False,
        definition: str = "",
        release: Release | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.element_ = element
        self.element_default = element_default
        self.members_: tuple[Field, ...] | None = None if members is None else tuple(members)
        self.fields_: dict[str, Field] | None = None
        self._resolve = resolve
        self.list_type = list_type
        self.list_keys = list_keys
        self.atomic = atomic
        #: The field says explicitly that it is not owned as one.
        self.granular = granular
        self.merge_strategies = merge_strategies
        self.merge_key = merge_key
        self.enum = enum
        self.constraints = constraints
        self.nullable = nullable
        self.preserve_unknown = preserve_unknown
        self.embedded_resource = embedded_resource
        self.definition = definition
        self.release = release
        #: Results that algorithms compiled from this node, by algorithm name. Derived data, not part of the schema.
        self.memo: dict[str, Any] = {}

    @property
    def element(self) -> Type:
        """Type of list items or map values."""
        assert self.element_ is not None, self
        return self.element_

    @property
    def members(self) -> tuple[Field, ...]:
        """Fields of a struct in table order; an inlined struct is one member."""
        if self.members_ is None:
            self.members_ = () if self._resolve is None else self._resolve()
        return self.members_

    @property
    def fields(self) -> dict[str, Field]:
        """Fields of a struct by JSON name, inlined structs flattened. Do not modify."""
        if self.fields_ is None:
            flat: dict[str, Field] = {}
            for member in self.members:
                if member.inline:
                    flat.update(member.type.fields)
                else:
                    flat[member.name] = member
            self.fields_ = flat
        return self.fields_

    def with_semantics(self, **changes: Any) -> Type:
        """A copy with other merge or list semantics, for fields that override those of their type."""
        keep: dict[str, Any] = {
            "name": self.name,
            "element": self.element_,
            "element_default": self.element_default,
            "list_type": self.list_type,
            "list_keys": self.list_keys,
            "atomic": self.atomic,
            "granular": self.granular,
            "merge_strategies": self.merge_strategies,
            "merge_key": self.merge_key,
            "enum": self.enum,
            "constraints": self.constraints,
            "nullable": self.nullable,
            "preserve_unknown": self.preserve_unknown,
            "embedded_resource": self.embedded_resource,
            "definition": self.definition,
            "release": self.release,
        }
        keep.update(changes)
        return Type(self.kind, resolve=lambda: self.members, **keep)

    def uncached(self) -> Type:
        """An equivalent type that resolves members without caching them, for traversals over all kinds: they must not
        leave all types in memory."""
        if self.members_ is not None or self._resolve is None:
            return self
        looked_at = self.with_semantics()
        looked_at._resolve = self._resolve
        return looked_at

    def forget(self) -> None:
        """Drop what was compiled from this node of a custom kind, and from the nodes below: it refers to them, so that
        only a collection of all objects would free the types."""
        left = [self]
        while left:
            node = left.pop()
            node.memo.clear()
            if node.element_ is not None:
                left.append(node.element_)
            # Named types are those of built-in kinds.
            left.extend(field.type for field in node.members_ or () if not field.type.name)

    def __repr__(self) -> str:
        if self.kind in ("list", "map"):
            return f"<Type {self.kind} of {self.element_!r}>"
        return f"<Type {self.name or self.kind}>"


def _list_lines(types: Mapping[str, tuple[Line, ...]], name: str) -> tuple[Line, ...]:
    """The fields of the list of a kind, where the table has none. Raises KeyError if there is no such kind."""
    kind = name.removesuffix("List")
    if kind == name or kind not in types:
        raise KeyError(name)
    return (("metadata", 1, "meta/v1.ListMeta", "omit"), ("items", 2, f"[]{kind}", "required"))


class TypeTable:
    """The named types of all built-in modules in one dialect and release. A type is built at its first request."""

    def __init__(self, dialect: Dialect, release: Release, modules: Mapping[str, Any]) -> None:
        """`modules` maps ``package/version`` to a builtin module, or to a function that imports it."""
        self._dialect = dialect
        self.release = release
        self._modules = dict(modules)
        self._types: dict[str, Type] = {}
        self._scalars = {k: Type(k, release=release) for k in (*SCALARS, *OPAQUE)}

    def module(self, package: str) -> Any:
        """The builtin module of ``package/version``. Raises KeyError for an unknown one."""
        module = self._modules[package]
        if callable(module):
            module = self._modules[package] = module()
        return module

    def get(self, name: str) -> Type:
        """The struct ``package/version.Name``. Raises KeyError if no table defines it."""
        type_ = self._types.get(name)
        if type_ is None:
            type_ = self._types[name] = self._struct(name)
        return type_

    def _struct(self, name: str) -> Type:
        package, _, short = name.rpartition(".")
        module = self.module(package)
        lines = module.TYPES[short] if short in module.TYPES else _list_lines(module.TYPES, short)
        prefix: str = module.DEFINITIONS
        published = bool(prefix) and short not in getattr(module, "UNPUBLISHED", ())
        return Type(
            "struct",
            name=name,
            resolve=lambda: self._fields(package, lines),
            atomic=short in getattr(module, "ATOMIC", ()),
            definition=self._dialect(prefix) + short if published else "",
            release=self.release,
        )

    def _fields(self, package: str, lines: tuple[Line, ...]) -> tuple[Field, ...]:
        """The fields of the lines that the release has."""
        fields = []
        for line in lines:
            words = self._words(line[3])
            if self.release.includes(words.get("since", ""), words.get("until", "")):
                fields.append(self._field(package, line, words))
        return tuple(fields)

    def _words(self, flags: str) -> dict[str, str]:
        """The flags that hold in the release, with their values."""
        words = {}
        for word in flags.split():
            flag, _, since = word.partition("@")
            if self.release.includes(since):
                name, _, value = flag.partition("=")
                words[name] = value
        return words

    def _field(self, package: str, line: Line, words: Mapping[str, str]) -> Field:
        name, number, spelled, _ = line
        changes: dict[str, Any] = {}
        if "enum" in words:
            changes["enum"] = tuple(filter(None, self._dialect(words["enum"]).split("|")))
        if "set" in words:
            changes["list_type"] = "set"
        if "list" in words:
            changes["list_type"] = words["list"]
        if "keys" in words:
            changes["list_type"] = "map"
            changes["list_keys"] = tuple(words["keys"].split(","))
        if "atomic" in words or "granular" in words:
            changes["atomic"] = "atomic" in words
            changes["granular"] = "granular" in words
        strategies = words.keys() & {"merge", "replace", "retainKeys"}
        if strategies:
            changes["merge_strategies"] = frozenset(strategies)
            changes["merge_key"] = words.get("merge", "")
        type_ = self._resolve_name(package, spelled)
        if changes:
            type_ = type_.with_semantics(**changes)
        return Field(
            self._dialect(name),
            type_,
            number=number,
            required="required" in words,
            omit="omit" in words,
            ptr="ptr" in words,
            inline="inline" in words,
            default=json.loads(words["default"]) if "default" in words else None,
            wire=words.get("pb", ""),
        )

    def _resolve_name(self, package: str, spelled: str) -> Type:
        if spelled.startswith("[]"):
            return Type("list", element=self._resolve_name(package, spelled[2:]), release=self.release)
        if spelled.startswith("{}"):
            return Type("map", element=self._resolve_name(package, spelled[2:]), release=self.release)
        scalar = self._scalars.get(spelled)
        if scalar is not None:
            return scalar
        return self.get(spelled if "." in spelled else f"{package}.{spelled}")
