"""Evaluation of expressions: within budgets, and in another thread unless they are cheap.

Work on expressions is a function of a `Run`, which evaluates them. It may be called again from the start: when an
authorizer has decided, and when the work is too long for the reactor's thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final, TypeVar

from twisted.internet.defer import CancelledError

from orchd.cel.libraries.authorizer import AuthorizerDecision, Question, make_authorizer, make_resource_check
from orchd.cel.operators import MISSING
from orchd.cel.values import EvaluationError, Opaque, Value
from orchd.kinds.expressions.admission import Compiler
from orchd.kinds.expressions.compiled import Expression
from orchd.kinds.expressions.stretches import LongEvaluationError, Stretch
from orchd.kinds.jsonvalues import Object
from orchd.txkit.compute_thread import LARGE, ComputeThread

T = TypeVar("T")

#: Decisions that one request remembers: an evaluation cannot pay for more.
_MOST_DECISIONS: Final = 1_000
#: Characters of expressions that are compiled in some milliseconds.
_SMALL: Final = 2 << 10
_NO_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


def compiling_size(characters: int) -> int:
    """The size, for `ComputeThread`, of compiling expressions of so many characters: the reactor's thread compiles
    few."""
    return LARGE + 1 if characters > _SMALL else 0


class _UndecidedError(Exception):
    """An expression asks the authorizer what it has not been asked for this request."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class OutOfBudgetError(Exception):
    """A group of expressions cost more than its budget."""

    def __init__(self) -> None:
        super().__init__(_NO_BUDGET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of an expression: a value, or with `error` none. `seconds` is what the evaluation took."""

    value: Value = None
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The variables of expressions about a request by name, without those of policies and the authorizer.

    `request_resource` is the question about the resource of the request, without its verb.
    """

    variables: Mapping[str, Any]
    request_resource: Question

    def for_conditions(self) -> View:
        """The variables of match conditions: no namespace, and the resource of the request itself."""
        request = self.variables["request"]
        request = {**request, "resource": request["requestResource"]}
        return replace(self, variables={**self.variables, "namespaceObject": None, "request": request})

    def with_params(self, params: Object | None) -> View:
        """The same with the parameters of a policy."""
        return replace(self, variables={**self.variables, "params": params})


class Run:
    """One call of a piece of work. `interrupted` becomes true when its result is no longer needed."""

    def __init__(self, decisions: Mapping[Question, AuthorizerDecision], *, quick: bool) -> None:
        self._decisions = decisions
        self._stretch = Stretch(quick=quick)
        self.interrupted = False

    def evaluate(self, expression: Expression, bindings: Mapping[str, Any]) -> tuple[Result, int]:
        """Evaluate one expression. Returns the result and what it cost."""
        if expression.program is None:
            return Result(error=f"compilation error: {expression.error}"), 0
        began = perf_counter()
        outcome = self._stretch.evaluate(expression, bindings, interrupted=lambda: self.interrupted)
        seconds = perf_counter() - began
        if outcome.error is None:
            return Result(value=outcome.value, seconds=seconds), outcome.cost
        why = f"expression '{expression.text}' resulted in error: {outcome.error}"
        return Result(error=why, seconds=seconds), outcome.cost

    def decision(self, question: Question) -> AuthorizerDecision:
        """The decision of the authorizer."""
        decision = self._decisions.get(question)
        if decision is None:
            raise _UndecidedError(question)
        return decision


class Group:
    """Expressions that see the same values and share a budget. Variables are evaluated once, when they are needed."""

    def __init__(
        self, run: Run, view: View, budget: int, compiler: Compiler | None = None, *, authorizer: bool = False
    ) -> None:
        """`compiler` has the variables. `authorizer`: expressions may ask it."""
        self._run = run
        #: What further expressions may cost.
        self.left = budget
        bindings = dict(view.variables)
        if authorizer:
            bindings["authorizer"] = make_authorizer(run.decision)
            bindings["authorizer.requestResource"] = make_resource_check(run.decision, view.request_resource)
        self._variables = None
        if compiler is not None and compiler.variables:
            self._variables = bindings["variables"] = _Variables(run, compiler.variables, bindings)
        self._bindings = bindings

    def evaluate(self, expression: Expression) -> Result:
        """Evaluate an expression. Raises OutOfBudgetError."""
        result, cost = self._run.evaluate(expression, self._bindings)
        if self._variables is not None:
            cost += self._variables.take_cost()
        self.left -= cost
        if self.left < 0:
            raise OutOfBudgetError
        return result


class _Variables(Opaque):
    """The value of `variables`: evaluates each member when it is first looked at."""

    __slots__ = ("_bindings", "_cost", "_expressions", "_run", "_values")

    def __init__(self, run: Run, expressions: Mapping[str, Expression], bindings: Mapping[str, Any]) -> None:
        self._run = run
        self._expressions = expressions
        self._bindings = bindings
        self._values: dict[str, Value] = {}
        self._cost = 0

    def take_cost(self) -> int:
        """The cost of members since the last call."""
        cost, self._cost = self._cost, 0
        return cost

    def field(self, name: str) -> Value:
        """The value of a member; an EvaluationError if it has none."""
        if name not in self._values:
            self._values[name] = self._evaluate(name)
        return self._values[name]

    def _evaluate(self, name: str) -> Value:
        expression = self._expressions.get(name)
        if expression is None:
            return MISSING
        if expression.error:
            return EvaluationError(f'composited variable "{name}" fails to compile: {expression.error}')
        assert expression.program is not None
        result, cost = self._run.evaluate(expression, self._bindings)
        self._cost += cost
        if result.error:
            why = result.error.removeprefix(f"expression '{expression.text}' resulted in error: ")
            return EvaluationError(f'composited variable "{name}" fails to evaluate: {why}')
        return result.value


class Evaluator:
    """Runs work on expressions about one request. Decisions of the authorizer are remembered."""

    def __init__(
        self, ask: Callable[[Question], Awaitable[AuthorizerDecision]], compute: ComputeThread, *, size: int = 0
    ) -> None:
        """`size` is that of the objects in bytes: functions may read large ones at once, so that no budget stops them
        soon.
        """
        self._ask = ask
        self._quick = size <= LARGE
        self._compute = compute
        self._decisions: dict[Question, AuthorizerDecision] = {}

    async def run(self, work: Callable[[Run], T]) -> T:
        """The result of `work`. On cancellation it is interrupted, wherever it runs."""
        quick = self._quick
        while True:
            run = Run(self._decisions, quick=quick)
            try:
                return await self._compute(0 if quick else LARGE + 1, work, run)
            except LongEvaluationError:
                quick = False
            except _UndecidedError as error:
                if len(self._decisions) >= _MOST_DECISIONS:
                    self._decisions.clear()
                self._decisions[error.question] = await self._ask(error.question)
            except CancelledError:
                run.interrupted = True
                raise
