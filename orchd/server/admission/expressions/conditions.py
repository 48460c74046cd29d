"""Match conditions: whether a webhook or policy that matches a write by its rules is about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchd.kinds.expressions.admission import CONDITIONS_BUDGET, Compiler, Purpose
from orchd.kinds.expressions.compiled import Expression
from orchd.server.admission.expressions.evaluation import Group, OutOfBudgetError, Run, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Whether all conditions hold. `error` says why that could not be told, `errors` is how many conditions had an
    error, before the first that is false."""

    matches: bool
    error: str = ""
    errors: int = 0


def compile_conditions(listed: Sequence[Mapping[str, Any]], compiler: Compiler) -> tuple[Expression, ...]:
    """The compiled conditions of a webhook or policy."""
    return tuple(compiler.compile(each.get("expression") or "", Purpose.CONDITION) for each in listed)


def judge(conditions: Sequence[Expression], run: Run, view: View, compiler: Compiler | None = None) -> Match:
    """Evaluate conditions. One that is false decides, else one that has an error. `compiler` has the variables of a
    policy."""
    group = Group(run, view.for_conditions(), CONDITIONS_BUDGET, compiler, authorizer=True)
    try:
        results = [group.evaluate(condition) for condition in conditions]
    except OutOfBudgetError as error:
        return Match(matches=False, error=str(error))
    failures: list[str] = []
    for result in results:
        if result.error:
            failures.append(result.error)
        elif result.value is False:
            return Match(matches=False, errors=len(failures))
    texts = list(dict.fromkeys(failures))
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
    return Match(matches=not failures, error=summary, errors=len(failures))
