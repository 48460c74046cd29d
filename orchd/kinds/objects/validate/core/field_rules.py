"""Rules that many core fields share: file paths, modes, references, ports."""

from __future__ import annotations

from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release
from orchd.kinds.objects.validate.names import domain_prefixed_path, label, port, port_name, qualified_name, subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
MAX_INT32: Final = 2147483647
TOKEN_SECONDS_MIN: Final = 600
TOKEN_SECONDS_MAX: Final = 1 << 32


def no_backsteps(value: str, at: Path, report: Report) -> None:
    """Reject a path with a segment ``..``."""
    if ".." in value and ".." in value.split("/"):
        report.invalid(at, value, "must not contain '..'")


def descending_path(value: str, at: Path, report: Report) -> None:
    """A relative path without ``..``."""
    if value.startswith("/"):
        report.invalid(at, value, "must be a relative path")
    no_backsteps(value, at, report)


def plain_path(value: str, at: Path, report: Report) -> None:
    """A descending path that does not begin with ``..``, which is reserved for the volume writer."""
    descending_path(value, at, report)
    if value.startswith("..") and not value.startswith("../"):
        report.invalid(at, value, "must not start with '..'")


def mode(value: int | None, at: Path, report: Report) -> None:
    """Validate file permission bits."""
    if value is not None and not 0 <= value <= 0o777:
        report.invalid(at, value, MODE)


def require_text(value: Object, member: str, at: Path, report: Report) -> str:
    """Require a member that is not empty. Returns its value."""
    text: str = value.get(member) or ""
    if not text:
        report.required(at / member)
    return text


def port_or_name(value: int | str, at: Path, report: Report) -> None:
    if isinstance(value, str):
        report.invalids(at, value, port_name(value))
    else:
        report.invalids(at, value, port(value))


def is_label(value: str, at: Path, report: Report) -> None:
    wrong = label(value)
    if wrong:
        report.invalids(at, value, wrong)


def is_subdomain(value: str, at: Path, report: Report) -> None:
    wrong = subdomain(value)
    if wrong:
        report.invalids(at, value, wrong)


def is_domain_path(value: str, at: Path, report: Report) -> None:
    """A path such as ``acme.io/foo``; its parts are reported by themselves."""
    if not value:
        report.required(at)
        return
    for part, why in domain_prefixed_path(value):
        report.invalid(at, part, why)


def is_qualified(value: str, at: Path, report: Report) -> None:
    wrong = qualified_name(value)
    if wrong:
        report.invalids(at, value, wrong)


def token_seconds(value: int, at: Path, report: Report) -> None:
    """Validate the lifetime of a token in seconds."""
    if value < TOKEN_SECONDS_MIN:
        report.invalid(at, value, "may not specify a duration less than 10 minutes")
    if value > TOKEN_SECONDS_MAX:
        report.invalid(at, value, "may not specify a duration larger than 2^32 seconds")


def csi_driver_name(value: str, at: Path, report: Report) -> None:
    if not value:
        report.required(at)
        _empty_driver_name(at, report)
        return
    if len(value) > 63:
        report.too_long(at, 63)
    report.invalids(at, value, subdomain(value.lower()))


def _empty_as_subdomain(at: Path, report: Report) -> None:
    report.invalids(at, "", subdomain(""))


def no_more(at: Path, report: Report) -> None:
    """An absent value has no further error."""


_empty_driver_name = by_release(_empty_as_subdomain, ("1.35", no_more))
