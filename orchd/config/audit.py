"""Audit settings from flag values. Durations are seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchd.config.source import FlagError

Values = Mapping[str, Any]
#: Creates the error of a flag from its name in the tables and a message.
Fail = Callable[[str, str], FlagError]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSettings:
    """Buffering, throttling and truncation of one sink. `mode` is batch, blocking or blocking-strict; `rate` 0 disables
    throttling; `most_event_bytes` and `most_batch_bytes` only apply with `truncate`."""

    mode: str
    buffer_size: int
    batch_size: int
    batch_wait: float
    rate: float
    burst: int
    truncate: bool
    most_event_bytes: int
    most_batch_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLogSettings:
    """The audit log file and its rotation. `path` "-" means standard output; 0 means no limit."""

    path: str
    legacy: bool
    megabytes: int
    backups: int
    days: int
    compress: bool
    sink: SinkSettings
    #: apiVersion of the events.
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditWebhookSettings:
    """The audit webhook. `backoff` is the delay before the first retry."""

    config_file: str
    backoff: float
    sink: SinkSettings
    #: apiVersion of the events.
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """The audit policy and the configured sinks. Auditing is off if `policy_file` is ""; an unconfigured sink is None."""

    policy_file: str
    log: AuditLogSettings | None
    webhook: AuditWebhookSettings | None


def audit(values: Values, fail: Fail) -> AuditSettings:
    """Audit settings from flag values. Raises FlagError."""
    path, config = values["audit-log-path"], values["audit-webhook-config-file"]
    policy = values["audit-policy-file"]
    if policy and not (path or config):
        raise fail("audit-policy-file", "needs a sink: --audit-log-path or --audit-webhook-config-file")
    if (path or config) and not policy:
        raise fail("audit-log-path" if path else "audit-webhook-config-file", "needs --audit-policy-file: without a policy no events are recorded")
    log = webhook = None
    if path:
        log = AuditLogSettings(
            path=path,
            legacy=values["audit-log-format"] == "legacy",
            megabytes=_at_least(values, fail, "audit-log-maxsize", 0),
            backups=_at_least(values, fail, "audit-log-maxbackup", 0),
            days=_at_least(values, fail, "audit-log-maxage", 0),
            compress=values["audit-log-compress"],
            sink=_sink(values, fail, "audit-log"),
            version=values["audit-log-version"],
        )
    if config:
        webhook = AuditWebhookSettings(
            config_file=config,
            backoff=values["audit-webhook-initial-backoff"],
            sink=_sink(values, fail, "audit-webhook"),
            version=values["audit-webhook-version"],
        )
    return AuditSettings(policy_file=policy, log=log, webhook=webhook)


def _sink(values: Values, fail: Fail, prefix: str) -> SinkSettings:
    throttled = values[f"{prefix}-batch-throttle-enable"]
    rate, burst = values[f"{prefix}-batch-throttle-qps"], values[f"{prefix}-batch-throttle-burst"]
    mode = values[f"{prefix}-mode"]
    buffer = _at_least(values, fail, f"{prefix}-batch-buffer-size", 1)
    size = _at_least(values, fail, f"{prefix}-batch-max-size", 1)
    if mode == "batch":
        if size > buffer:
            raise fail(f"{prefix}-batch-max-size", f"must not be above --{prefix}-batch-buffer-size")
        if throttled and rate <= 0:
            raise fail(f"{prefix}-batch-throttle-qps", "must be above 0 while throttling is on")
        if throttled and burst <= 0:
            raise fail(f"{prefix}-batch-throttle-burst", "must be above 0 while throttling is on")
    return SinkSettings(
        mode=mode,
        buffer_size=buffer,
        batch_size=size,
        batch_wait=values[f"{prefix}-batch-max-wait"],
        rate=rate if throttled else 0.0,
        burst=burst,
        truncate=values[f"{prefix}-truncate-enabled"],
        most_event_bytes=_at_least(values, fail, f"{prefix}-truncate-max-event-size", 1),
        most_batch_bytes=_at_least(values, fail, f"{prefix}-truncate-max-batch-size", 1),
    )


def _at_least(values: Values, fail: Fail, name: str, least: int) -> int:
    value: int = values[name]
    if value < least:
        raise fail(name, f"must be at least {least}")
    return value
