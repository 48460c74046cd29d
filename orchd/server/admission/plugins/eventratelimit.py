"""EventRateLimit: token buckets for events, per server, namespace, user, or source and object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zope.interface import implementer

from orchd.errors import ApiError
from orchd.server.admission.interfaces import IValidatingPlugin, PluginContext, Review
from orchd.server.admission.plugin import Plugin
from orchd.txkit.lru_cache import LruCache
from orchd.txkit.token_bucket import TokenBucket

#: Default number of buckets of a limit.
_CACHE = 4096
_TYPES = ("Server", "Namespace", "User", "SourceAndObject")


class _Limit:
    """One configured limit; least recently used buckets are dropped."""

    def __init__(self, row: Mapping[str, Any], wall: Callable[[], float]) -> None:
        kind = row.get("type")
        if kind not in _TYPES:
            raise ValueError(f"EventRateLimit: limits[].type: {kind!r} must be one of {', '.join(_TYPES)}")
        self.kind: str = kind
        self._rate, self._burst = row.get("qps", 0), row.get("burst", 0)
        if self._rate <= 0 or self._burst <= 0:
            raise ValueError("EventRateLimit: limits[].qps and limits[].burst must be positive")
        if self._burst < self._rate:
            raise ValueError("EventRateLimit: limits[].burst must not be less than qps")
        self._wall = wall
        self._buckets: LruCache[str, TokenBucket] = LruCache(1 if kind == "Server" else row.get("cacheSize") or _CACHE)

    def take(self, key: str) -> bool:
        """Take a token; False when the bucket is empty."""
        now = self._wall()
        return self._buckets.obtain(key, lambda: TokenBucket(self._rate, self._burst, now)).take(now)


def _key(kind: str, review: Review) -> str:
    """What a limit of this type counts together."""
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
        section = context.settings.configuration or {}
        self._limits = [_Limit(row, context.runtime.wall) for row in section.get("limits") or ()]
        if not self._limits:
            raise ValueError("EventRateLimit: limits: at least one is needed")
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
