"""Evaluations one after the other, and how many of them the reactor's thread may do at a stretch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchd.cel.program import Outcome
from orchd.kinds.expressions.compiled import Expression

#: The most that one evaluation may cost.
CALL_BUDGET: Final = 1_000_000
#: Cost that takes some milliseconds: what the reactor's thread does at a stretch.
QUICK_BUDGET: Final = 5_000
#: Work that costs do not see and that takes some milliseconds: searching texts with patterns for the most part.
QUICK_WORK: Final = 2_000


class LongEvaluationError(Exception):
    """The evaluations are too long for the reactor's thread: start them again in another one."""


class Stretch:
    """The evaluations of one piece of work. Those of a quick one are within `QUICK_BUDGET` and `QUICK_WORK`
    together."""

    def __init__(self, *, quick: bool) -> None:
        self._cost = QUICK_BUDGET if quick else None
        self._work = QUICK_WORK if quick else None

    def evaluate(
        self,
        expression: Expression,
        bindings: Mapping[str, Any],
        budget: int = CALL_BUDGET,
        *,
        interrupted: Callable[[], bool] | None = None,
    ) -> Outcome:
        """Evaluate an expression that was compiled. Raises LongEvaluationError."""
        assert expression.program is not None, expression.error
        allowed = min(CALL_BUDGET, budget)
        if self._cost is None or self._work is None:
            return expression.program.evaluate(bindings, allowed, interrupted=interrupted)
        outcome = expression.program.evaluate(
            bindings, min(allowed, self._cost), work=self._work, interrupted=interrupted
        )
        self._cost -= outcome.cost
        self._work -= outcome.work
        if self._cost < 0 or outcome.cancelled:
            raise LongEvaluationError
        return outcome
