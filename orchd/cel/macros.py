"""Macros: calls that stand for other expressions, most of them for comprehensions.

Everything that a macro makes has the offset of the call that it replaces.
"""

from __future__ import annotations

from orchd.cel.building import Expander, MacroError
from orchd.cel.syntax import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select, children

#: The accumulator of macros; no expression can name it.
RESULT = "@result"
UNUSED = "#unused"


def name_of(node: Node, message: str) -> str:
    """Return the name of a node that must be a simple name."""
    if not isinstance(node, Ident):
        raise MacroError(node.offset, message)
    return node.name


def _variables(args: list[Node], count: int, message: str = "argument must be a simple name") -> tuple[str, str | None]:
    """Return the variables of a loop, which are the first arguments."""
    names = [name_of(arg, message) for arg in args[:count]]
    if count == 2 and names[0] == names[1]:
        raise MacroError(args[1].offset, f"duplicate variable name: {names[0]}")
    for name, arg in zip(names, args, strict=False):
        if name in (RESULT, "__result__"):
            raise MacroError(arg.offset, "iteration variable overwrites accumulator variable")
    return names[0], names[1] if count == 2 else None


class Maker:
    """Makes nodes at one offset."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def literal(self, value: object) -> Literal:
        return Literal(self.offset, value)

    def result(self) -> Ident:
        return Ident(self.offset, RESULT)

    def call(self, function: str, *args: Node) -> Call:
        return Call(self.offset, function, list(args))

    def list(self, *elements: Node) -> ListLiteral:
        return ListLiteral(self.offset, list(elements))

    def loop(
        self, over: Node, variables: tuple[str, str | None], parts: tuple[Node, Node, Node, Node], hint: str
    ) -> Comprehension:
        return Comprehension(self.offset, over, variables, RESULT, parts, hint=hint)

    def bind(self, name: str, value: Node, result: Node) -> Comprehension:
        """A variable for one expression."""
        parts = (value, self.literal(False), Ident(self.offset, name), result)
        return Comprehension(self.offset, self.list(), (UNUSED, None), name, parts, hint="bind")


def has(offset: int, target: Node | None, args: list[Node]) -> Node:
    """has(a.b)"""
    (arg,) = args
    if not isinstance(arg, Select):
        raise MacroError(arg.offset, "invalid argument to has() macro")
    return Select(offset, arg.operand, arg.field, test=True)


def quantifier(kind: str, variables: int) -> Expander:
    """``all`` and ``exists`` over one variable or two."""

    def expand(offset: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, variables)
        make = Maker(offset)
        predicate = args[variables]
        assert target is not None
        if kind == "all":
            condition = make.call("@not_strictly_false", make.result())
            step = make.call("_&&_", make.result(), predicate)
        else:
            condition = make.call("@not_strictly_false", make.call("!_", make.result()))
            step = make.call("_||_", make.result(), predicate)
        return make.loop(target, names, (make.literal(kind == "all"), condition, step, make.result()), kind)

    return expand


def exists_one(variables: int) -> Expander:
    def expand(offset: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, variables)
        make = Maker(offset)
        assert target is not None
        one_more = make.call("_+_", make.result(), make.literal(1))
        step = make.call("_?_:_", args[variables], one_more, make.result())
        result = make.call("_==_", make.result(), make.literal(1))
        return make.loop(target, names, (make.literal(0), make.literal(True), step, result), "")

    return expand


def transform_list(variables: int, message: str = "argument must be a simple name") -> Expander:
    """``map`` and ``transformList``, with a condition or without."""

    def expand(offset: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, variables, message)
        assert target is not None
        condition = args[variables] if len(args) == variables + 2 else None
        return collect(Maker(offset), target, names, args[-1], condition)

    return expand


def collect(
    make: Maker, over: Node, names: tuple[str, str | None], element: Node, condition: Node | None
) -> Comprehension:
    """A loop that makes a list."""
    step: Node = make.call("_+_", make.result(), make.list(element))
    if condition is not None:
        step = make.call("_?_:_", condition, step, make.result())
    return make.loop(over, names, (make.list(), make.literal(True), step, make.result()), "map")


def filter_list(offset: int, target: Node | None, args: list[Node]) -> Node:
    names = _variables(args, 1, "argument is not an identifier")
    assert target is not None
    return collect(Maker(offset), target, names, args[0], args[1])


def transform_map(*, entries: bool) -> Expander:
    """``transformMap`` and ``transformMapEntry``."""

    def expand(offset: int, target: Node | None, args: list[Node]) -> Node:
        names = _variables(args, 2)
        make = Maker(offset)
        assert target is not None
        added = [args[-1]] if entries else [Ident(offset, names[0]), args[-1]]
        step: Node = make.call("cel.@mapInsert", make.result(), *added)
        if len(args) == 4:
            step = make.call("_?_:_", args[2], step, make.result())
        start = MapLiteral(offset, [])
        return make.loop(target, names, (start, make.literal(True), step, make.result()), "insert")

    return expand


def copied(node: Node) -> Node:
    """Return a copy of an unchecked tree that shares no node with it, not even below comprehensions."""
    from copy import copy

    clone = copy(node)
    match clone:
        case Select():
            clone.operand = copied(clone.operand)
        case Call():
            clone.args = [copied(arg) for arg in clone.args]
            clone.target = copied(clone.target) if clone.target is not None else None
        case ListLiteral():
            clone.elements = [copied(element) for element in clone.elements]
        case _ if children(clone):
            from copy import deepcopy

            return deepcopy(node)
    return clone


STANDARD: dict[tuple[str, int, bool], Expander] = {
    ("has", 1, False): has,
    ("all", 2, True): quantifier("all", 1),
    ("exists", 2, True): quantifier("exists", 1),
    ("exists_one", 2, True): exists_one(1),
    ("map", 2, True): transform_list(1, "argument is not an identifier"),
    ("map", 3, True): transform_list(1, "argument is not an identifier"),
    ("filter", 2, True): filter_list,
}
