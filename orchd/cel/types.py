"""Types, as the checker sees them and as ``type(x)`` returns them.

A type is immutable and compared by value. Its kind decides what may be assigned to it; names of kinds are those of the
language where it has a name for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

#: Stands for the vendor of an environment in the names of types of its libraries, and in messages. What leaves an
#: environment has the name instead (`environment.Environment.spell`).
VENDOR = "\ue000"
#: Kinds of values whose size is always 1.
SCALARS = frozenset(["bool", "double", "duration", "int", "timestamp", "uint"])
_NULLABLE = frozenset(["opaque", "struct", "any", "duration", "timestamp"])
_NAMES = {
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
    "any": "google.protobuf.Any",
}
#: Kinds whose name in messages is not the name of the type.
_MESSAGE_NAMES = {"any": "any", "duration": "duration", "error": "!error!", "null": "null", "timestamp": "timestamp"}


class Type:
    """A type: its kind, its name, and the types it is made of.

    Make one with the constants and functions of this module.
    """

    __slots__ = ("_hash", "generic", "kind", "name", "nullable", "parameters")

    generic: bool

    def __init__(self, kind: str, name: str, parameters: tuple[Type, ...] = (), *, nullable: bool = False) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        #: Whether null may be assigned to it: wrappers of scalars.
        self.nullable = nullable
        #: Whether there are type parameters in it.
        self.generic = kind == "param" or any(parameter.generic for parameter in parameters)
        self._hash = hash((kind, name, parameters, nullable))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Type)
            and self._hash == other._hash
            and self.kind == other.kind
            and self.name == other.name
            and self.nullable == other.nullable
            and self.parameters == other.parameters
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Type({self})"

    def __str__(self) -> str:
        """The full name, as results are described."""
        name = f"wrapper({self.name})" if self.nullable else self.name
        if self.kind == "param":
            return f"<{name}>"
        if not self.parameters:
            return name
        return f"{name}({', '.join(map(str, self.parameters))})"

    @property
    def text(self) -> str:
        """The name as messages of the checker spell it."""
        name = _MESSAGE_NAMES.get(self.kind)
        if name is not None:
            return name
        if not self.parameters:
            return f"wrapper({self.name})" if self.nullable else self.name
        return f"{self.name}({', '.join(parameter.text for parameter in self.parameters)})"

    @property
    def is_dyn(self) -> bool:
        return self.kind in ("dyn", "any")

    @property
    def is_optional(self) -> bool:
        return self.kind == "opaque" and self.name == "optional_type"

    @property
    def is_scalar(self) -> bool:
        """Whether all its values have size 1."""
        if self.kind in SCALARS:
            return True
        return self.is_optional and self.parameters[0].is_scalar

    @property
    def takes_null(self) -> bool:
        return self.nullable or self.kind in _NULLABLE

    def accepts(self, other: Type) -> bool:
        """Say whether values of another type may stand where this one is declared; both without type parameters."""
        if self is other or self.kind in ("dyn", "any", "param"):
            return True
        if self.nullable and other.kind == "null":
            return True
        if self.kind != other.kind or self.name != other.name or len(self.parameters) != len(other.parameters):
            return False
        return all(mine.accepts(yours) for mine, yours in zip(self.parameters, other.parameters, strict=True))


def _simple(kind: str) -> Type:
    return Type(kind, _NAMES.get(kind, kind))


ANY = _simple("any")
BOOL = _simple("bool")
BYTES = _simple("bytes")
DOUBLE = _simple("double")
DURATION = _simple("duration")
DYN = _simple("dyn")
ERROR = Type("error", "error")
INT = _simple("int")
NULL = Type("null", "null_type")
STRING = _simple("string")
TIMESTAMP = _simple("timestamp")
TYPE = _simple("type")
UINT = _simple("uint")

#: Types without parameters that may be named in an expression.
NAMED = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "google.protobuf.Duration": DURATION,
    "int": INT,
    "null_type": NULL,
    "string": STRING,
    "google.protobuf.Timestamp": TIMESTAMP,
    "uint": UINT,
}


@lru_cache(maxsize=1024)
def list_of(element: Type) -> Type:
    return Type("list", "list", (element,))


@lru_cache(maxsize=1024)
def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


@lru_cache(maxsize=1024)
def type_of_type(described: Type) -> Type:
    return Type("type", "type", (described,))


def optional_of(value: Type) -> Type:
    return opaque("optional_type", value)


def opaque(name: str, *parameters: Type) -> Type:
    """A type whose values are seen through functions only."""
    return Type("opaque", name, parameters)


def struct(name: str) -> Type:
    """A type with fields, which the environment knows by this name."""
    return Type("struct", name)


def parameter(name: str) -> Type:
    return Type("param", name)


def wrapper(scalar: Type) -> Type:
    """A scalar or null."""
    return Type(scalar.kind, scalar.name, nullable=True)


def signature(arguments: Iterable[Type], *, member: bool) -> str:
    """Return arguments as messages list them: ``(int, int)``, or ``string.(int)`` with a target."""
    texts = [argument.text for argument in arguments]
    target = f"{texts.pop(0)}." if member else ""
    return f"{target}({', '.join(texts)})"


LIST_TYPE = list_of(DYN)
MAP_TYPE = map_of(DYN, DYN)
A = parameter("A")
B = parameter("B")
LIST_A = list_of(A)
MAP_AB = map_of(A, B)
