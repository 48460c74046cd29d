"""Bearer tokens in WebSocket subprotocols, for browsers, which cannot set the Authorization header (specification,
"WebSocket bearer tokens")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.server.authn.bearer import BearerTokens
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, Credentials, IAuthenticator
from orchd.server.authn.jose import TokenError, decode_base64

_HEADER = "sec-websocket-protocol"
_UPGRADE = re.compile(r"(^|.*,\s*)upgrade($|\s*,)")
#: Subprotocols of a request that offers a token; clients name two.
_MOST_PROTOCOLS = 1000


@implementer(IAuthenticator)
class WebSocketTokens:
    """Authenticates with `bearer` a token that is offered as a subprotocol beside at least one other."""

    name = "websocket"

    def __init__(self, dialect: Dialect, bearer: BearerTokens, *, audiences: Sequence[str]) -> None:
        self._prefix = dialect("base64url.bearer.authorization.{abbr}.io.")
        self._bearer = bearer
        self._audiences = tuple(audiences)

    async def authenticate(self, credentials: Credentials) -> Authenticated | None:
        headers = credentials.headers
        if _HEADER not in headers or not _is_websocket(headers):
            return None
        if not any(self._prefix in value for value in headers[_HEADER]):
            return None
        if sum(value.count(",") for value in headers[_HEADER]) > _MOST_PROTOCOLS:
            raise AuthenticationError("too many subprotocols")
        offered = [protocol.strip() for value in headers[_HEADER] for protocol in value.split(",")]
        others = [protocol for protocol in offered if not protocol.startswith(self._prefix)]
        if len(offered) - len(others) > 1:
            raise AuthenticationError("multiple base64.bearer.authorization tokens specified")
        token = next((_decode(p[len(self._prefix) :]) for p in offered if p.startswith(self._prefix)), "")
        if not token:
            return None
        if not others:
            raise AuthenticationError("missing additional subprotocol")
        authenticated = await self._bearer.authenticate_token(token, self._audiences)
        return Authenticated(
            user=authenticated.user,
            audiences=authenticated.audiences,
            annotations=authenticated.annotations,
            consumed=(*authenticated.consumed, _HEADER),
            instead={_HEADER: (",".join(others),)},
        )


def _is_websocket(headers: Mapping[str, tuple[str, ...]]) -> bool:
    upgrade, connection = headers.get("upgrade", ("",))[0], headers.get("connection", ("",))[0]
    return upgrade.lower() == "websocket" and _UPGRADE.match(connection.lower()) is not None


def _decode(text: str) -> str:
    try:
        return decode_base64(text).decode()
    except TokenError:
        raise AuthenticationError("invalid base64.bearer.authorization token encoding") from None
    except UnicodeDecodeError:
        raise AuthenticationError("invalid base64.bearer.authorization token") from None
