"""Anonymous authentication: the last method of the chain, for requests without credentials."""

from __future__ import annotations

from zope.interface import implementer

from orchd.kinds.identity import ANONYMOUS, UNAUTHENTICATED_GROUP, User
from orchd.server.authn.interfaces import Authenticated, Credentials, IAuthenticator

_ANONYMOUS = Authenticated(user=User(name=ANONYMOUS, groups=(UNAUTHENTICATED_GROUP,)))


@implementer(IAuthenticator)
class Anonymous:
    name = "anonymous"

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        return _ANONYMOUS
