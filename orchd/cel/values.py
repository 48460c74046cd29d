"""Values: what expressions compute with.

Null, bool, int, double, string and bytes are the values of Python: None, bool, int (64 bits, signed), float, str,
bytes. A list is a list or a `Concatenation`, or a view of `objects`; a map is a dict whose keys are strings, a `Map`,
or a view of `objects`. Everything else has a class here or in the library that knows it. Values are never edited.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from orchd.cel import types
from orchd.cel.types import Type

if TYPE_CHECKING:
    from orchd.cel.costs import Meter

#: A value of the language.
Value = Any

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
MAX_UINT = 2**64 - 1


def wrapped(number: int) -> int:
    """Return the low 64 bits of a number, signed."""
    return (number - MIN_INT) % 2**64 + MIN_INT


class EvaluationError(Exception):
    """An error that is a value of the language: it is absorbed by ``||``, ``&&`` and their like.

    It may be an element of a list or map of data that is not what its schema says. Its arguments are the parts of the
    message, which is joined when it is read: a part may be long, and most errors are absorbed.
    """

    cel_type = types.opaque("error")

    @property
    def message(self) -> str:
        return "".join(self.args)


class Cancelled(Exception):
    """The evaluation was ended: its budget is used up, or it was interrupted. No operator absorbs this error."""


class Breakdown(Cancelled):
    """A call broke down where the reference's does too, while its cost was counted; its evaluation ends with the
    message.
    """


class Uint:
    """An unsigned integer of 64 bits."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Uint) and self.value == other.value

    def __hash__(self) -> int:
        return hash(("uint", self.value))

    def __repr__(self) -> str:
        return f"{self.value}u"


class Duration:
    """A span of time in nanoseconds (64 bits, signed)."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("duration", self.nanos))


class Timestamp:
    """An instant: nanoseconds since 1970-01-01T00:00:00Z, and the offset from UTC in seconds in which it was
    written."""

    __slots__ = ("nanos", "offset")

    def __init__(self, nanos: int, offset: int = 0) -> None:
        self.nanos = nanos
        self.offset = offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("timestamp", self.nanos))


class Optional:
    """A value or nothing (`NONE`)."""

    __slots__ = ("present", "value")

    def __init__(self, value: Value, present: bool = True) -> None:
        self.value = value
        self.present = present


NONE = Optional(None, False)


class Opaque:
    """Base of the values of libraries. ``cel_type`` is their type."""

    __slots__ = ()
    cel_type: Type
    #: The name of the class of the data inside in messages of the reference.
    data_name: str = ""

    @property
    def class_name(self) -> str:
        """The name of the class in messages of the reference, empty for that of the type."""
        return ""

    def content(self) -> Value:
        """Return what an attribute makes of this inside an optional value: nothing that can be used, where the data has
        a class of its own.
        """
        if not self.data_name:
            return self
        return EvaluationError(f"unsupported conversion to ref.Val: ({self.data_name}){self}")

    def key(self) -> Hashable:
        """Return what stands for this among keys of maps."""
        return id(self)

    def size(self) -> int:
        """The size for costs."""
        return 1

    def equals(self, other: Value, meter: Meter) -> bool:
        """Say whether this is the same as another value of any type.

        Raises `EvaluationError` if that cannot be said.
        """
        raise NotImplementedError


class Concatenation:
    """A list made of two others, which share their elements: adding lists costs the same whatever their length."""

    __slots__ = ("left", "right", "size")

    def __init__(self, left: Value, right: Value, size: int) -> None:
        self.left = left
        self.right = right
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Value]:
        stack: list[Value] = [self]
        while stack:
            part = stack.pop()
            if part.__class__ is Concatenation:
                stack.append(part.right)
                stack.append(part.left)
            else:
                yield from part

    def __getitem__(self, index: int) -> Value:
        part: Value = self
        while part.__class__ is Concatenation:
            left = len(part.left)
            if index < left:
                part = part.left
            else:
                index -= left
                part = part.right
        return part[index]


#: Lists up to this length are copied when they are added.
COPIED = 64


def concatenate(left: Value, right: Value) -> Value:
    """Return the list of the elements of two lists."""
    size_left, size_right = len(left), len(right)
    if not size_left:
        return right
    if not size_right:
        return left
    if size_left + size_right <= COPIED:
        return [*left, *right]
    return Concatenation(left, right, size_left + size_right)


def map_key(key: Value) -> Any:
    """Return what stands for a key in a dict: keys of different types are different, even where Python calls them
    equal.
    """
    kind = key.__class__
    if kind is str or kind is int:
        return key
    if kind in _HASHED:
        return kind, key
    return kind, key.key() if isinstance(key, Opaque) else id(key)


#: Classes of keys that are compared by their value; others usually are the same key only if they are the same object.
_HASHED = frozenset([bool, float, bytes, Uint, Timestamp, Duration, Type, type(None)])


class Map:
    """A map with keys of any type."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        #: map_key(key) -> (key, value)
        self.entries: dict[Any, tuple[Value, Value]] = {}

    def put(self, key: Value, value: Value) -> None:
        self.entries[map_key(key)] = (key, value)

    def remove(self, key: Value) -> None:
        self.entries.pop(map_key(key), None)

    def find(self, key: Value) -> tuple[Value, Value] | None:
        """Return key and value, None if there is none. Numbers of different types that are equal are the same key."""
        entry = self.entries.get(map_key(key))
        if entry is not None:
            return entry
        for other in same_numbers(key):
            entry = self.entries.get(map_key(other))
            if entry is not None:
                return entry
        return None

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Value]:
        for key, _ in self.entries.values():
            yield key


def same_numbers(key: Value) -> list[Value]:
    """Return the integers of other types that equal a number."""
    kind = key.__class__
    if kind is int:
        return [Uint(key)] if key >= 0 else []
    if kind is Uint:
        return [key.value] if key.value <= MAX_INT else []
    if kind is float and key.is_integer():
        whole = int(key)
        numbers: list[Value] = []
        if MIN_INT < whole < MAX_INT:
            numbers.append(whole)
        if 0 <= whole <= MAX_UINT:
            numbers.append(Uint(whole))
        return numbers
    return []


_TYPES: dict[type, Type] = {
    bool: types.BOOL,
    int: types.INT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    Uint: types.UINT,
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Optional: types.opaque("optional_type"),
    list: types.LIST_TYPE,
    Concatenation: types.LIST_TYPE,
    dict: types.MAP_TYPE,
    Map: types.MAP_TYPE,
    Type: types.TYPE,
    type(None): types.NULL,
}


def type_of(value: Value) -> Type:
    """Return the type of a value at run time; of lists and maps without that of their elements."""
    type_ = _TYPES.get(value.__class__)
    if type_ is not None:
        return type_
    declared: Type = value.cel_type
    return declared


def type_name(value: Value) -> str:
    return type_of(value).name


_CLASS_NAMES = {
    "bool": "types.Bool",
    "bytes": "types.Bytes",
    "double": "types.Double",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "int": "types.Int",
    "list": "*types.baseList",
    "map": "*types.baseMap",
    "null_type": "types.Null",
    "optional_type": "*types.Optional",
    "string": "types.String",
    "type": "*types.Type",
    "uint": "types.Uint",
}


def class_name(value: Value) -> str:
    """Return the name of the class of a value as messages of the reference spell it."""
    if isinstance(value, EvaluationError):
        return "*types.Err"
    name = type_of(value).name
    return getattr(value, "class_name", "") or _CLASS_NAMES.get(name, name)


def no_overload() -> EvaluationError:
    return EvaluationError("no such overload")
