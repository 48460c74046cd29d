"""Bootstrap tokens ``ID.SECRET``: stored as secrets in the system namespace (specification, "Bootstrap tokens")."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Callable, Sequence
from typing import Any

from zope.interface import implementer

from orchd.client.interfaces import IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.times import TimeError, parse_time
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Authenticated, ITokenAuthenticator

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})\Z")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\Z")
_DEFAULT_GROUP = "system:bootstrappers"


@implementer(ITokenAuthenticator)
class BootstrapTokens:
    """`wall` returns epoch seconds. A secret that is invalid in any part is ignored."""

    name = "bootstrap"

    def __init__(
        self, dialect: Dialect, informers: IInformers, *, wall: Callable[[], float], audiences: Sequence[str]
    ) -> None:
        self._type = dialect("bootstrap.{long}.io/token")
        self._namespace = dialect.system_namespace
        self._secrets = informers.informer(ResourceRef("", "v1", "secrets"))
        self._wall = wall
        self._audiences = frozenset(audiences)

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        match = _TOKEN.match(token)
        if match is None:
            return None
        id, secret = match.groups()
        obj = self._secrets.get(self._namespace, f"bootstrap-token-{id}")
        if obj is None or obj.get("type") != self._type or obj["metadata"].get("deletionTimestamp"):
            return None
        data = _texts(obj)
        if not hmac.compare_digest(data.get("token-secret", "").encode(), secret.encode()):
            return None
        if data.get("token-id") != id or data.get("usage-bootstrap-authentication") != "true":
            return None
        groups = _groups(data.get("auth-extra-groups", ""))
        if groups is None or self._is_expired(data.get("expiration", "")):
            return None
        good = tuple(a for a in audiences if a in self._audiences)
        if audiences and not good:
            return None
        return Authenticated(user=User(name=f"system:bootstrap:{id}", groups=groups), audiences=good)

    def _is_expired(self, text: str) -> bool:
        """True if the time has passed, or is not a valid timestamp."""
        try:
            return bool(text) and parse_time(text).timestamp() < self._wall()
        except TimeError:
            return True


def _texts(secret: dict[str, Any]) -> dict[str, str]:
    out: dict[str, str] = {}
    for key, value in (secret.get("data") or {}).items():
        try:
            out[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            # Bytes that are not text never equal an expected value.
            continue
    return out


def _groups(text: str) -> tuple[str, ...] | None:
    """The groups of a token; None when one is not a bootstrappers' group."""
    extra = sorted(set(text.split(","))) if text else []
    if any(not _GROUP.match(g) for g in extra):
        return None
    return (_DEFAULT_GROUP, *extra)
