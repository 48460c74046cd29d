"""Client certificates: the common name is the user, the organizations are the groups (specification, "X509 client certs")."""

from __future__ import annotations

from collections.abc import Callable

from zope.interface import implementer

from orchd.kinds.identity import User
from orchd.pki.verify import ClientVerifier, Verified
from orchd.server.authn.clientchains import KnownChains
from orchd.server.authn.interfaces import Authenticated, Credentials, IAuthenticator


@implementer(IAuthenticator)
class ClientCertificates:
    """`clock` gives seconds since the epoch; at most `capacity` verified chains are kept."""

    name = "x509"

    def __init__(self, verifier: ClientVerifier, *, clock: Callable[[], float], capacity: int = 4096) -> None:
        self._chains = KnownChains(verifier, _holder, clock=clock, capacity=capacity)

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Trust another bundle from now on: the authorities' file has changed."""
        self._chains.replace_authorities(verifier)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        chain = credentials.certificates
        return self._chains.of(chain) if chain else None


def _holder(verified: Verified) -> Authenticated | None:
    identity = verified.identity
    return Authenticated(user=User(name=identity.name, groups=identity.groups)) if identity.name else None
