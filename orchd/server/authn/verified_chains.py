"""Cache of verified client certificate chains.

Verifying a chain costs a few hundred microseconds, and a client sends the same certificate on every connection: results
are cached by chain, by its digest if it is long, until its first certificate expires.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar

from orchd.pki.verify import ClientVerifier, VerificationError, Verified
from orchd.server.authn.interfaces import AuthenticationError
from orchd.txkit.expiring_cache import ExpiringCache

T = TypeVar("T")

#: Bytes of the longest chain that is a key itself. Its hash is known after the first request of a connection.
SHORT: Final = 4096


class VerifiedChains(Generic[T]):
    """`make` converts a verified client to the cached value. `wall` returns epoch seconds; at most `capacity` chains
    are cached."""

    def __init__(
        self,
        verifier: ClientVerifier,
        make: Callable[[Verified], T],
        *,
        wall: Callable[[], float],
        capacity: int = 4096,
    ) -> None:
        self._verifier = verifier
        self._make = make
        self._wall = wall
        #: By the chain or its digest, until the first certificate expires.
        self._verified: ExpiringCache[tuple[bytes, ...] | bytes, T] = ExpiringCache(capacity, wall)

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Use another CA bundle from now on."""
        self._verifier = verifier
        self._verified.clear()

    def verify(self, chain: tuple[bytes, ...]) -> T:
        """The value of a chain (DER, leaf first, not empty). Raises AuthenticationError."""
        key = chain if sum(map(len, chain)) <= SHORT else _digest(chain)
        cached = self._verified.get(key)
        if cached is not None:
            return cached
        now = self._wall()
        try:
            verified = self._verifier.verify(chain, now=datetime.fromtimestamp(now, UTC))
        except VerificationError as error:
            raise AuthenticationError(f"x509: {error}") from error
        identity = self._make(verified)
        self._verified.put(key, identity, verified.expires.timestamp() - now)
        return identity


def _digest(chain: tuple[bytes, ...]) -> bytes:
    return hashlib.sha256(b"".join(len(der).to_bytes(4, "big") + der for der in chain)).digest()
