"""The structure of types for field ownership, compiled once per `Type` and cached in its memo.

A node is scalar, map (structs included), list, or of unknown schema. Which lists are merged by key or value follows
the list type, else the strategic merge strategy: a list that strategic merge merges is associative here too.
"""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.ir import Field, Type
from orchd.kinds.objects import shape

SCALAR: Final = 0
MAP: Final = 1
LIST: Final = 2
#: Unknown schema: objects are owned by member, lists as one.
DEDUCED: Final = 3
#: Unknown schema, owned as a whole.
OPAQUE: Final = 4

_NUMERIC: Final = frozenset(("int32", "int64", "uint32", "uint64", "int64ns", "number"))
_TEXT: Final = frozenset(("string", "bytes", "duration"))

#: Scalars whose text may have several JSON types.
_UNTYPED: Final = frozenset(("quantity", "int-or-string", "time", "microtime"))
#: The release from which on stored lists may be irregular, and every scalar is checked.
_LENIENT_SINCE: Final = "1.29"

#: Marks a list key without a default.
NO_DEFAULT: Final = object()


class Node:
    """The structure of one type for field ownership.

    `atomic` nodes are owned as a whole. `fields` maps the declared member names to their path element and node;
    `element` is the node of map values and list items (None: no undeclared members). `keys` are those of a keyed list
    ("" for a set). `text` is "string", "numeric", "boolean" or "untyped" where a scalar is checked. `lenient` lists may
    have several items of one identity, and items without some of the keys. `exact`: Python's equality suffices to
    compare values (it treats 1 and true as equal).
    """

    __slots__ = tuple("_fields atomic defaults element exact keys kind lenient preserve text type".split())

    def __init__(self, kind: int, type: Type, *, atomic: bool = False, preserve: bool = False) -> None:
        self.kind = kind
        self.type = type
        self.atomic = atomic
        self.preserve = preserve
        self.element: Node | None = None
        self.keys: tuple[str, ...] = ()
        self.defaults: tuple[Any, ...] = ()
        self.text = ""
        self.lenient = type.release is not None and type.release.includes(_LENIENT_SINCE)
        self.exact = kind == SCALAR or (bool(type.name) and type.constraints is None)
        self._fields: dict[str, tuple[str, Node]] | None = None

    @property
    def fields(self) -> dict[str, tuple[str, Node]]:
        """Declared members: name -> (path element, node)."""
        if self._fields is None:
            self._fields = _members(self) if self.type.kind == "struct" else {}
        return self._fields

    def child(self, name: str) -> Node | None:
        """The node of a member; None for an undeclared one where these are not allowed."""
        field = self.fields.get(name)
        return self.element if field is None else field[1]


def root(type: Type) -> Node:
    """The node of a kind: a struct with apiVersion and kind."""
    root_: Node | None = type.memo.get("owned")
    if root_ is None:
        root_ = _build(type, False)
        for name in ("apiVersion", "kind"):
            root_.fields.setdefault(name, (f"f:{name}", _TEXT_NODE))
        type.memo["owned"] = root_
    return root_


def node(type: Type, preserve: bool = False) -> Node:
    """The node of any type. `preserve`: inside an object whose unknown members are preserved."""
    memo = "owned.kept" if preserve else "owned.part"
    node_: Node | None = type.memo.get(memo)
    if node_ is None:
        node_ = type.memo[memo] = _build(type, preserve)
    return node_


def conceals_identities(type: Type) -> bool:
    """True if an atomic list of a built-in kind contains sets or keyed lists: repeated items of these are an error,
    although managers own the atomic list as a whole. False from the release on that accepts repeated items."""
    conceals: bool | None = type.memo.get("owned.conceals")
    if conceals is None:
        built = root(type)
        conceals = not built.lenient and bool(type.name) and _conceals(built, False, frozenset())
        type.memo["owned.conceals"] = conceals
    return conceals


def _conceals(node_: Node, within: bool, above: frozenset[int]) -> bool:
    if id(node_) in above or node_.kind not in (MAP, LIST):
        return False
    if within and node_.kind == LIST and not node_.atomic:
        return True
    within = within or (node_.kind == LIST and node_.atomic)
    parts = [part for _, part in node_.fields.values()] + ([node_.element] if node_.element is not None else [])
    return any(_conceals(part, within, above | {id(node_)}) for part in parts)


def _build(type: Type, preserve: bool) -> Node:
    kind = type.kind
    if kind == "struct":
        return _DEDUCED_NODE if shape.is_union(type) else _struct(type, preserve)
    if kind == "map":
        built = Node(MAP, type, atomic=type.atomic, preserve=preserve)
        built.element = node(type.element, preserve)
        built.exact = built.element.exact
        return built
    if kind == "list":
        return _list(type, preserve)
    if kind in ("any", "fieldsv1"):
        return _DEDUCED_NODE
    if kind == "raw":
        return Node(OPAQUE, type, atomic=True)
    built = Node(SCALAR, type, atomic=True)
    if kind in _NUMERIC:
        built.text = "numeric"
    elif kind == "bool":
        built.text = "boolean"
    elif kind in _TEXT and not (type.constraints or {}).get("format"):
        built.text = "string"
    elif built.lenient and kind in _UNTYPED:
        built.text = "untyped"
    return built


def _struct(type: Type, preserve: bool) -> Node:
    named = bool(type.name) and type.constraints is None
    keep = (preserve or type.preserve_unknown) and not named
    built = Node(MAP, type, atomic=type.atomic, preserve=keep)
    if keep or (not named and not type.fields):
        built.element = _DEDUCED_NODE
    return built


def _members(built: Node) -> dict[str, tuple[str, Node]]:
    type = built.type
    out = {name: (f"f:{name}", node(field.type, built.preserve)) for name, field in type.fields.items()}
    if type.embedded_resource or shape.is_kind(type):
        for name in ("apiVersion", "kind"):
            out.setdefault(name, (f"f:{name}", _TEXT_NODE))
    if type.embedded_resource:
        out.setdefault("metadata", ("f:metadata", _DEDUCED_NODE))
    return out


def _list(type: Type, preserve: bool) -> Node:
    keys: tuple[str, ...] = ()
    if type.list_type:
        associative = type.list_type in ("set", "map")
        if type.list_type == "map":
            keys = type.list_keys
    else:
        associative = "merge" in type.merge_strategies
        if type.merge_key:
            keys = (type.merge_key,)
    built = Node(LIST, type, atomic=not associative, preserve=preserve)
    built.element = node(type.element, preserve)
    built.exact = built.element.exact
    built.keys = tuple(sorted(keys))
    fields = type.element.fields if type.element.kind == "struct" else {}
    named = bool(type.element.name) and type.element.constraints is None
    built.defaults = tuple(_key_default(fields.get(key), named) for key in built.keys)
    return built


def _key_default(field: Field | None, named: bool) -> Any:
    """The value of a list key that an item omits. Members that built-in structs always write default to their zero
    value."""
    if field is None:
        return NO_DEFAULT
    if field.default is not None:
        return field.default
    if named and not field.omit and not field.ptr:
        return shape.zero(field.type)
    return NO_DEFAULT


_TEXT_NODE: Final = _build(Type("string"), False)
_DEDUCED_NODE: Final = Node(DEDUCED, Type("any"))
_DEDUCED_NODE.exact = False
