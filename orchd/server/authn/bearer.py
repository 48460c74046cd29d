"""Bearer tokens: token authenticators in order, for requests and for TokenReview."""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import implementer

from orchd.server.authn.interfaces import (
    Authenticated,
    AuthenticationError,
    Credentials,
    IAuthenticator,
    ITokenAuthenticator,
)

INVALID = "invalid bearer token"


@implementer(IAuthenticator)
class BearerTokens:
    """Tries token authenticators in order; the first that accepts a token decides. An unknown token is an error, never
    an anonymous request.

    `audiences` are those of this API server: a request's token must be valid for one of them.
    """

    name = "bearer"

    def __init__(self, methods: Sequence[ITokenAuthenticator], *, audiences: Sequence[str]) -> None:
        self.methods = tuple(methods)
        self._audiences = tuple(audiences)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        token = credentials.bearer
        if not token:
            return None
        authenticated = await self.authenticate_token(token, self._audiences)
        return Authenticated(
            user=authenticated.user,
            audiences=authenticated.audiences,
            annotations=authenticated.annotations,
            consumed=(*authenticated.consumed, "authorization"),
            warnings=authenticated.warnings,
        )

    async def authenticate_token(self, token: str, audiences: Sequence[str] = ()) -> Authenticated:
        """The user of `token`; `audiences` default to those of this API server.

        Raises AuthenticationError with the text that TokenReview shows as ``status.error``.
        """
        problems = [INVALID]
        annotations: dict[str, str] = {}
        for method in self.methods:
            try:
                authenticated = await method.authenticate_token(token, audiences or self._audiences)
            except AuthenticationError as error:
                problems.append(str(error))
                annotations.update(error.annotations)
                continue
            if authenticated is not None:
                return authenticated
        texts = list(dict.fromkeys(problems))
        raise AuthenticationError(INVALID if len(texts) == 1 else f"[{', '.join(texts)}]", annotations)
