"""Front-proxy authentication: headers of a proxy that authenticated the user (specification, "Authenticating proxy").

Headers are accepted only from a proxy whose client certificate is signed by the front-proxy CA and has an allowed name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zope.interface import implementer

from orchd.kinds.users import User
from orchd.pki.verify import ClientVerifier, Verified
from orchd.server.authn.extrakeys import unescaped_key
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, Credentials, IAuthenticator
from orchd.server.authn.verified_chains import VerifiedChains


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyHeaders:
    """Header names, lower-case. The first of `username` with a value is the user, that of `uid` its ID; all values of
    `groups` apply; a header with a prefix in `extra` holds an attribute, whose key is the encoded suffix. `names` are
    the allowed common names of proxies, () for any."""

    username: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@implementer(IAuthenticator)
class FrontProxy:
    """`verifier` verifies proxy certificates, `wall` returns epoch seconds."""

    name = "requestheader"

    def __init__(self, verifier: ClientVerifier, headers: ProxyHeaders, *, wall: Callable[[], float]) -> None:
        self._chains = VerifiedChains(verifier, _common_name, wall=wall)
        self._headers = headers

    def replace_authorities(self, verifier: ClientVerifier) -> None:
        """Use another CA bundle from now on."""
        self._chains.replace_authorities(verifier)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        headers, names = credentials.headers, self._headers
        name = _first(headers, names.username)
        if not name or not credentials.certificates:
            # Checked first: most clients with certificates are not proxies, and verification is expensive.
            return None
        proxy = self._chains.verify(credentials.certificates)
        if names.names and proxy not in names.names:
            raise AuthenticationError(f"x509: subject with cn={proxy} is not in the allowed list")
        extra, used = _extra(headers, names.extra)
        return Authenticated(
            user=User(
                name=name,
                uid=_first(headers, names.uid),
                groups=tuple(value for h in names.groups for value in headers.get(h, ()) if value),
                extra=extra,
            ),
            consumed=(*names.username, *names.uid, *names.groups, *used),
        )


def _first(headers: Mapping[str, tuple[str, ...]], names: Sequence[str]) -> str:
    """The first value of the first header that has one; "" for none."""
    return next((headers[name][0] for name in names if name in headers and headers[name][0]), "")


def _common_name(verified: Verified) -> str:
    return verified.identity.name


def _extra(
    headers: Mapping[str, tuple[str, ...]], prefixes: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The extra attributes by key, and the headers that held them."""
    extra: dict[str, tuple[str, ...]] = {}
    used: list[str] = []
    for prefix in prefixes:
        for header, values in headers.items():
            if header.startswith(prefix):
                key = unescaped_key(header[len(prefix) :])
                extra[key] = (*extra.get(key, ()), *values)
                used.append(header)
    return extra, used
