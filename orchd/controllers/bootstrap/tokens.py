"""Secrets that hold bootstrap tokens: fields, expiry and detached signatures."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from typing import Final

import orjson

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import TimeError, parse_time

_ID: Final = re.compile(r"[a-z0-9]{6}")
_PREFIX: Final = "bootstrap-token-"


def is_token(dialect: Dialect, secret: Object) -> bool:
    """True for a Secret of the bootstrap token type."""
    return bool(secret.get("type") == dialect("bootstrap.{long}.io/token"))


def field(secret: Object, name: str) -> str:
    """A field of the Secret's data as text, "" if it is missing or not UTF-8."""
    try:
        return base64.b64decode((secret.get("data") or {}).get(name) or "").decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def expiration(secret: Object) -> float | None:
    """Expiry of a token in seconds since the epoch, None without one. An invalid time counts as expired."""
    text = field(secret, "expiration")
    if not text:
        return None
    try:
        return parse_time(text).timestamp()
    except TimeError:
        return 0.0


def signing_token(secret: Object, now: float) -> tuple[str, str] | None:
    """Id and secret of a token that may sign now; None otherwise."""
    id_, key = field(secret, "token-id"), field(secret, "token-secret")
    end = expiration(secret)
    if not _ID.fullmatch(id_) or secret["metadata"]["name"] != _PREFIX + id_ or not key:
        return None
    if (end is not None and end <= now) or field(secret, "usage-bootstrap-signing") != "true":
        return None
    return id_, key


def detached_signature(content: str, id_: str, key: str) -> str:
    """A JSON web signature (RFC 7515, HS256) over `content`, without the content (appendix F)."""
    header = _base64url(orjson.dumps({"alg": "HS256", "kid": id_}))
    signed = f"{header}.{_base64url(content.encode())}".encode()
    return f"{header}..{_base64url(hmac.digest(key.encode(), signed, 'sha256'))}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
