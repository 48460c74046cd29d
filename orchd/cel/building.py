"""What the parser makes of what it has read: nodes with their depth, and what macros stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchd.cel.lex import Token
from orchd.cel.recovery import GiveUp, TokenReader
from orchd.cel.source import Issue
from orchd.cel.syntax import Broken, Call, Node, children

#: Expands a macro: (call's offset, target or None, arguments) to the tree it stands for, None where it is no macro
#: after all.
Expander = Callable[[int, "Node | None", list[Node]], "Node | None"]


#: Macros that stand for expressions with their target twice: chains of them grow by powers of two.
_DOUBLING = frozenset(["optMap", "optFlatMap"])
#: Nodes that all calls of such macros in one expression may copy.
MAX_COPIED = 5_000


class MacroError(Exception):
    """The arguments of a macro do not fit it."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The parts of the grammar that depend on the environment: macros by (name, number of arguments, with a target),
    and the signs of optionals.
    """

    macros: Mapping[tuple[str, int, bool], Expander] = field(default_factory=dict)
    optionals: bool = True
    escaped_names: bool = False


class NodeBuilder(TokenReader):
    """Makes nodes for the rules of the parser."""

    def __init__(self, tokens: list[Token], grammar: Grammar, issues: list[Issue]) -> None:
        super().__init__(tokens, issues)
        self.grammar = grammar
        self.copied = 0

    def balance(self, function: str, terms: list[Node], offsets: list[int]) -> Node:
        """Make a tree of logarithmic height of the terms of a chain."""
        if not offsets:
            return terms[0]
        middle = len(offsets) // 2
        left = self.balance(function, terms[: middle + 1], offsets[:middle])
        right = self.balance(function, terms[middle + 1 :], offsets[middle + 1 :])
        return self.call(offsets[middle], function, [left, right])

    def call(self, offset: int, function: str, args: list[Node], *, depth: int = 0) -> Node:
        node = Call(offset, function, args)
        node.depth = max(arg.depth for arg in args) + depth
        return node

    def expand(self, offset: int, function: str, args: list[Node], target: Node | None) -> Node:
        """Return the call of a function, or what the macro of this name stands for."""
        depth = max((arg.depth for arg in args), default=0)
        if target is not None:
            depth = max(depth, target.depth) + 1
        macros = self.grammar.macros
        key = (function, len(args), target is not None)
        expander = macros.get(key) or macros.get((function, -1, target is not None))
        node: Node | None = None
        if expander is not None:
            if target is not None and function in _DOUBLING:
                self.count_copied(offset, function, target)
            try:
                node = expander(offset, target, args)
            except MacroError as error:
                self.issues.append(Issue(offset=error.offset, message=str(error)))
                node = Broken(error.offset, macro=True)
        if node is None:
            node = Call(offset, function, args, target)
        node.depth = depth
        return node

    def count_copied(self, offset: int, macro: str, target: Node) -> None:
        """Count the nodes that a macro copies. Raises `GiveUp` when they are too many."""
        left = [target]
        while left:
            self.copied += 1
            if self.copied > MAX_COPIED:
                text = f"expression too large: {macro}() copies its target, at most {MAX_COPIED} nodes may be copied"
                self.issues.append(Issue(offset=offset, message=text))
                raise GiveUp
            left.extend(children(left.pop()))

    def broken(self, offset: int, message: str) -> Node:
        self.issues.append(Issue(offset=offset, message=message))
        return Broken(offset)
