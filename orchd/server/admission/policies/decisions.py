"""The decisions of a policy about one write: a decision per validation, and audit annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.expressions.admission import BUDGET, Compiler, Purpose
from orchd.kinds.expressions.compiled import Expression
from orchd.kinds.jsonvalues import ObjectView
from orchd.server.admission.expressions.conditions import Match, compile_conditions, judge
from orchd.server.admission.expressions.evaluation import Group, OutOfBudgetError, Result, Run, View

#: Maximum length in bytes of the text of a message expression.
_LONGEST_MESSAGE: Final = 5 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`denied`: the write is rejected, or would be. `failed`: an expression had an error. `reason` is that of the
    Status."""

    denied: bool = False
    failed: bool = False
    message: str = ""
    reason: str = ""
    seconds: float = 0.0

    @property
    def error_type(self) -> str:
        """The label of metrics."""
        if not self.denied and not self.failed:
            return "no_error"
        if self.message.startswith("compilation"):
            return "compile_error"
        if self.message.startswith("validation failed due to running out of cost budget"):
            return "out_of_budget"
        return "invalid_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """An audit annotation. `error`, if any, rejects the write instead."""

    key: str
    value: str = ""
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All that a policy says with one parameter. `match` is that of its conditions, None without any."""

    decisions: tuple[Decision, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    match: Match | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Validation:
    source: Mapping[str, Any]
    condition: Expression
    message: Expression | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """A compiled policy. `ignores`: errors are ignored."""

    compiler: Compiler
    conditions: tuple[Expression, ...]
    validations: tuple[_Validation, ...]
    annotations: tuple[tuple[str, Expression], ...]
    ignores: bool

    def judge(self, run: Run, view: View) -> Judgement:
        """Evaluate the policy for a write."""
        match = None
        if self.conditions:
            match = judge(self.conditions, run, view, self.compiler)
            if match.error and not self.ignores:
                return Judgement(decisions=(self._failure(match.error),), match=match)
            if not match.matches:
                return Judgement(match=match)
        try:
            decisions = self._validate(run, view)
            group = Group(run, view, BUDGET, self.compiler)
            annotations = [
                self._annotate(key, expression, group.evaluate(expression)) for key, expression in self.annotations
            ]
        except OutOfBudgetError as error:
            return Judgement(decisions=(self._failure(str(error)),), match=match)
        audited = tuple(each for each in annotations if each is not None)
        return Judgement(decisions=decisions, annotations=audited, match=match)

    def _failure(self, message: str, seconds: float = 0.0) -> Decision:
        return Decision(denied=not self.ignores, failed=True, message=message, seconds=seconds)

    def _validate(self, run: Run, view: View) -> tuple[Decision, ...]:
        group = Group(run, view, BUDGET, self.compiler, authorizer=True)
        results = [group.evaluate(each.condition) for each in self.validations]
        messages, failure = self._messages(run, view, group.left)
        return tuple(
            self._decide(validation, result, message, failure)
            for validation, result, message in zip(self.validations, results, messages, strict=True)
        )

    def _messages(self, run: Run, view: View, budget: int) -> tuple[list[Result | None], str]:
        """The results of message expressions, None for validations without one, and why they could not be evaluated.
        They have what validations left of the budget."""
        group = Group(run, view, budget, self.compiler)
        try:
            return [None if each.message is None else group.evaluate(each.message) for each in self.validations], ""
        except OutOfBudgetError as error:
            return [None] * len(self.validations), f"failed messageExpression: {error}"

    def _decide(self, validation: _Validation, result: Result, message: Result | None, failure: str) -> Decision:
        if result.error:
            return self._failure(result.error, result.seconds)
        if failure:
            return self._failure(failure, result.seconds)
        if result.value is True:
            return Decision(seconds=result.seconds)
        return Decision(
            denied=True,
            message=_message(validation.source, message),
            reason=validation.source.get("reason") or "Invalid",
            seconds=result.seconds,
        )

    def _annotate(self, key: str, expression: Expression, result: Result) -> Annotation | None:
        """An audit annotation; None if there is nothing to say."""
        if result.error:
            return None if self.ignores else Annotation(key=key, error=result.error, seconds=result.seconds)
        if result.value is None:
            return None
        value = result.value.strip()
        return Annotation(key=key, value=value, seconds=result.seconds) if value else None


def _message(source: Mapping[str, Any], result: Result | None) -> str:
    """Why a write is denied: the message expression, or the message, or the expression of a validation."""
    message = ""
    if result is not None and not result.error and result.value.__class__ is str:
        message = result.value.strip()
        if "\n" in message or len(message.encode()) > _LONGEST_MESSAGE:
            message = ""
    fixed: str = (source.get("message") or "").strip()
    return message or fixed or f"failed expression: {(source.get('expression') or '').strip()}"


def compile_policy(spec: ObjectView, dialect: Dialect) -> Program:
    """Compile the expressions of a policy. Errors are those of its evaluation."""
    compiler = Compiler(dialect, params=spec.get("paramKind") is not None, composed=True)
    for variable in spec.get("variables") or ():
        compiler.add_variable(variable.get("name") or "", variable.get("expression") or "")
    return Program(
        compiler=compiler,
        conditions=compile_conditions(spec.get("matchConditions") or (), compiler),
        validations=tuple(_validation(each, compiler) for each in spec.get("validations") or ()),
        annotations=tuple(
            (each.get("key") or "", compiler.compile(each.get("valueExpression") or "", Purpose.ANNOTATION))
            for each in spec.get("auditAnnotations") or ()
        ),
        ignores=spec.get("failurePolicy") == "Ignore",
    )


def _validation(source: Mapping[str, Any], compiler: Compiler) -> _Validation:
    message = source.get("messageExpression") or ""
    return _Validation(
        source=source,
        condition=compiler.compile(source.get("expression") or "", Purpose.CONDITION),
        message=compiler.compile(message, Purpose.MESSAGE) if message else None,
    )


def size_of(spec: ObjectView) -> int:
    """The characters of the expressions of a policy, about."""
    lists = ("variables", "matchConditions", "validations", "auditAnnotations")
    return sum(
        len(text) for name in lists for each in spec.get(name) or () for text in each.values() if isinstance(text, str)
    )
