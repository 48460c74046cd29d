"""Validation beyond types: literal arguments of conversions, patterns and formats, and literals of mixed types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from orchd.cel.libraries.format import check_format
from orchd.cel.libraries.standard import LIBRARY
from orchd.cel.regex import constant_pattern
from orchd.cel.source import Issue
from orchd.cel.syntax import Call, ListLiteral, Literal, MapLiteral, Node, children
from orchd.cel.types import Type
from orchd.cel.values import EvaluationError, no_overload

if TYPE_CHECKING:
    from orchd.cel.environment import Environment

#: Functions whose arguments may be literals of mixed types.
_MIXED = ("format", "cel.@block")


def validate(node: Node, environment: Environment) -> list[Issue]:
    """Return the issues of literals in a checked tree."""
    issues: list[Issue] = []
    nodes = list(_walk(node))
    if environment.validated:
        for function in ("duration", "timestamp"):
            if function in environment.functions:
                _conversions(nodes, function, issues)
        for call in _calls(nodes, "matches"):
            _literal(call, "matches", _pattern, issues)
    if environment.homogeneous:
        _mixtures(nodes, _exempt(node), issues)
    if environment.validated:
        for call in _calls(nodes, "format"):
            issue = check_format(call) if call.overloads == ("string_format",) else None
            if issue is not None:
                issues.append(issue)
    return issues


def _walk(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def _exempt(node: Node) -> set[int]:
    """Return the identities of nodes inside of calls whose literals may mix types."""
    exempt: set[int] = set()
    for call in _walk(node):
        if isinstance(call, Call) and call.function in _MIXED and id(call) not in exempt:
            exempt.update(id(below) for below in _walk(call))
    return exempt


def _calls(nodes: list[Node], function: str) -> list[Call]:
    return [node for node in nodes if isinstance(node, Call) and node.function == function]


def _conversions(nodes: list[Node], function: str, issues: list[Issue]) -> None:
    rows = {row.id: row for declared in LIBRARY.functions if declared.name == function for row in declared.overloads}
    for call in _calls(nodes, function):
        convert = rows[call.overloads[0]].call if len(call.overloads) == 1 else None
        if convert is not None:
            _literal(call, function, convert, issues)


def _pattern(text: object) -> None:
    if isinstance(text, str):
        constant_pattern(text, "")


def _literal(call: Call, function: str, convert: Callable[..., object], issues: list[Issue]) -> None:
    if not call.args or not isinstance(call.args[0], Literal):
        return
    try:
        if call.args[0].value is None:
            raise no_overload()
        convert(call.args[0].value)
    except EvaluationError:
        issues.append(Issue(offset=call.args[0].offset, message=f"invalid {function} argument"))


def _mismatch(node: Node, expected: Type, actual: Type) -> Issue:
    return Issue(offset=node.offset, message=f"expected type '{expected.text}' but found '{actual.text}'")


def _unwrapped(type_: Type, optional: bool) -> Type:
    return type_.parameters[0] if optional and type_.parameters else type_


def _mixtures(nodes: list[Node], exempt: set[int], issues: list[Issue]) -> None:
    for list_ in nodes:
        if isinstance(list_, ListLiteral) and id(list_) not in exempt:
            _elements(list_, issues)
    for map_ in nodes:
        if isinstance(map_, MapLiteral) and id(map_) not in exempt:
            _entries(map_, issues)


def _elements(node: ListLiteral, issues: list[Issue]) -> None:
    expected: Type | None = None
    for index, element in enumerate(node.elements):
        type_ = _unwrapped(element.type, index in node.optional)
        if expected is None:
            expected = type_
        elif expected != type_:
            issues.append(_mismatch(element, expected, type_))
            return


def _entries(node: MapLiteral, issues: list[Issue]) -> None:
    first: tuple[Type, Type] | None = None
    for entry in node.entries:
        types = (entry.key.type, _unwrapped(entry.value.type, entry.optional))
        if first is None:
            first = types
            continue
        if first[0] != types[0]:
            issues.append(_mismatch(entry.key, first[0], types[0]))
        if first[1] != types[1]:
            issues.append(_mismatch(entry.value, first[1], types[1]))
