"""A complete drop-in authenticator: bearer tokens that another program signs with a shared key, for a limited time.

A token is ``session.USER.GROUP+GROUP.EXPIRES.MAC``: names in base64url, seconds since the epoch, and the HMAC-SHA256 of
all before it in hexadecimal. See docs/extending/authenticator.md.
"""

from __future__ import annotations

import binascii
import hmac
import os
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.kinds.users import AUTHENTICATED_GROUP, User
from orchd.server.authn.interfaces import (
    Authenticated,
    AuthenticationError,
    Credentials,
    IAuthenticator,
    IAuthenticatorFactory,
)

#: The environment variable that names the file with the key.
KEY_FILE = "SESSION_KEY_FILE"


@implementer(IAuthenticator)
class SessionTokens:
    """Tokens signed with `key`. `wall` is seconds since the epoch."""

    name = "session"

    def __init__(self, key: bytes, wall: Callable[[], float]) -> None:
        self._key = key
        self._wall = wall

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        """None for a token of another type: the next method looks at it."""
        token = credentials.bearer
        if not token.startswith("session."):
            return None
        signed, _, mac = token.rpartition(".")
        # Before anything else is read of it.
        if not hmac.compare_digest(hmac.digest(self._key, signed.encode(), "sha256").hex().encode(), mac.encode()):
            raise AuthenticationError("the session token has a wrong signature")
        try:
            _, user, groups, expires = signed.split(".")
            name, *members = (urlsafe_b64decode(each).decode() for each in (user, *filter(None, groups.split("+"))))
            ends = int(expires)
        except (ValueError, binascii.Error) as error:
            raise AuthenticationError("the session token is malformed") from error
        if ends < self._wall():
            raise AuthenticationError("the session token has expired")
        # The token goes no further, such as to an aggregated API server.
        return Authenticated(user=User(name=name, groups=(*members, AUTHENTICATED_GROUP)), consumed=("authorization",))


@implementer(IPlugin, IAuthenticatorFactory)
class _Factory:
    name = SessionTokens.name
    help = f"Bearer tokens signed with the key in the file that {KEY_FILE} names."

    def make(self, configuration: Mapping[str, Any]) -> IAuthenticator | None:
        path = os.environ.get(KEY_FILE)
        if not path:
            return None
        key = Path(path).read_bytes().strip()
        if len(key) < 32:
            raise ValueError(f"{KEY_FILE}: {path} has less than 32 bytes")
        made: IAuthenticator = SessionTokens(key, time.time)
        return made


factory = _Factory()
