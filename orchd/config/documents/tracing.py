"""TracingConfiguration: where traces are sent, and how many requests are traced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from orchd.config.documents import types
from orchd.config.documents.decoding import decode_document
from orchd.config.documents.findings import raise_findings
from orchd.dialect import Dialect
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report

_DEFAULT_ENDPOINT: Final = "localhost:4317"
_SCHEMES: Final = ("dns", "unix", "unix-abstract")
_MOST_RATE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingConfiguration:
    """`endpoint` is the gRPC target of the collector, such as ``host:port``; `ratio` of the requests without a sampled
    parent is traced, 0.0 to 1.0."""

    endpoint: str = _DEFAULT_ENDPOINT
    ratio: float = 0.0


def parse_tracing(data: bytes, dialect: Dialect) -> TracingConfiguration:
    """The configuration in the text of a file. Raises DocumentError."""
    document = decode_document(data, types.TRACING, dialect)
    report = Report(ObjectSettings(dialect=dialect))
    rate, endpoint = document.get("samplingRatePerMillion"), document.get("endpoint")
    if rate is not None and not 0 <= rate <= _MOST_RATE:
        why = (
            "sampling rate must be positive"
            if rate < 0
            else "sampling rate per million must be less than or equal to one million"
        )
        report.invalid(root("samplingRatePerMillion"), rate, why)
    if endpoint is not None:
        _check_endpoint(endpoint, report)
    raise_findings(report)
    return TracingConfiguration(endpoint=endpoint or _DEFAULT_ENDPOINT, ratio=(rate or 0) / _MOST_RATE)


def _check_endpoint(endpoint: str, report: Report) -> None:
    at, url = root("endpoint"), endpoint if "//" in endpoint else f"dns://{endpoint}"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        report.invalid(at, endpoint, str(error))
        return
    if parts.scheme not in _SCHEMES:
        report.invalid(
            at, endpoint, f"unsupported scheme: {parts.scheme}. Options are none, dns, unix, or unix-abstract"
        )
    elif "@" in parts.netloc:
        # Printed as a URL, whose password is hidden.
        report.invalid(at, url, "no user of a URL is sent to collectors")
    elif "//" not in endpoint and (not parts.hostname or parts.path or parts.query or parts.fragment):
        report.invalid(at, endpoint, "must be host:port, or a gRPC target with a scheme")
