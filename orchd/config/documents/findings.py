"""The outcome of a document's validation."""

from __future__ import annotations

from orchd.config.documents.decoding import DocumentError
from orchd.kinds.objects.validate.report import Report


def raise_findings(report: Report) -> None:
    """Raises DocumentError with all errors of `report`, if there are any: several in brackets, repeated ones once."""
    text = report.summary()
    if text:
        raise DocumentError(text)
