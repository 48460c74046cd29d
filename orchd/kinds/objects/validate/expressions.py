"""Validation of expressions: compile errors as causes, and match conditions of webhooks and policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.kinds.expressions.admission import Compiler, Purpose
from orchd.kinds.expressions.compiled import Expression
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.names import qualified_name
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_MOST_CONDITIONS: Final = 64


def report_error(expression: Expression, text: str, at: Path, report: Report) -> None:
    """Report the error of a compiled expression, if it has one. `text` is the value in the message."""
    if expression.error and expression.internal:
        report.internal(at, expression.error)
    elif expression.error:
        report.invalid(at, text, expression.error)


def match_conditions(listed: Sequence[Object], at: Path, report: Report, *, params: bool = False) -> None:
    """Validate match conditions. `params`: they may refer to parameters."""
    compiler = Compiler(report.dialect, params=params)
    names: set[str] = set()
    if len(listed) > _MOST_CONDITIONS:
        report.too_many(at, len(listed), _MOST_CONDITIONS)
    for i, condition in enumerate(listed):
        expression, name = (condition.get("expression") or "").strip(), condition.get("name") or ""
        if expression:
            compiled = compiler.compile(expression, Purpose.CONDITION)
            report_error(compiled, expression, at[i] / "expression", report)
        else:
            report.required(at[i] / "expression")
        if not name:
            report.required(at[i] / "name")
            continue
        report.invalids(at[i] / "name", name, qualified_name(name))
        if name in names:
            report.duplicate(at[i] / "name", name)
        names.add(name)
