"""A compiled expression, and the checks of its type that all places share."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchd.cel import types
from orchd.cel.environment import Checked, Environment
from orchd.cel.program import Program, ProgramError
from orchd.cel.syntax import Node
from orchd.cel.types import Type

#: The release whose libraries expressions have.
RELEASE = (1, 35)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """An expression with its program.

    `error` says why the program is missing; `internal`: the error is not one of the text.
    """

    text: str
    program: Program | None = None
    error: str = ""
    internal: bool = False
    type: Type = types.DYN
    #: The checked expression; None with an error.
    checked: Checked | None = field(default=None, repr=False, compare=False)

    @property
    def node(self) -> Node | None:
        """The checked tree; None with an error."""
        return None if self.checked is None else self.checked.node

    @property
    def highest_cost(self) -> int:
        """The most that an evaluation is estimated to cost; nothing with an error."""
        return 0 if self.checked is None else self.checked.estimate().high


def compile_expression(
    text: str, environment: Environment, results: tuple[Type, ...] = (), *, names_result: bool = True
) -> Expression:
    """Compile a text whose result has one of some types, () for any.

    `names_result`: the error for another one names it.
    """
    checked = environment.compile(text)
    if checked.issues:
        return Expression(text=text, error=f"compilation failed: {checked.text}")
    if results and checked.type not in results:
        names = [environment.spell(str(each)) for each in results]
        expected = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        got = f" but got {checked.type_name}" if names_result else ""
        return Expression(text=text, error=f"must evaluate to {expected}{got}")
    try:
        program = checked.program()
    except ProgramError as error:
        return Expression(text=text, error=f"program instantiation failed: {error}", internal=True)
    return Expression(text=text, program=program, type=checked.type, checked=checked)
