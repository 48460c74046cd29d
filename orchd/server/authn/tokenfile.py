"""Static token file with lines ``token,user,uid,"group1,group2"`` (specification, "Static token file")."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from zope.interface import implementer

from orchd.kinds.users import User, with_authenticated_group
from orchd.server.authn.interfaces import Authenticated, ITokenAuthenticator


class TokenFileError(ValueError):
    """An invalid line; the message starts with ``FILE:LINE``."""


def parse_token_file(name: str, lines: Iterable[str]) -> dict[str, User]:
    """Users by token. `name` is for messages. Columns after the fourth are ignored; of repeated tokens the last line
    applies.

    Raises TokenFileError.
    """
    users: dict[str, User] = {}
    reader = csv.reader(lines, skipinitialspace=True, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise TokenFileError(f"{name}:{reader.line_num}: {error}") from error
        if row is None:
            return users
        if not row:
            continue
        if len(row) < 3:
            raise TokenFileError(
                f"{name}:{reader.line_num}: at least 3 columns are needed (token, user name, uid), found {len(row)}"
            )
        token, user, uid = row[0], row[1], row[2]
        if not token:
            raise TokenFileError(f"{name}:{reader.line_num}: the token is empty")
        groups = tuple(row[3].split(",")) if len(row) > 3 and row[3] else ()
        users[token] = User(name=user, uid=uid, groups=groups)


@implementer(ITokenAuthenticator)
class TokenFile:
    """Tokens of a file, valid for the audiences of this API server only."""

    name = "tokenfile"

    def __init__(self, users: dict[str, User], *, audiences: Sequence[str]) -> None:
        self._audiences = tuple(audiences)
        #: The results for all audiences by token, also with the group that the chain would add at each request.
        self._authenticated = {
            token: Authenticated(user=with_authenticated_group(user), audiences=self._audiences)
            for token, user in users.items()
        }

    @classmethod
    def read(cls, path: str, *, audiences: Sequence[str]) -> TokenFile:
        """Load a file. Raises OSError, TokenFileError."""
        with open(path, encoding="utf-8", newline="") as stream:
            return cls(parse_token_file(path, stream), audiences=audiences)

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        authenticated = self._authenticated.get(token)
        if authenticated is None or audiences == self._audiences:
            return authenticated
        good = tuple(a for a in audiences if a in self._audiences)
        return Authenticated(user=authenticated.user, audiences=good) if good or not audiences else None
