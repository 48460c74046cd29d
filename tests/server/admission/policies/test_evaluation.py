"""Where work on expressions runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.cel.libraries.authorizer import AuthorizerDecision, Question
from orchd.cel.releases import environment_of_release
from orchd.kinds.expressions.compiled import compile_expression
from orchd.server.admission.expressions.evaluation import Evaluator, Run, compiling_size
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
