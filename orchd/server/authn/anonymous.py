"""Anonymous authentication: the last method of the chain, for requests without credentials."""

from __future__ import annotations

from collections.abc import Collection

from zope.interface import implementer

from orchd.kinds.users import ANONYMOUS, UNAUTHENTICATED_GROUP, User
from orchd.server.authn.interfaces import Authenticated, Credentials, IAuthenticator

_ANONYMOUS = Authenticated(user=User(name=ANONYMOUS, groups=(UNAUTHENTICATED_GROUP,)))


@implementer(IAuthenticator)
class Anonymous:
    """With `paths`, only requests of exactly these paths are anonymous."""

    name = "anonymous"

    def __init__(self, paths: Collection[str] = ()) -> None:
        self._paths = frozenset(paths)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        return None if self._paths and credentials.path not in self._paths else _ANONYMOUS
