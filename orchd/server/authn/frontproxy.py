"""Request headers of a front proxy: it has authenticated the sender, and says who that is (specification,
"Authenticating proxy").

Headers are believed only of a proxy that shows a certificate of its own authority, and of one of the allowed names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zope.interface import implementer

from orchd.kinds.identity import User
from orchd.pki.verify import ClientVerifier, Verified
from orchd.server.authn.extrakeys import unescaped_key
from orchd.server.authn.interfaces import (
    Authenticated,
    AuthenticationError,
    Credentials,
    IAuthenticator,
)
from orchd.server.authn.verified_chains import VerifiedChains


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyHeaders:
    """Names of headers, lower-case. The first of `username` with a value is the user; all values of `groups` count;
    what begins with one of `extra` holds an attribute, whose name is the escaped rest. `names` are the common names that
    proxies may have, () for any."""

    username: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@implementer(IAuthenticator)
class FrontProxy:
    """`verifier` knows the proxies' authorities, `clock` gives seconds since the epoch."""

    name = "requestheader"

    def __init__(self, verifier: ClientVerifier, headers: ProxyHeaders, *, clock: Callable[[], float]) -> None:
        self._chains = VerifiedChains(verifier, _common_name, clock=clock)
        self._headers = headers

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Trust another bundle from now on: the authorities' file has changed."""
        self._chains.replace_authorities(verifier)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        headers, wanted = credentials.headers, self._headers
        name = next((headers[h][0] for h in wanted.username if h in headers and headers[h][0]), "")
        if not name or not credentials.certificates:
            # Looked at first: most clients that show a certificate are no proxies, and verifying it is dear.
            return None
        proxy = self._chains.of(credentials.certificates)
        if wanted.names and proxy not in wanted.names:
            raise AuthenticationError(f"x509: subject with cn={proxy} is not in the allowed list")
        extra, used = _extra(headers, wanted.extra)
        return Authenticated(
            user=User(
                name=name,
                groups=tuple(value for h in wanted.groups for value in headers.get(h, ()) if value),
                extra=extra,
            ),
            consumed=(*wanted.username, *wanted.groups, *used),
        )


def _common_name(verified: Verified) -> str:
    return verified.identity.name


def _extra(
    headers: Mapping[str, tuple[str, ...]], prefixes: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The attributes by name, and the headers that held them."""
    found: dict[str, tuple[str, ...]] = {}
    used: list[str] = []
    for prefix in prefixes:
        for header, values in headers.items():
            if header.startswith(prefix):
                key = unescaped_key(header[len(prefix) :])
                found[key] = (*found.get(key, ()), *values)
                used.append(header)
    return found, used
