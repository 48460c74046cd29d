"""The loopback identity of in-process clients: a random token that never leaves the process."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from zope.interface import implementer

from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.authn.interfaces import Authenticated, ITokenAuthenticator

LOOPBACK_USER = "system:apiserver"


@implementer(ITokenAuthenticator)
class Loopback:
    """`token` is generated at start from a secure source; `uid` is any text unique to the process."""

    name = "loopback"

    def __init__(self, token: str, *, uid: str = "") -> None:
        if not token:
            raise ValueError("the loopback token must not be empty")
        self._token = token.encode()
        self.user = User(name=LOOPBACK_USER, uid=uid, groups=(MASTERS_GROUP,))

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        if hmac.compare_digest(token.encode(), self._token):
            return Authenticated(user=self.user, audiences=tuple(audiences))
        return None
