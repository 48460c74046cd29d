"""Tokens of several issuers, which may be exchanged while the server runs."""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import implementer

from orchd.server.authn.interfaces import Authenticated, AuthenticationError, ITokenAuthenticator


@implementer(ITokenAuthenticator)
class JwtIssuers:
    """Tries `methods` in order. Each accepts tokens of one issuer only, so that at most one has an opinion."""

    name = "jwt"

    def __init__(self, methods: Sequence[ITokenAuthenticator] = ()) -> None:
        self.methods = tuple(methods)

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        problems: list[str] = []
        for method in self.methods:
            try:
                found = await method.authenticate_token(token, audiences)
            except AuthenticationError as error:
                problems.append(str(error))
                continue
            if found is not None:
                return found
        if problems:
            raise AuthenticationError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        return None
