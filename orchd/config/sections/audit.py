"""Audit settings from flag values. Durations are seconds."""

from __future__ import annotations

from dataclasses import dataclass

from orchd.config.flag_values import FlagValues


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
    """The audit policy and the configured sinks. Auditing is off if `policy_file` is ""; an unconfigured sink is
    None."""

    policy_file: str
    log: AuditLogSettings | None
    webhook: AuditWebhookSettings | None


def audit(flags: FlagValues) -> AuditSettings:
    """Raises FlagError."""
    path, config = flags["audit-log-path"], flags["audit-webhook-config-file"]
    policy = flags["audit-policy-file"]
    if policy and not (path or config):
        raise flags.error("audit-policy-file", "needs a sink: --audit-log-path or --audit-webhook-config-file")
    if (path or config) and not policy:
        raise flags.error(
            "audit-log-path" if path else "audit-webhook-config-file",
            "needs --audit-policy-file: without a policy no events are recorded",
        )
    log = webhook = None
    if path:
        log = AuditLogSettings(
            path=path,
            legacy=flags["audit-log-format"] == "legacy",
            megabytes=flags.at_least("audit-log-maxsize", 0),
            backups=flags.at_least("audit-log-maxbackup", 0),
            days=flags.at_least("audit-log-maxage", 0),
            compress=flags["audit-log-compress"],
            sink=_sink(flags, "audit-log"),
            version=flags["audit-log-version"],
        )
    if config:
        webhook = AuditWebhookSettings(
            config_file=config,
            backoff=flags["audit-webhook-initial-backoff"],
            sink=_sink(flags, "audit-webhook"),
            version=flags["audit-webhook-version"],
        )
    return AuditSettings(policy_file=policy, log=log, webhook=webhook)


def _sink(flags: FlagValues, prefix: str) -> SinkSettings:
    throttled = flags[f"{prefix}-batch-throttle-enable"]
    rate, burst = flags[f"{prefix}-batch-throttle-qps"], flags[f"{prefix}-batch-throttle-burst"]
    mode = flags[f"{prefix}-mode"]
    buffer = flags.at_least(f"{prefix}-batch-buffer-size", 1)
    size = flags.at_least(f"{prefix}-batch-max-size", 1)
    if mode == "batch":
        if size > buffer:
            raise flags.error(f"{prefix}-batch-max-size", f"must not be above --{prefix}-batch-buffer-size")
        if throttled and rate <= 0:
            raise flags.error(f"{prefix}-batch-throttle-qps", "must be above 0 while throttling is on")
        if throttled and burst <= 0:
            raise flags.error(f"{prefix}-batch-throttle-burst", "must be above 0 while throttling is on")
    return SinkSettings(
        mode=mode,
        buffer_size=buffer,
        batch_size=size,
        batch_wait=flags[f"{prefix}-batch-max-wait"],
        rate=rate if throttled else 0.0,
        burst=burst,
        truncate=flags[f"{prefix}-truncate-enabled"],
        most_event_bytes=flags.at_least(f"{prefix}-truncate-max-event-size", 1),
        most_batch_bytes=flags.at_least(f"{prefix}-truncate-max-batch-size", 1),
    )
