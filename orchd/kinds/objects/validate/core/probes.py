"""Validation of probes and lifecycle hooks of a container."""

from __future__ import annotations

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.core.field_rules import port_or_name
from orchd.kinds.objects.validate.core.podfields import sleep_action
from orchd.kinds.objects.validate.names import header_name, port
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report


def probe(value: Object, at: Path, report: Report) -> None:
    handler(value, at, report)
    for member in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        number = value.get(member)
        if number is not None and number < 0:
            report.nonnegative(at / member, number)
    grace = value.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        report.invalid(at / "terminationGracePeriodSeconds", grace, "must be greater than 0")


def lifecycle(value: Object, at: Path, report: Report) -> None:
    for member in ("postStart", "preStop"):
        if value.get(member) is not None:
            handler(value[member], at / member, report)


def hooks(value: Object, grace: int | None, at: Path, report: Report) -> None:
    """As `lifecycle`; sleeping takes no longer than the grace period of the pod."""
    for member in ("postStart", "preStop"):
        hook = value.get(member)
        if hook is not None:
            handler(hook, at / member, report)
            if hook.get("sleep") is not None and not any(hook.get(name) is not None for name, _ in _HANDLERS[:-1]):
                sleep_action(hook["sleep"], grace, at / member / "sleep", report)


def handler(value: Object, at: Path, report: Report) -> None:
    """Validate a handler: exactly one action."""
    has_handler = False
    for member, rule in _HANDLERS:
        action = value.get(member)
        if action is None:
            continue
        if has_handler:
            report.forbidden(at / member, "may not specify more than 1 handler type")
            continue
        has_handler = True
        rule(action, at / member, report)
    if not has_handler:
        report.required(at, "must specify a handler type")


def _exec(action: Object, at: Path, report: Report) -> None:
    if not action.get("command"):
        report.required(at / "command")


def _http_get(action: Object, at: Path, report: Report) -> None:
    if not action.get("path"):
        report.required(at / "path")
    port_or_name(action.get("port") or 0 if action.get("port") != "" else "", at / "port", report)
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        report.unsupported(at / "scheme", action.get("scheme") or "", ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        report.invalids(at / "httpHeaders", header.get("name", ""), header_name(header.get("name", "")))


def _tcp_socket(action: Object, at: Path, report: Report) -> None:
    port_or_name(action.get("port") or 0 if action.get("port") != "" else "", at / "port", report)


def _grpc(action: Object, at: Path, report: Report) -> None:
    report.invalids(at / "port", action.get("port") or 0, port(action.get("port") or 0))


def _sleep(action: Object, at: Path, report: Report) -> None:
    """How long it may be depends on the pod: `hooks`."""


_HANDLERS = (("exec", _exec), ("httpGet", _http_get), ("tcpSocket", _tcp_socket), ("grpc", _grpc), ("sleep", _sleep))
