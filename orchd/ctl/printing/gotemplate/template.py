"""Go's text/template on decoded JSON: `Template.parse(text).render(value)`.

Numbers of the value are floats, as a decoder without a schema makes them in Go: ``eq .spec.replicas 2.0``. Functions
are in `orchd.ctl.printing.gotemplate.functions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.ctl.printing.gotemplate.functions import FUNCTIONS, LAZY, action_text, go_type, truth
from orchd.ctl.printing.gotemplate.syntax import (
    Branch,
    Call,
    Function,
    Jump,
    Literal,
    Node,
    Operand,
    Output,
    Pipeline,
    TemplateError,
    parse,
)

#: Templates that call each other, and characters of an output.
_DEEPEST: Final = 100
_LONGEST: Final = 64 * 1024 * 1024
_NAMES: Final = frozenset((*FUNCTIONS, *LAZY))


class _JumpError(Exception):
    """``break`` or ``continue`` was reached."""


class Template:
    """A parsed template."""

    def __init__(self, nodes: Sequence[Node], defined: Mapping[str, Sequence[Node]]) -> None:
        self._nodes = nodes
        self._defined = defined

    @classmethod
    def parse(cls, text: str) -> Template:
        """Raises TemplateError."""
        return cls(*parse(text, _NAMES))

    def render(self, value: Any, *, missing_is_error: bool = False) -> str:
        """The text for JSON data. A key that is not there prints ``<no value>``, unless `missing_is_error`. Raises
        TemplateError."""
        data = _with_floats(value)
        run = _Run(self._defined, missing_is_error)
        run.walk(self._nodes, _Scope(data, {"$": data}))
        return "".join(run.out)


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_floats(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@dataclass(slots=True)
class _Scope:
    """The present value, and the variables of this block; those of outer blocks are in `outer`."""

    dot: Any
    variables: dict[str, Any] = field(default_factory=dict)
    outer: _Scope | None = None

    def inner(self, dot: Any) -> _Scope:
        return _Scope(dot, {}, self)

    def holder(self, name: str) -> dict[str, Any]:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables
            scope = scope.outer
        raise TemplateError(f"undefined variable {name!r}")


class _Run:
    def __init__(self, defined: Mapping[str, Sequence[Node]], missing_is_error: bool) -> None:
        self.out: list[str] = []
        self._length = 0
        self._defined = defined
        self._missing_is_error = missing_is_error
        self._depth = 0

    def walk(self, nodes: Sequence[Node], scope: _Scope) -> None:
        for node in nodes:
            if isinstance(node, str):
                self._write(node)
            elif isinstance(node, Output):
                value = self._pipeline(node.pipeline, scope)
                if not node.pipeline.names:
                    self._write(action_text(value))
            elif isinstance(node, Branch):
                self._branch(node, scope)
            elif isinstance(node, Jump):
                raise _JumpError(node.word)
            else:
                self._call(node, scope)

    def _write(self, text: str) -> None:
        self._length += len(text)
        if self._length > _LONGEST:
            raise TemplateError(f"the output is longer than {_LONGEST} characters")
        self.out.append(text)

    # -- control structures

    def _branch(self, node: Branch, scope: _Scope) -> None:
        if node.word == "range":
            self._range(node, scope)
            return
        inner = scope.inner(scope.dot)
        value = self._pipeline(node.pipeline, inner)
        if not truth(value):
            self.walk(node.otherwise, inner)
            return
        if node.word == "with":
            inner.dot = value
        self.walk(node.body, inner)

    def _range(self, node: Branch, scope: _Scope) -> None:
        pipeline = node.pipeline
        bare = Pipeline(pipeline.commands, line=pipeline.line)
        value = self._pipeline(bare, scope)
        if isinstance(value, dict):
            pairs: list[tuple[Any, Any]] = [(key, value[key]) for key in sorted(value)]
        elif isinstance(value, list):
            pairs = list(enumerate(value))
        elif value is None:
            pairs = []
        else:
            raise TemplateError(f"line {pipeline.line}: range can't iterate over {action_text(value)}")
        if not pairs:
            self.walk(node.otherwise, scope.inner(scope.dot))
            return
        for key, item in pairs:
            inner = scope.inner(item)
            values = (item,) if len(pipeline.names) == 1 else (key, item)
            for name, each in zip(pipeline.names, values, strict=False):
                (inner.variables if pipeline.declares else scope.holder(name))[name] = each
            try:
                self.walk(node.body, inner)
            except _JumpError as jump:
                if str(jump) == "break":
                    return

    def _call(self, node: Call, scope: _Scope) -> None:
        body = self._defined.get(node.name)
        if body is None:
            raise TemplateError(f'line {node.line}: template "{node.name}" not defined')
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateError(f"line {node.line}: more than {_DEEPEST} templates call each other")
        dot = None if node.pipeline is None else self._pipeline(node.pipeline, scope)
        self.walk(body, _Scope(dot, {"$": dot}))
        self._depth -= 1

    # -- values

    def _pipeline(self, pipeline: Pipeline, scope: _Scope) -> Any:
        value: Any = None
        for at, command in enumerate(pipeline.commands):
            try:
                value = self._command(command, scope, (value,) if at else ())
            except TemplateError as error:
                text = str(error)
                raise error if text.startswith("line ") else TemplateError(f"line {pipeline.line}: {text}") from None
        for name in pipeline.names:
            (scope.variables if pipeline.declares else scope.holder(name))[name] = value
        return value

    def _command(self, command: tuple[Operand, ...], scope: _Scope, last: tuple[Any, ...]) -> Any:
        first, *rest = command
        if isinstance(first, Function):
            return self._function(first.name, rest, scope, last)
        if rest:
            raise TemplateError("can't give argument to a value that is not a function")
        if isinstance(first, Literal) and first.value is None:
            raise TemplateError("nil is not a command")
        return self._operand(first, scope)

    def _function(self, name: str, operands: Sequence[Operand], scope: _Scope, last: tuple[Any, ...]) -> Any:
        if name in LAZY:
            # Operands behind the one that decides are not evaluated.
            if not operands and not last:
                raise TemplateError(f"wrong number of args for {name}: want at least 1 got 0")
            value: Any = None
            for operand in operands:
                value = self._operand(operand, scope)
                if truth(value) == LAZY[name]:
                    return value
            return last[0] if last else value
        arguments = [self._operand(each, scope) for each in operands]
        function = FUNCTIONS[name]
        count = len(arguments) + len(last)
        if count < function.least or (function.most is not None and count > function.most):
            least = f"at least {function.least}" if function.most is None else str(function.least)
            raise TemplateError(f"wrong number of args for {name}: want {least} got {count}")
        try:
            return function.work(*arguments, *last)
        except TemplateError as error:
            raise TemplateError(f"error calling {name}: {error}") from None

    def _operand(self, operand: Operand, scope: _Scope) -> Any:
        if isinstance(operand, Literal):
            return operand.value
        if isinstance(operand, Function):
            return self._function(operand.name, (), scope, ())
        if operand.start is None:
            value = scope.dot
        elif isinstance(operand.start, str):
            value = scope.holder(operand.start)[operand.start]
        else:
            value = self._pipeline(operand.start, scope)
        for name in operand.fields:
            value = self._field(value, name)
        return value

    def _field(self, value: Any, name: str) -> Any:
        if value is None:
            if self._missing_is_error:
                raise TemplateError(f'nil data; no entry for key "{name}"')
            return None
        if not isinstance(value, dict):
            raise TemplateError(f"can't evaluate field {name} in type {go_type(value)}")
        if name not in value and self._missing_is_error:
            raise TemplateError(f'map has no entry for key "{name}"')
        return value.get(name)
