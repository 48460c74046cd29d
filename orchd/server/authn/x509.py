"""Client certificates: the common name is the user, the organizations are the groups (specification, "X509 client certs")."""

from __future__ import annotations

from collections.abc import Callable

from zope.interface import implementer

from orchd.kinds.identity import User
from orchd.pki.verify import ClientVerifier, Verified
from orchd.server.authn.interfaces import Authenticated, Credentials, IAuthenticator
from orchd.server.authn.verified_chains import VerifiedChains


@implementer(IAuthenticator)
class ClientCertificates:
    """`clock` gives seconds since the epoch; at most `capacity` verified chains are kept. `observe` is told with every
    request for how many seconds its certificate is still good."""

    name = "x509"

    def __init__(
        self,
        verifier: ClientVerifier,
        *,
        clock: Callable[[], float],
        capacity: int = 4096,
        observe: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self._chains = VerifiedChains(verifier, _holder, clock=clock, capacity=capacity)
        self._clock = clock
        self._observe = observe

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Trust another bundle from now on: the authorities' file has changed."""
        self._chains.replace_authorities(verifier)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        if not credentials.certificates:
            return None
        found, expires = self._chains.of(credentials.certificates)
        self._observe(expires - self._clock())
        return found


def _holder(verified: Verified) -> tuple[Authenticated | None, float]:
    """The user of a certificate, None for one without a name, and when it expires in seconds since the epoch."""
    identity = verified.identity
    found = Authenticated(user=User(name=identity.name, groups=identity.groups)) if identity.name else None
    return found, verified.certificate.not_valid_after_utc.timestamp()
