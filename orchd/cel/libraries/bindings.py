"""Names for parts of an expression: ``cel.bind(x, value, expression)`` and ``cel.block``. Not part of any release."""

from __future__ import annotations

from orchd.cel.building import MacroError
from orchd.cel.declare import Library, function, overload
from orchd.cel.macros import Maker, name_of
from orchd.cel.syntax import Ident, ListLiteral, Literal, Node
from orchd.cel.types import DYN, A, list_of


def _is_namespace(target: Node | None) -> bool:
    return isinstance(target, Ident) and target.name == "cel"


def _bind(offset: int, target: Node | None, args: list[Node]) -> Node | None:
    if not _is_namespace(target):
        return None
    name = name_of(args[0], "cel.bind() variable names must be simple identifiers")
    return Maker(offset).bind(name, args[1], args[2])


def _block(offset: int, target: Node | None, args: list[Node]) -> Node | None:
    """Expressions with numbers, and one that refers to them by ``cel.index(number)``."""
    if not _is_namespace(target):
        return None
    if not isinstance(args[0], ListLiteral):
        raise MacroError(args[0].offset, "cel.block() requires a list literal as its first argument")
    return Maker(offset).call("cel.@block", *args)


def _number(node: Node) -> int:
    if not isinstance(node, Literal) or node.value.__class__ is not int or node.value < 0:
        raise MacroError(node.offset, "the index of a variable must be a literal that is not negative")
    return int(node.value)


def _index(offset: int, target: Node | None, args: list[Node]) -> Node | None:
    return Ident(offset, f"@index{_number(args[0])}") if _is_namespace(target) else None


def _loop_variable(offset: int, target: Node | None, args: list[Node]) -> Node | None:
    """A variable of a comprehension by the depth of the loop and the number of the variable."""
    return Ident(offset, f"@it:{_number(args[0])}:{_number(args[1])}") if _is_namespace(target) else None


def _accumulator(offset: int, target: Node | None, args: list[Node]) -> Node | None:
    return Ident(offset, f"@ac:{_number(args[0])}:{_number(args[1])}") if _is_namespace(target) else None


LIBRARY = Library(
    name="bindings",
    functions=(function("cel.@block", overload("cel_block_list", [list_of(DYN), A], A)),),
    macros={("bind", 3, True): _bind},
)
#: Macros for expressions that were taken apart by an optimizer.
BLOCKS = Library(
    name="blocks",
    macros={
        ("block", 2, True): _block,
        ("index", 1, True): _index,
        ("iterVar", 2, True): _loop_variable,
        ("accuVar", 2, True): _accumulator,
    },
)
