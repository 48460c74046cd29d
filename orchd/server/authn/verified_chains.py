"""Client certificate chains that were verified before.

Verifying a chain costs a few hundred microseconds, and a client shows the same certificate on every connection: what was
found is kept by the digest of the chain until the first certificate in it expires.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Generic, TypeVar

from orchd.pki.verify import ClientVerifier, VerificationError, Verified
from orchd.server.authn.interfaces import AuthenticationError

T = TypeVar("T")


class VerifiedChains(Generic[T]):
    """`make` turns a verified client into what is kept. `clock` gives seconds since the epoch; at most `capacity` chains
    are kept."""

    def __init__(
        self, verifier: ClientVerifier, make: Callable[[Verified], T], *, clock: Callable[[], float], capacity: int = 4096
    ) -> None:
        self._verifier = verifier
        self._make = make
        self._clock = clock
        self._capacity = capacity
        #: Digest of the chain -> (what was made of it, seconds since the epoch until which it holds).
        self._known: OrderedDict[bytes, tuple[T, float]] = OrderedDict()

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Trust another bundle from now on."""
        self._verifier = verifier
        self._known.clear()

    def of(self, chain: Sequence[bytes]) -> T:
        """What a chain (DER, leaf first, not empty) stands for. Raises AuthenticationError."""
        digest = hashlib.sha256(b"".join(len(der).to_bytes(4, "big") + der for der in chain)).digest()
        now = self._clock()
        found = self._known.get(digest)
        if found is not None:
            if now < found[1]:
                self._known.move_to_end(digest)
                return found[0]
            del self._known[digest]
        try:
            verified = self._verifier.verify(chain, now=datetime.fromtimestamp(now, UTC))
        except VerificationError as error:
            raise AuthenticationError(f"x509: {error}") from error
        made = self._make(verified)
        self._known[digest] = (made, verified.expires.timestamp())
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return made
