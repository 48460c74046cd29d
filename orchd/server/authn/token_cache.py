"""Cache of token authentication results, for methods that call external services.

Concurrent requests with the same token share one lookup. Tokens are stored as keyed digests only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from twisted.internet.defer import TimeoutError
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.server.authn.interfaces import Authenticated, AuthenticationError, ITokenAuthenticator
from orchd.server.authn.metrics import TokenCacheMetrics
from orchd.txkit.coroutines import start
from orchd.txkit.expiring_cache import ExpiringCache
from orchd.txkit.shared_call import SharedCall
from orchd.txkit.timeouts import within

_CAPACITY = 32768
#: Timeout of a lookup in seconds.
_SECONDS = 30.0


@implementer(ITokenAuthenticator)
class CachedTokens:
    """Caches results of `method`: `success_ttl` seconds for valid tokens, `unknown_ttl` seconds for unknown ones. Errors are
    not cached. `secret` is random per process."""

    def __init__(
        self,
        method: ITokenAuthenticator,
        reactor: IReactorTime,
        *,
        success_ttl: float,
        unknown_ttl: float,
        secret: bytes,
        metrics: TokenCacheMetrics | None = None,
        capacity: int = _CAPACITY,
    ) -> None:
        self.name = method.name
        self._method = method
        self._reactor = reactor
        self._ttls = success_ttl, unknown_ttl
        self._secret = secret
        self._metrics = metrics or TokenCacheMetrics()
        #: Results, each in a 1-tuple: that a token is unknown is cached too.
        self._kept: ExpiringCache[bytes, tuple[Authenticated | None]] = ExpiringCache(capacity, reactor.seconds)
        self._lookups: dict[bytes, SharedCall[Authenticated | None]] = {}

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        began = self._reactor.seconds()
        key = self._key(token, audiences)
        kept = self._kept.get(key)
        if kept is not None:
            self._metrics.count_request(True, self._reactor.seconds() - began)
            return kept[0]
        self._metrics.active("blocked", 1)
        try:
            return await self._lookup(key, token, audiences).wait()
        finally:
            self._metrics.active("blocked", -1)
            self._metrics.count_request(False, self._reactor.seconds() - began)

    def _key(self, token: str, audiences: Sequence[str]) -> bytes:
        parts = [token, *audiences]
        digest = hmac.new(self._secret, digestmod=hashlib.sha256)
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(4, "big") + data)
        return digest.digest()

    def _lookup(self, key: bytes, token: str, audiences: Sequence[str]) -> SharedCall[Authenticated | None]:
        """The running lookup for `key`, or a new one."""
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = SharedCall(
                lambda: self._fetch(key, token, audiences), lambda: self._lookups.pop(key, None)
            )
        return lookup

    async def _fetch(self, key: bytes, token: str, audiences: Sequence[str]) -> Authenticated | None:
        self._metrics.active("in_flight", 1)
        ok = False
        try:
            asked = start(self._method.authenticate_token(token, audiences))
            authenticated = await within(asked, _SECONDS, self._reactor)
            ok = True
        except TimeoutError:
            raise AuthenticationError("context deadline exceeded") from None
        finally:
            self._metrics.active("in_flight", -1)
            self._metrics.count_lookup(ok)
        self._kept.put(key, (authenticated,), self._ttls[0 if authenticated is not None else 1])
        return authenticated
