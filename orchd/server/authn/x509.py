"""Client certificates: the common name is the user, the organizations are the groups (specification, "X509 client
certs")."""

from __future__ import annotations

from collections.abc import Callable

from cryptography.hazmat.primitives.hashes import SHA256
from zope.interface import implementer

from orchd.kinds.users import User, with_authenticated_group
from orchd.pki.verify import ClientVerifier, Verified
from orchd.server.authn.interfaces import Authenticated, Credentials, IAuthenticator
from orchd.server.authn.verified_chains import VerifiedChains


@implementer(IAuthenticator)
class ClientCertificates:
    """`wall` returns epoch seconds; at most `capacity` verified chains are cached. `observe` is called for every
    request with the remaining lifetime of its certificate in seconds."""

    name = "x509"

    def __init__(
        self,
        verifier: ClientVerifier,
        *,
        wall: Callable[[], float],
        capacity: int = 4096,
        observe: Callable[[float], None] = lambda seconds: None,
        credential: str = "",
    ) -> None:
        """`credential` is the extra attribute of users for the digest of their certificate; "" if the release has
        none."""
        self._credential = credential
        self._chains = VerifiedChains(verifier, self._holder, wall=wall, capacity=capacity)
        self._wall = wall
        self._observe = observe

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Use another CA bundle from now on."""
        self._chains.replace_authorities(verifier)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        if not credentials.certificates:
            return None
        authenticated, expires = self._chains.verify(credentials.certificates)
        self._observe(expires - self._wall())
        return authenticated

    def _holder(self, verified: Verified) -> tuple[Authenticated | None, float]:
        """The user of a certificate, None without a common name, and its expiration in epoch seconds."""
        identity = verified.identity
        expires = verified.certificate.not_valid_after_utc.timestamp()
        if not identity.name:
            return None, expires
        extra: dict[str, tuple[str, ...]] = {}
        if self._credential:
            extra[self._credential] = (f"X509SHA256={verified.certificate.fingerprint(SHA256()).hex()}",)
        # The chain would make a new user for each request.
        user = with_authenticated_group(User(name=identity.name, groups=identity.groups, extra=extra))
        return Authenticated(user=user), expires
