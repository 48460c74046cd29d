"""EventRateLimit: token buckets for events, per server, namespace, user, or source and object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zope.interface import implementer

from orchd.errors import ApiError
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report
from orchd.server.admission.interfaces import IValidatingPlugin, PluginContext, Review
from orchd.server.admission.plugin import Plugin
from orchd.txkit.lru_cache import LruCache
from orchd.txkit.token_bucket import TokenBucket

#: Default number of buckets of a limit.
_CACHE = 4096
_TYPES = ("Server", "Namespace", "User", "SourceAndObject")


class _Limit:
    """One configured limit; least recently used buckets are dropped."""

    def __init__(self, row: Mapping[str, Any], share: float, wall: Callable[[], float]) -> None:
        self.kind: str = row["type"]
        self._rate, self._burst = row["qps"] * share, max(1, row["burst"] * share)
        self._wall = wall
        self._buckets: LruCache[str, TokenBucket] = LruCache(
            1 if self.kind == "Server" else row.get("cacheSize") or _CACHE
        )

    def take(self, key: str) -> bool:
        """Take a token; False when the bucket is empty."""
        now = self._wall()
        return self._buckets.obtain(key, lambda: TokenBucket(self._rate, self._burst, now)).take(now)


def _check(limits: Sequence[Mapping[str, Any]], report: Report) -> None:
    at = root("limits")
    if not limits:
        report.required(at, "must not be empty")
    for index, row in enumerate(limits):
        if row["type"] not in _TYPES:
            report.unsupported(at[index] / "type", row["type"], _TYPES)
        for name in ("burst", "qps"):
            if row[name] <= 0:
                report.invalid(at[index] / name, row[name], "must be positive")
        if row["type"] != "Server" and row.get("cacheSize", 0) < 0:
            report.invalid(at[index] / "cacheSize", row["cacheSize"], "must not be negative")


def _key(kind: str, review: Review) -> str:
    """The key of the events that a limit of this type counts together."""
    if kind == "Namespace":
        return review.namespace
    if kind == "User":
        return review.user.name
    if kind == "Server":
        return ""
    event = review.object or {}
    source, target = event.get("source") or {}, event.get("involvedObject") or {}
    parts = [source.get(k, "") for k in ("component", "host")]
    parts.extend(target.get(k, "") for k in ("kind", "namespace", "name", "uid", "apiVersion"))
    return "".join(parts)


@implementer(IValidatingPlugin)
class EventRateLimit(Plugin):
    """Rejects an event with 429 if any of the configured limits is exceeded."""

    name = "EventRateLimit"
    help = "Limits the rate of events, to protect the store."
    resources = ("events",)

    def __init__(self, context: PluginContext) -> None:
        limits = (context.settings.configuration or {}).get("limits") or ()
        report = Report(ObjectSettings(dialect=context.settings.dialect))
        _check(limits, report)
        if report.causes:
            raise ValueError(report.summary())
        self._limits = [_Limit(row, context.settings.rate_share, context.runtime.wall) for row in limits]
        super().__init__(context)

    async def validate(self, review: Review) -> None:
        if review.dry_run:
            return
        reasons = []
        for limit in self._limits:
            key = _key(limit.kind, review)
            if not limit.take(key):
                reasons.append(f"limit reached on type {limit.kind} for key {key}")
        if reasons:
            text = reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]"
            raise ApiError(429, "TooManyRequests", f"Too many requests: {text}")
