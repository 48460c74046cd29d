"""Where work on expressions runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.cel.libraries.authorizer import AuthorizerDecision, Question
from orchd.cel.releases import environment_of_release
from orchd.kinds.expressions.compiled import compile_expression
from orchd.server.admission.expressions import conditions, evaluation
from orchd.server.admission.expressions.evaluation import Evaluator, Run, View, compiling_size
from orchd.txkit.compute_thread import LARGE, ComputeThread
from orchd.txkit.coroutines import start

LONG = "lists.range(1000).all(x, lists.range(10).all(y, x + y >= 0))"


def _done(result: Deferred[Any]) -> Any:
    values: list[Any] = []
    result.addBoth(values.append)
    return values[0]


async def _refuse(question: Question) -> AuthorizerDecision:
    return AuthorizerDecision(allowed=False)


@pytest.mark.parametrize(
    ("text", "size", "calls"), [("1 == 1", 100, 0), (LONG, 100, 1), ("1 == 1", LARGE + 1, 1), (LONG, LARGE + 1, 1)]
)
def test_long_work_runs_in_another_thread(text: str, size: int, calls: int) -> None:
    """That is work that costs much, and any work on large objects: one function may read all of them."""
    made: list[Any] = []

    async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
        made.append(function)
        return function(*arguments)

    expression = compile_expression(text, environment_of_release((1, 35), "example"))
    evaluator = Evaluator(_refuse, ComputeThread(in_thread), size=size)

    def work(run: Run) -> Any:
        result, _ = run.evaluate(expression, {})
        return result.value

    assert _done(start(evaluator.run(work))) is True
    assert len(made) == calls


def test_long_expressions_are_compiled_in_another_thread() -> None:
    """Compiling takes some microseconds per character."""
    assert compiling_size(100) <= LARGE < compiling_size(10_000)


def test_seconds_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those between its beginning and its end, also of one with an error."""
    environment = environment_of_release((1, 35), "example")
    times = iter((5.0, 7.5, 8.0, 9.0))
    monkeypatch.setattr(evaluation, "perf_counter", lambda: next(times))
    run = Run({}, quick=False)
    seconds = [run.evaluate(compile_expression(text, environment), {})[0].seconds for text in ("1 == 1", "1 / 0 == 1")]
    assert seconds == [2.5, 1.0]


def test_decisions_that_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question is asked once, until too many decisions are remembered."""
    monkeypatch.setattr(evaluation, "_MOST_DECISIONS", 2)
    asked: list[str | None] = []

    async def ask(question: Question) -> AuthorizerDecision:
        asked.append(question.path)
        return AuthorizerDecision(allowed=True)

    evaluator = Evaluator(ask, ComputeThread(None))
    for path in "abaca":
        question = Question(path=path)

        def work(run: Run, question: Question = question) -> bool:
            return run.decision(question).allowed

        assert _done(start(evaluator.run(work))) is True
    assert asked == ["a", "b", "c", "a"]


def test_cancelled_work_is_interrupted() -> None:
    """Work that another thread does ends soon after its request."""
    begun: list[Any] = []

    async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
        begun.append((function, arguments))
        await Deferred()

    evaluator = Evaluator(_refuse, ComputeThread(in_thread), size=LARGE + 1)
    running = start(evaluator.run(lambda run: run.interrupted))
    running.addErrback(lambda failure: None)
    [(function, arguments)] = begun
    assert function(*arguments) is False
    running.cancel()
    assert function(*arguments) is True


def test_conditions_that_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not hold, with the reason."""
    monkeypatch.setattr(conditions, "CONDITIONS_BUDGET", 1)
    expression = compile_expression("'a' + 'b' == 'ab'", environment_of_release((1, 35), "example"))
    match = conditions.judge(
        [expression, expression],
        Run({}, quick=False),
        View(
            variables={"request": {"requestResource": {}}, "object": None, "oldObject": None},
            request_resource=Question(),
        ),
    )
    assert (match.matches, match.errors) == (False, 0) and "cost budget" in match.error
