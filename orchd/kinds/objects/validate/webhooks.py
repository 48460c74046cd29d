"""Validation of the address of a webhook: a URL or a service (admission, conversion, audit)."""

from __future__ import annotations

from urllib.parse import urlsplit

from orchd.cel.libraries.urls import lenient_url_failure
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate.names import subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_FORM = "; desired format: https://host[/path]"


def url(text: str, at: Path, report: Report) -> None:
    wrong = lenient_url_failure(text)
    if wrong is not None:
        report.required(at, f"url must be a valid URL: {wrong}{_FORM}")
        return
    try:
        parts = urlsplit(text)
    except ValueError as error:
        # Stricter than the reference for addresses in brackets.
        report.required(at, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        report.invalid(at, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not parts.netloc.rpartition("@")[2]:
        report.invalid(at, "", reworded(f"host must be provided{_FORM}", ("1.35", f"host must be specified{_FORM}")))
    if "@" in parts.netloc:
        report.invalid(at, parts.netloc.rpartition("@")[0], "user information is not permitted in the URL")
    if parts.fragment:
        report.invalid(at, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        report.invalid(at, parts.query, "query parameters are not permitted in the URL")


def service(value: Object, at: Path, report: Report) -> None:
    # The reference swaps the two arguments: each is reported under the name of the other.
    if not value.get("namespace"):
        report.required(at / "name", reworded("service name is required", ("1.35", "")))
    if not value.get("name"):
        report.required(at / "namespace", reworded("service namespace is required", ("1.35", "")))
    number = value.get("port", 443)
    if not 1 <= number <= 65535:
        report.invalid(at / "port", number, "port is not valid: must be between 1 and 65535, inclusive")
    if value.get("path") is not None:
        _path(value["path"], at / "path", report)


def _path(text: str, at: Path, report: Report) -> None:
    if not text:
        return
    if text == "/":
        return
    if not text.startswith("/"):
        report.invalid(at, text, "must start with a '/'")
    steps = text[1:].split("/")
    for i, step in enumerate(steps):
        if not step:
            if i == len(steps) - 1 and i > 0:
                return
            report.invalid(at, text, f"segment[{i}] may not be empty")
            continue
        for why in subdomain(step):
            report.invalid(at, text, f"segment[{i}]: {why}")


def client(config: Object, at: Path, report: Report) -> None:
    """Validate that exactly one of URL and service is set."""
    where, in_cluster = config.get("url"), config.get("service")
    if (where is None) == (in_cluster is None):
        report.required(at, "exactly one of url or service is required")
    elif where is not None:
        url(where, at / "url", report)
    else:
        service(in_cluster or {}, at / "service", report)
