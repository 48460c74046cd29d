"""Client certificates: the common name is the user, the organizations are the groups (specification, "X509 client certs").

Verifying a chain costs a few hundred microseconds, and a client shows the same certificate on every connection: what was
found is kept by the digest of the chain until the first certificate in it expires.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from zope.interface import implementer

from orchd.kinds.identity import User
from orchd.pki.verify import ClientVerifier, VerificationError
from orchd.server.authn.interfaces import (
    Authenticated,
    AuthenticationError,
    Credentials,
    IAuthenticator,
)


@implementer(IAuthenticator)
class ClientCertificates:
    """`clock` gives seconds since the epoch; at most `capacity` verified chains are kept.

    `replace_authorities` serves reloading of the authorities' file without a restart.
    """

    name = "x509"

    def __init__(self, verifier: ClientVerifier, *, clock: Callable[[], float], capacity: int = 4096) -> None:
        self._verifier = verifier
        self._clock = clock
        self._capacity = capacity
        #: Digest of the chain -> (result, seconds since the epoch until which it holds).
        self._known: OrderedDict[bytes, tuple[Authenticated, float]] = OrderedDict()

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Trust another bundle from now on."""
        self._verifier = verifier
        self._known.clear()

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        chain = credentials.certificates
        if not chain:
            return None
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
        identity = verified.identity
        if not identity.name:
            return None
        result = Authenticated(user=User(name=identity.name, groups=identity.groups))
        self._known[digest] = (result, verified.expires.timestamp())
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return result
