"""Audit of one server from its settings: policy, sinks and their shutdown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

import orjson
from twisted.internet.interfaces import IReactorTime

from orchd.assembly.runtime import Runtime
from orchd.config.documents import types
from orchd.config.documents.decoding import decode_document
from orchd.config.sections.audit import AuditLogSettings, AuditWebhookSettings, SinkSettings
from orchd.config.settings import Settings
from orchd.server.outbound.reviews import ConfigurationFile
from orchd.server.outbound.webhooks import WebhookClient, WebhookError, failed_response
from orchd.server.pipeline.audit import policy
from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.server.pipeline.audit.logfile import LogFile, Rotation
from orchd.server.pipeline.audit.record import STATUS_MEMBERS_BY_RELEASE
from orchd.server.pipeline.audit.sinks import Batches, Batching, Direct, End, Send, Truncation, truncating
from orchd.server.pipeline.audit.stage import AuditTrail
from orchd.server.pipeline.audit.tail import AuditTail, TailRules
from orchd.server.pipeline.audit.versions import in_version
from orchd.server.pipeline.audit.webhook_backend import AgainError, Remote
from orchd.txkit.config_file_watcher import read_limited

#: Timeout of one webhook call in seconds, and maximum size of its response in bytes.
_SECONDS, _MOST_RESPONSE = 30.0, 1024 * 1024


def make_trail(runtime: Runtime, calls: WebhookClient, tail: AuditTail | None) -> AuditTrail | None:
    """The audit trail; None when auditing is off. `tail` gets what the policy records; without a policy the metadata of
    all requests while it is followed. Raises ValueError naming the invalid flag and file."""
    settings, clock, wall = runtime.settings, runtime.reactor, runtime.wall
    audit = settings.audit
    members = settings.release.choose(STATUS_MEMBERS_BY_RELEASE)
    if not audit.policy_file:
        return (
            None
            if tail is None
            else AuditTrail(settings.dialect, TailRules(tail), [tail], wall, clock, status_members=members)
        )
    try:
        rules = policy.make_policy(
            decode_document(read_limited(audit.policy_file), types.AUDIT_POLICY, settings.dialect)
        )
    except (OSError, ValueError) as error:
        raise ValueError(f"--audit-policy-file: {audit.policy_file}: {error}") from error
    mark = settings.dialect("audit.{abbr}.io/truncated")
    sinks: list[IAuditSink] = []
    if audit.log is not None:
        file = _file(audit.log, wall, runtime.in_thread)
        sinks.append(_sink("log", in_version(file.send, audit.log.version), file.close, audit.log.sink, mark, clock))
    if audit.webhook is not None:
        send = _to_service(settings, audit.webhook, calls, clock, runtime.random)
        sinks.append(
            _sink("webhook", in_version(send, audit.webhook.version), _nothing, audit.webhook.sink, mark, clock)
        )
    if tail is not None:
        sinks.append(tail)
    return AuditTrail(settings.dialect, rules, sinks, wall, clock, status_members=members)


async def _nothing() -> None:
    """Does nothing: the caller owns the connections of a webhook sink."""


def _sink(name: str, send: Send, end: End, chosen: SinkSettings, mark: str, clock: IReactorTime) -> IAuditSink:
    if chosen.truncate:
        send = truncating(send, Truncation(event=chosen.most_event_bytes, batch=chosen.most_batch_bytes), mark)
    if chosen.mode != "batch":
        direct: IAuditSink = Direct(name, send, end, strict=chosen.mode == "blocking-strict")
        return direct
    batches = Batches(
        buffer=chosen.buffer_size, most=chosen.batch_size, wait=chosen.batch_wait, rate=chosen.rate, burst=chosen.burst
    )
    batching: IAuditSink = Batching(name, send, end, batches, clock)
    return batching


def _file(log: AuditLogSettings, wall: Callable[[], float], in_thread: Callable[..., Awaitable[Any]]) -> LogFile:
    rotation = Rotation(megabytes=log.megabytes, backups=log.backups, days=log.days, compress=log.compress)
    try:
        return LogFile(log.path, rotation, legacy=log.legacy, wall=wall, in_thread=in_thread)
    except OSError as error:
        raise ValueError(f"--audit-log-path: {log.path}: {error.strerror}") from error


def _to_service(
    settings: Settings, webhook: AuditWebhookSettings, calls: WebhookClient, clock: IReactorTime, random: Random
) -> Send:
    try:
        configuration = ConfigurationFile(webhook.config_file, clock.seconds)
    except ValueError as error:
        raise ValueError(f"--audit-webhook-config-file: {error}") from error

    async def post(document: Mapping[str, Any]) -> None:
        where = configuration()
        try:
            response = await calls.call(
                "POST", where.server, _SECONDS,
                authority=where.authority, user=where, body=orjson.dumps(document), limit=_MOST_RESPONSE,
            )  # fmt: skip
        except WebhookError as error:
            raise AgainError(str(error)) from error
        if not 200 <= response.code <= 206:
            failure = failed_response(response)
            raise AgainError(str(failure)) if response.code == 429 or response.code >= 500 else failure

    return Remote(
        settings.dialect, post, backoff=webhook.backoff, clock=clock, random=random, version=webhook.version
    ).send
