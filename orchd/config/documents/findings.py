"""The outcome of a document's validation."""

from __future__ import annotations

from typing import Final

from orchd.config.documents.decoding import DocumentError
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

#: Why a field with an expression is rejected: a rule that is not evaluated must not be accepted.
NO_EXPRESSIONS: Final = "CEL expressions are not supported by this server"


def reject_expression(report: Report, at: Path, expression: str) -> None:
    """Report a field with an expression."""
    report.invalid(at, expression, NO_EXPRESSIONS)


def raise_findings(report: Report) -> None:
    """Raises DocumentError with all errors of `report`, if there are any: several in brackets, repeated ones once."""
    text = report.summary()
    if text:
        raise DocumentError(text)
