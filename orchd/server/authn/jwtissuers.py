"""Tokens of several issuers, which may be exchanged while the server runs."""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import implementer

from orchd.server.authn.interfaces import Authenticated, ITokenAuthenticator
from orchd.server.authn.jose import claimed_issuer


@implementer(ITokenAuthenticator)
class JwtIssuers:
    """Leaves a token to the method of the issuer that it names; `methods` are by issuer. A token is read once, however
    many issuers there are."""

    name = "jwt"

    def __init__(self) -> None:
        self.methods: dict[str, ITokenAuthenticator] = {}

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        if not self.methods:
            return None
        method = self.methods.get(claimed_issuer(token) or "")
        return None if method is None else await method.authenticate_token(token, audiences)
