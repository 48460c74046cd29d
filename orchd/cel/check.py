"""The checker: finds what names and calls mean, and the type of every part of an expression.

Typing is gradual: ``dyn`` fits everything. The checker writes what it finds into the tree (see `syntax`): types,
declared names of variables, functions and structs, and overloads that may be meant.
"""

from __future__ import annotations

from typing import Protocol

from orchd.cel import types
from orchd.cel.declare import Function, Overload
from orchd.cel.limits import deep
from orchd.cel.source import Issue
from orchd.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    children,
    qualified_name,
)
from orchd.cel.types import BOOL, DYN, ERROR, INT, Type, list_of, map_of, optional_of, signature
from orchd.cel.unify import Bindings, more_general
from orchd.cel.values import Value, type_of


class Declarations(Protocol):
    """The names that an expression may refer to; implemented by `environment.Environment`."""

    @property
    def container(self) -> str: ...

    @property
    def exact(self) -> bool:
        """Whether the specification decides where others are laxer."""

    def find_variable(self, name: str) -> Type | None: ...
    def find_constant(self, name: str) -> Value: ...
    def find_type(self, name: str) -> Type | None: ...
    def find_function(self, name: str) -> Function | None: ...
    def find_struct(self, name: str) -> bool: ...
    def find_field(self, struct: str, field: str) -> Type | None: ...


def check(node: Node, declarations: Declarations, *, lenient: bool = False) -> list[Issue]:
    """Annotate a tree; return what is wrong with it. The tree of an expression with issues must not be evaluated.

    A ``lenient`` check finds nothing wrong: what is not declared or does not fit is an error when it is evaluated.
    """
    checker = _Checker(declarations, lenient)
    with deep():
        checker.check(node)
        if not checker.issues:
            checker.finish(node)
    return checker.issues


def candidates(container: str, name: str) -> list[str]:
    """Return the full names that a name may stand for inside a container, the innermost first."""
    if name.startswith("."):
        return [name[1:]]
    parts = container.split(".") if container else []
    return [".".join([*parts[:length], name]) for length in range(len(parts), -1, -1)]


