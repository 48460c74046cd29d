"""The syntax tree of an expression: one class per form, made by `parse`, annotated by `check`.

Every node has the offset of its mark in the source (for a call its opening bracket, for an operator its sign) and,
after checking, its type. Macros are gone from the tree: what they stand for is there instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchd.cel.types import Type


class Node:
    """A node of the tree. ``depth`` is the number of nested operators and selections below and including it."""

    __slots__ = ("depth", "offset", "type")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.depth = 0
        self.type: Type = None  # type: ignore[assignment]  # set by the checker before anybody reads it


class Broken(Node):
    """The node for a text that is no expression. Only the parser sees it: a tree with an issue is never checked.

    ``macro`` says that the text is one, but no call of a macro.
    """

    __slots__ = ("macro",)

    def __init__(self, offset: int, *, macro: bool = False) -> None:
        super().__init__(offset)
        self.macro = macro


class Literal(Node):
    """A constant: null, bool, int, Uint, float, str or bytes."""

    __slots__ = ("value",)

    def __init__(self, offset: int, value: Any) -> None:
        super().__init__(offset)
        self.value = value


class Ident(Node):
    """A name. The checker sets ``name`` to the declared one, and ``constant`` where the name stands for a value.

    ``local`` says that it is the variable of a comprehension.
    """

    __slots__ = ("constant", "local", "name")

    def __init__(self, offset: int, name: str) -> None:
        super().__init__(offset)
        self.name = name
        self.local = False
        self.constant: Any = None


class Select(Node):
    """``operand.field``, or with ``test`` the question whether the field is there.

    ``variable`` is set by the checker where the whole of ``a.b`` is the name of a variable or a type.
    """

    __slots__ = ("field", "operand", "test", "variable")

    def __init__(self, offset: int, operand: Node, field: str, *, test: bool = False) -> None:
        super().__init__(offset)
        self.operand = operand
        self.field = field
        self.test = test
        self.variable: Ident | None = None


class Call(Node):
    """``function(args)`` or ``target.function(args)``. Operators are calls of functions such as ``_+_``.

    The checker sets ``overloads`` to the identifiers of the overloads that may be meant, and moves a target that is the
    first part of a function's name into ``function``.
    """

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, offset: int, function: str, args: list[Node], target: Node | None = None) -> None:
        super().__init__(offset)
        self.function = function
        self.args = args
        self.target = target
        self.overloads: tuple[str, ...] = ()


class ListLiteral(Node):
    """``[a, ?b]``. ``optional`` has the indices of elements that may be absent."""

    __slots__ = ("elements", "optional")

    def __init__(self, offset: int, elements: list[Node], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(offset)
        self.elements = elements
        self.optional = optional


class Entry:
    """One entry of a map literal; ``offset`` is that of the colon."""

    __slots__ = ("key", "offset", "optional", "value")

    def __init__(self, offset: int, key: Node, value: Node, optional: bool) -> None:
        self.offset = offset
        self.key = key
        self.value = value
        self.optional = optional


class MapLiteral(Node):
    """``{key: value}``."""

    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[Entry]) -> None:
        super().__init__(offset)
        self.entries = entries


class Field:
    """One field of a struct literal; ``offset`` is that of the colon."""

    __slots__ = ("name", "offset", "optional", "value")

    def __init__(self, offset: int, name: str, value: Node, optional: bool) -> None:
        self.offset = offset
        self.name = name
        self.value = value
        self.optional = optional


class StructLiteral(Node):
    """``Type{field: value}``. The checker sets ``name`` to the declared one."""

    __slots__ = ("fields", "name")

    def __init__(self, offset: int, name: str, fields: list[Field]) -> None:
        super().__init__(offset)
        self.name = name
        self.fields = fields


class Comprehension(Node):
    """A loop over a list or a map with an accumulator: what ``all``, ``map`` and their like stand for.

    ``variable2`` is None in loops of one variable. The accumulator starts as ``start``; while ``condition`` is not
    false, ``step`` is its next value; ``result`` is the value of the whole. ``hint`` names the macro, so that
    evaluation may know the shape of condition and step.
    """

    __slots__ = ("accumulator", "condition", "hint", "over", "result", "start", "step", "variable", "variable2")

    def __init__(
        self,
        offset: int,
        over: Node,
        variables: tuple[str, str | None],
        accumulator: str,
        parts: tuple[Node, Node, Node, Node],
        *,
        hint: str = "",
    ) -> None:
        super().__init__(offset)
        self.over = over
        self.variable, self.variable2 = variables
        self.accumulator = accumulator
        self.start, self.condition, self.step, self.result = parts
        self.hint = hint


def qualified_name(node: Node) -> str | None:
    """Return ``a.b.c`` for selections on a name, None for every other node."""
    fields: list[str] = []
    while isinstance(node, Select):
        if node.test:
            return None
        fields.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(fields)])


def children(node: Node) -> list[Node]:
    """Return the nodes directly below a node, in the order of the source."""
    match node:
        case Select():
            return [node.operand] if node.variable is None else []
        case Call():
            return [node.target, *node.args] if node.target is not None else list(node.args)
        case ListLiteral():
            return list(node.elements)
        case MapLiteral():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case StructLiteral():
            return [field.value for field in node.fields]
        case Comprehension():
            return [node.over, node.start, node.condition, node.step, node.result]
    return []
