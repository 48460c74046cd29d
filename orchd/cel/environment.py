"""Environments: what expressions may refer to, and the way from a text to a program.

environment = environment_of_release((1, 35)).with_variables({"self": Variable(type=INT)})
checked = environment.compile("self > 3")
if not checked.issues:
    outcome = checked.program().evaluate({"self": 5}, budget=1_000_000)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from orchd.cel import types, validate
from orchd.cel.building import Expander, Grammar
from orchd.cel.check import check
from orchd.cel.costs import Range
from orchd.cel.declare import Function, Implementation, Library, Overload
from orchd.cel.estimate import Path, estimate
from orchd.cel.limits import deep
from orchd.cel.macros import STANDARD
from orchd.cel.operators import matches
from orchd.cel.parse import RESERVED, parse
from orchd.cel.program import UNPLANNED, Program
from orchd.cel.source import Issue, Source, render_issues
from orchd.cel.syntax import Node
from orchd.cel.types import Type
from orchd.cel.values import EvaluationError, Value, type_of

#: Turns data of JSON into a value, or into a view that does so where it is looked at.
Adapter = Callable[[Any], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """A type with fields. ``make`` makes values of it from a struct literal; None if literals of it are not allowed."""

    fields: Mapping[str, Type]
    make: Callable[[dict[str, Value]], Value] | None = None
    #: The type of fields that are not declared; None if there are none.
    other_fields: Type | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A declared variable. ``adapt`` is None where values are given as values of the language."""

    type: Type
    adapt: Adapter | None = None
    #: The size of what is at a path of fields, "@items", "@keys" and "@values" below the variable, None if unknown.
    size: Callable[[Path], Range | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """An expression that was compiled. With ``issues`` it has neither type nor program."""

    source: Source
    environment: Environment
    node: Node
    issues: tuple[Issue, ...]

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.node.type

    @property
    def type_name(self) -> str:
        """The full name of the type of the result."""
        with deep():
            return self.environment.spell(str(self.node.type))

    @property
    def text(self) -> str:
        """The issues as one text, as other implementations of the language print them; empty without issues."""
        return render_issues(self.source, self.issues)

    def estimate(self) -> Range:
        """Return the least and the most that an evaluation may cost."""
        return estimate(self.node, self.environment.overloads, self.environment.size)

    def program(self) -> Program:
        """Plan the expression for evaluation. Raises `program.ProgramError`."""
        return Program(self.node, self.environment)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """An immutable set of declarations.

    ``homogeneous`` refuses literals of lists and maps that mix types; ``validated`` literal arguments of conversions,
    patterns and formats that are wrong.
    """

    libraries: tuple[Library, ...]
    variables: Mapping[str, Variable] = field(default_factory=dict)
    structs: Mapping[str, Struct] = field(default_factory=dict)
    constants: Mapping[str, Value] = field(default_factory=dict)
    #: Types that expressions may name, beside those of libraries.
    named: Mapping[str, Type] = field(default_factory=dict)
    #: The vendor in the names of types of libraries, such as ``VENDOR.Quantity``.
    vendor: str = "cel"
    container: str = ""
    #: Called for names of types that are not declared; returns None if there is no such type.
    open_structs: Callable[[str], Struct | None] | None = None
    homogeneous: bool = False
    validated: bool = False
    optionals: bool = True
    #: Whether a reserved word names the field whose escaped name it has: ``self.namespace``.
    keyword_fields: bool = False
    escaped_names: bool = False
    #: Whether errors are those of the specification where others are laxer: keys of maps, selections below optional
    #: values.
    exact: bool = False
    #: Whether types of schemas are declared. The checker knows short names of types then.
    has_schemas: bool = False

    def __post_init__(self) -> None:
        functions, overloads, macros, named = _tables(self.libraries)
        set_ = object.__setattr__
        set_(self, "functions", functions)
        set_(self, "overloads", overloads)
        set_(self, "types", named)
        set_(self, "grammar", Grammar(macros=macros, optionals=self.optionals, escaped_names=self.escaped_names))

    functions: Mapping[str, Function] = field(init=False, repr=False)
    overloads: Mapping[str, Overload] = field(init=False, repr=False)
    types: Mapping[str, Type] = field(init=False, repr=False)
    grammar: Grammar = field(init=False, repr=False)

    def with_variables(
        self, variables: Mapping[str, Variable], structs: Mapping[str, Struct] | None = None
    ) -> Environment:
        """Return an environment with more variables and types."""
        return replace(
            self,
            variables={**self.variables, **variables},
            structs={**self.structs, **(structs or {})},
            has_schemas=self.has_schemas or bool(structs) or any(each.size is not None for each in variables.values()),
        )

    def compile(self, text: str, *, lenient: bool = False) -> Checked:
        """Parse and check an expression. Raises nothing; look at the issues of the result.

        ``lenient`` leaves everything but syntax to the evaluation: what is not declared or does not fit is an error
        there.
        """
        source = Source(text)
        node, issues = parse(source, self.grammar)
        if not issues:
            issues = check(node, self, lenient=lenient)
        if not issues and not lenient:
            issues = validate.validate(node, self)
        spelled = tuple(Issue(offset=issue.offset, message=self.spell(issue.message)) for issue in issues)
        return Checked(source=source, environment=self, node=node, issues=spelled)

    def spell(self, text: str) -> str:
        """Return a text with the name of the vendor in it."""
        return text.replace(types.VENDOR, self.vendor)

    # What the checker asks (`check.Declarations`).

    def find_variable(self, name: str) -> Type | None:
        variable = self.variables.get(name)
        return variable.type if variable is not None else None

    def find_constant(self, name: str) -> Value:
        return self.constants.get(name)

    def find_type(self, name: str) -> Type | None:
        type_ = self.types.get(name) or self.named.get(name) or (UNPLANNED.get(name) if self.has_schemas else None)
        if type_ is None and self.struct(name) is not None:
            return types.struct(name)
        return type_

    def find_function(self, name: str) -> Function | None:
        return self.functions.get(name)

    def find_struct(self, name: str) -> bool:
        return self.struct(name) is not None

    def find_field(self, struct: str, field: str) -> Type | None:
        declared = self.struct(struct)
        if declared is None:
            return None
        type_ = declared.fields.get(field, declared.other_fields)
        if type_ is None and self.keyword_fields and field in RESERVED:
            return declared.fields.get(f"__{field}__")
        return type_

    def struct(self, name: str) -> Struct | None:
        """Return a type with fields."""
        struct = self.structs.get(name)
        if struct is None and self.open_structs is not None:
            return self.open_structs(name)
        return struct

    # What estimate and program ask.

    def size(self, path: Path) -> Range | None:
        """Return the size of the value at a path from a variable."""
        variable = self.variables.get(path[0])
        return variable.size(path[1:]) if variable is not None and variable.size is not None else None

    def adapter(self, name: str) -> Adapter | None:
        variable = self.variables.get(name)
        return variable.adapt if variable is not None else None

    def implementation(self, function: Function, chosen: list[Overload]) -> tuple[Implementation, bool, bool]:
        """Return what calls a function: the implementation, whether it wants the meter, whether it stops at errors."""
        if function.call is not None:
            return function.call, chosen[0].metered, False
        if len(chosen) == 1:
            only = chosen[0]
            return _guarded(function.name, only), only.metered, only.sequential or len(only.parameters) > 2
        metered = any(overload.metered for overload in function.overloads)
        return _dispatcher(function, metered), metered, True


@lru_cache(maxsize=64)
def _tables(
    libraries: tuple[Library, ...],
) -> tuple[dict[str, Function], dict[str, Overload], dict[tuple[str, int, bool], Expander], dict[str, Type]]:
    functions: dict[str, Function] = {}
    macros = dict(STANDARD)
    named: dict[str, Type] = {}
    for library in libraries:
        for function in library.functions:
            earlier = functions.get(function.name)
            functions[function.name] = function if earlier is None else earlier.merged(function)
        macros.update(library.macros)
        named.update((type_.name, type_) for type_ in library.types)
    overloads = {overload.id: overload for function in functions.values() for overload in function.overloads}
    return functions, overloads, macros, named


def _guarded(name: str, overload: Overload) -> Implementation:
    """Return the implementation of an overload, with a check of the types of arguments."""
    call = overload.call
    if call is None:
        return _unimplemented(name)
    parameters = overload.parameters
    if not overload.guarded or all(parameter.kind in ("dyn", "param") for parameter in parameters):
        return call
    skip = 1 if overload.metered else 0
    if len(parameters) == 1 and not skip:
        (only,) = parameters

        def call_single(value: Value) -> Value:
            if not matches(only, value):
                raise _no_overload(name, (value,))
            return call(value)

        return call_single

    def call_guarded(*values: Value) -> Value:
        for parameter, value in zip(parameters, values[skip:], strict=True):
            if not matches(parameter, value):
                raise _no_overload(name, values[skip:])
        return call(*values)

    return call_guarded


def _unimplemented(name: str) -> Implementation:
    """Return what calls a function that is declared only."""

    def call(*values: Value) -> Value:
        raise _no_overload(name, values)

    return call


def _dispatcher(function: Function, metered: bool) -> Implementation:
    """Return an implementation that tries all overloads of a function."""
    overloads = [overload for overload in function.overloads if overload.call is not None]

    def call(*values: Value) -> Value:
        arguments = values[1:] if metered else values
        for overload in overloads:
            if len(overload.parameters) == len(arguments) and all(map(matches, overload.parameters, arguments)):
                assert overload.call is not None
                return overload.call(*(values if overload.metered else arguments))
        raise _no_overload(function.name, arguments)

    return call


def _no_overload(name: str, values: Iterable[Value]) -> EvaluationError:
    return EvaluationError(f"no such overload: {name}({', '.join(type_of(value).name for value in values)})")