class _Checker:
    def __init__(self, declarations: Declarations, lenient: bool) -> None:
        self.lenient = lenient
        self.declarations = declarations
        self.bindings = Bindings()
        self.issues: list[Issue] = []
        #: Variables of comprehensions, innermost last.
        self.scopes: list[dict[str, Type]] = []

    def report(self, offset: int, message: str) -> Type:
        if self.lenient:
            return DYN
        self.issues.append(Issue(offset=offset, message=message))
        return ERROR

    def check(self, node: Node) -> Type:
        """Set and return the type of a node."""
        match node:
            case Literal():
                node.type = type_of(node.value)
            case Ident():
                node.type = self.ident(node)
            case Select():
                node.type = self.select(node)
            case Call():
                node.type = self.call(node)
            case ListLiteral():
                node.type = self.list_literal(node)
            case MapLiteral():
                node.type = self.map_literal(node)
            case StructLiteral():
                node.type = self.struct_literal(node)
            case Comprehension():
                node.type = self.comprehension(node)
        return node.type

    def finish(self, node: Node) -> None:
        """Replace type parameters that are left by what they stand for."""
        stack = [node]
        while stack:
            node = stack.pop()
            node.type = self.bindings.resolve(node.type, to_dyn=True)
            stack.extend(children(node))

    # Names.

    def lookup(self, name: str) -> Ident | None:
        """Return the variable or type that a name stands for, as a typed node.

        Variables of comprehensions hide declared names; with a leading dot it is the other way round.
        """
        if name.startswith("."):
            return self.declared(name) or self.local(name[1:])
        return self.local(name) or self.declared(name)

    def local(self, name: str) -> Ident | None:
        for scope in reversed(self.scopes):
            if name in scope:
                identifier = self._identifier(name, scope[name])
                identifier.local = True
                return identifier
        return None

    def declared(self, name: str) -> Ident | None:
        for candidate in candidates(self.declarations.container, name):
            variable = self.declarations.find_variable(candidate)
            if variable is not None:
                return self._identifier(candidate, variable)
            named = self.declarations.find_type(candidate)
            if named is not None:
                return self._identifier(candidate, types.type_of_type(named), named)
            constant = self.declarations.find_constant(candidate)
            if constant is not None:
                return self._identifier(candidate, type_of(constant), constant)
        return None

    def _identifier(self, name: str, type_: Type, constant: Value = None) -> Ident:
        identifier = Ident(0, name)
        identifier.type = type_
        identifier.constant = constant
        return identifier

    def function(self, name: str) -> Function | None:
        for candidate in candidates(self.declarations.container, name):
            declaration = self.declarations.find_function(candidate)
            if declaration is not None:
                return declaration
        return None

    def undeclared(self, offset: int, name: str) -> Type:
        return self.report(offset, f"undeclared reference to '{name}' (in container '{self.declarations.container}')")

    def ident(self, node: Ident) -> Type:
        declaration = self.lookup(node.name)
        if declaration is None:
            return self.undeclared(node.offset, node.name)
        node.name = declaration.name
        node.local = declaration.local
        node.constant = declaration.constant
        return declaration.type

    def select(self, node: Select) -> Type:
        name = qualified_name(node)
        if name is not None and self.local(name.partition(".")[0]) is None:
            declaration = self.declared(name)
            if declaration is not None:
                declaration.offset = node.offset
                node.variable = declaration
                return declaration.type
        result = self.field(node.offset, node.operand, node.field)
        return BOOL if node.test else self.bindings.resolve(result)

    def field(self, offset: int, operand: Node, name: str, *, optional: bool = False) -> Type:
        """Return the type of a field of an operand; optional if the operand is, or if asked."""
        target = self.bindings.resolve(self.check(operand))
        if target.is_optional:
            optional = True
            target = target.parameters[0]
        result = ERROR
        match target.kind:
            case "map":
                result = target.parameters[1]
            case "struct":
                result = self.struct_field(offset, target.name, name)
            case "param":
                self.bindings.assignable([DYN], [target])
                result = DYN
            case _:
                if not (target.is_dyn or target.kind == "error"):
                    self.report(offset, f"type '{target.text}' does not support field selection")
                result = DYN
        return optional_of(result) if optional else result

    def struct_field(self, offset: int, struct: str, name: str) -> Type:
        if not self.declarations.find_struct(struct):
            return self.report(offset, f"unexpected failed resolution of '{struct}'")
        field = self.declarations.find_field(struct, name)
        if field is None:
            return self.report(offset, f"undefined field '{name}'")
        return field

    # Calls.

    def call(self, node: Call) -> Type:
        if node.function == "_?._":
            node.overloads = ("select_optional_field",)
            field = node.args[1]
            assert isinstance(field, Literal)
            field.type = types.STRING
            return self.bindings.resolve(self.field(node.offset, node.args[0], field.value, optional=True))
        if node.function == "cel.@block":
            return self.block(node)
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            function = self.function(node.function)
        else:
            prefix = qualified_name(node.target)
            function = self.function(f"{prefix}.{node.function}") if prefix is not None else None
            if function is not None:
                node.target = None
            else:
                self.check(node.target)
                function = self.function(node.function)
        if function is None:
            return self.undeclared(node.offset, node.function)
        node.function = function.name
        return self.resolve(node, function)

    def block(self, node: Call) -> Type:
        """Check expressions each of which may refer to those before it by number."""
        slots, result = node.args
        assert isinstance(slots, ListLiteral)
        scope: dict[str, Type] = {}
        self.scopes.append(scope)
        for index, element in enumerate(slots.elements):
            scope[f"@index{index}"] = self.check(element)
        slots.type = list_of(DYN)
        self.check(result)
        self.scopes.pop()
        node.overloads = ("cel_block_list",)
        return result.type

    def resolve(self, node: Call, function: Function) -> Type:
        """Find the overloads that fit the arguments, and the type of the result."""
        if function.name in ("_&&_", "_||_"):
            return self.logical(node, function)
        member = node.target is not None
        arguments = [arg.type for arg in node.args]
        if node.target is not None:
            arguments.insert(0, node.target.type)
        result: Type | None = None
        chosen: list[str] = []
        for overload in function.overloads:
            if overload.member != member:
                continue
            declared, *parameters = self.instance(overload)
            if not self.bindings.assignable(arguments, parameters):
                continue
            chosen.append(overload.id)
            bound = self.bindings.resolve(declared)
            if result is None:
                result = bound
            elif not result.is_dyn and bound != result:
                result = DYN
        if result is None:
            resolved = [self.bindings.resolve(argument, to_dyn=True) for argument in arguments]
            applied = signature(resolved, member=member)
            return self.report(node.offset, f"found no matching overload for '{function.name}' applied to '{applied}'")
        node.overloads = tuple(chosen)
        return result

    def logical(self, node: Call, function: Function) -> Type:
        node.overloads = (function.overloads[0].id,)
        result = BOOL
        for arg in node.args:
            if not self.bindings.assignable([arg.type], [BOOL]):
                result = self.report(arg.offset, f"expected type 'bool' but found '{arg.type.text}'")
        return result

    def instance(self, overload: Overload) -> tuple[Type, ...]:
        """Return result and parameters of an overload with type parameters of their own."""
        declared = (overload.result, *overload.parameters)
        if not any(type_.generic for type_ in declared):
            return declared
        fresh: dict[Type, Type] = {}
        return tuple(self.rename(type_, fresh) for type_ in declared)

    def rename(self, type_: Type, fresh: dict[Type, Type]) -> Type:
        if type_.kind == "param":
            if type_ not in fresh:
                fresh[type_] = self.bindings.fresh()
            return fresh[type_]
        if not type_.generic:
            return type_
        return Type(type_.kind, type_.name, tuple(self.rename(part, fresh) for part in type_.parameters))

    # Literals.

    def list_literal(self, node: ListLiteral) -> Type:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            type_ = self.check(element)
            if index in node.optional:
                type_ = self.unwrap(element)
            joined = self.join(element, joined, type_)
        return list_of(joined if joined is not None else self.bindings.fresh())

    def map_literal(self, node: MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self.join(entry.key, key, self.check(entry.key))
            type_ = self.check(entry.value)
            if entry.optional:
                type_ = self.unwrap(entry.value)
            value = self.join(entry.value, value, type_)
        if key is None or value is None:
            return map_of(self.bindings.fresh(), self.bindings.fresh())
        return map_of(key, value)

    def unwrap(self, node: Node) -> Type:
        """Return the type inside the optional type of a node."""
        type_ = node.type
        if type_.is_optional:
            return type_.parameters[0]
        if not type_.is_dyn:
            self.report(node.offset, f"expected type '{optional_of(type_).text}' but found '{type_.text}'")
        return type_

    def join(self, node: Node, before: Type | None, type_: Type) -> Type:
        """Return the type of elements when one more comes."""
        if before is None:
            return type_
        if self.bindings.assignable([before], [type_]):
            if type_.kind == "null" and before.takes_null and self.declarations.exact:
                # Null beside values that may be null does not make them all null.
                return before
            return more_general(before, type_)
        return DYN

    def struct_literal(self, node: StructLiteral) -> Type:
        declaration = self.lookup(node.name)
        if declaration is None:
            return self.undeclared(node.offset, node.name)
        node.name = declaration.name
        result = ERROR
        if declaration.type.kind != "type":
            self.report(node.offset, f"'{declaration.type.name}' is not a type")
        else:
            result = declaration.type.parameters[0]
            if result.kind != "struct" and not self.declarations.find_struct(node.name):
                result = self.report(node.offset, f"'{result.name}' is not a message type")
        for field in node.fields:
            self.check(field.value)
            declared = self.struct_field(field.offset, node.name, field.name)
            type_ = self.unwrap(field.value) if field.optional else field.value.type
            if not self.bindings.assignable([declared], [type_]):
                text = f"expected type of field '{field.name}' is '{declared.text}' but provided type is '{type_.text}'"
                self.report(field.offset, text)
        return result

    # Loops.

    def comprehension(self, node: Comprehension) -> Type:
        self.check(node.over)
        start = self.check(node.start)
        self.scopes.append({node.accumulator: start})
        first, second = self.range_types(node)
        scope = {node.variable: first}
        if node.variable2 is not None:
            scope[node.variable2] = second
        self.scopes.append(scope)
        self.check(node.condition)
        self.expect(node.condition, BOOL)
        self.check(node.step)
        self.expect(node.step, start)
        self.scopes.pop()
        self.check(node.result)
        self.scopes.pop()
        return self.bindings.resolve(node.result.type)

    def range_types(self, node: Comprehension) -> tuple[Type, Type]:
        """Return the types of the variables of a loop."""
        over = self.bindings.resolve(node.over.type)
        match over.kind:
            case "list":
                element = over.parameters[0]
                return (INT, element) if node.variable2 is not None else (element, element)
            case "map":
                return over.parameters[0], over.parameters[1]
            case "dyn" | "any" | "error" | "param":
                if over.kind != "any":
                    self.bindings.assignable([DYN], [over])
                    return DYN, DYN
        text = f"expression of type '{over.text}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.report(node.over.offset, text)
        return ERROR, ERROR

    def expect(self, node: Node, type_: Type) -> None:
        if not self.bindings.assignable([type_], [node.type]):
            self.report(node.offset, f"expected type '{type_.text}' but found '{node.type.text}'")
