"""The authenticator chain: the first method that identifies the user decides; handles invalid credentials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchd.kinds.users import with_authenticated_group
from orchd.server.authn.interfaces import (
    Authenticated,
    AuthenticationError,
    Credentials,
    IAuthenticator,
    UnauthenticatedError,
)


class AuthenticatorChain:
    """`methods` in order; `anonymous` applies last, and only to requests without invalid credentials.

    `observe(outcome, user, seconds)` is called for every request: outcome is "success", "failure" (an invalid
    credential) or "unknown" (no credential); `clock` is monotonic.
    """

    def __init__(
        self,
        methods: Sequence[IAuthenticator],
        *,
        anonymous: IAuthenticator | None = None,
        observe: Callable[[str, str, float], None] = lambda outcome, user, seconds: None,
        clock: Callable[[], float] = lambda: 0.0,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._methods = tuple(methods)
        self._anonymous = anonymous
        self._observe = observe
        self._clock = clock
        self._log = log

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        """The authenticated user, in the group of authenticated users. Raises ApiError 401."""
        problems: list[str] = []
        annotations: dict[str, str] = {}
        began = self._clock()
        for method in self._methods:
            try:
                authenticated = await method.authenticate(credentials)
            except AuthenticationError as error:
                problems.append(str(error))
                annotations.update(error.annotations)
                continue
            if authenticated is not None:
                self._observe("success", authenticated.user.name, self._clock() - began)
                user = with_authenticated_group(authenticated.user)
                if user is authenticated.user:
                    return authenticated
                # Written out: `replace` is ten times slower, and this runs for every request.
                return Authenticated(
                    user=user,
                    audiences=authenticated.audiences,
                    annotations=authenticated.annotations,
                    consumed=authenticated.consumed,
                    instead=authenticated.instead,
                    warnings=authenticated.warnings,
                )
        if self._anonymous is not None and not problems:
            authenticated = await self._anonymous.authenticate(credentials)
            if authenticated is not None:
                self._observe("success", authenticated.user.name, self._clock() - began)
                return authenticated
        self._observe("failure" if problems else "unknown", "", self._clock() - began)
        if problems:
            self._log(f"unable to authenticate {credentials.remote}: {'; '.join(problems)}")
        raise UnauthenticatedError(annotations)
