"""Signed tokens of external issuers in compact form, and their key sets (RFC 7515, RFC 7517, RFC 7518).

Error texts are those that the reference shows in token reviews.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from orchd.kinds.gotext.values import json_name
from orchd.kinds.nested import without_surrogates

#: The algorithms that can be configured, all of them asymmetric.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
_CURVES: Final = {"ES256": 256, "ES384": 384, "ES512": 521}
#: An issuer with two names.
GOOGLE, GOOGLE_ALIAS = "https://accounts.google.com", "accounts.google.com"
#: An escaped surrogate, alone or of a pair.
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
#: Maximum number of keys read from a set, and of the bits of modulus and exponent of RSA keys. A token without key id
#: is compared with all of them, in this thread: with an exponent of 3,000 bits each takes 20 ms.
_MOST_KEYS, _MOST_MODULUS, _MOST_EXPONENT = 100, 8192, 32
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9_-]")


class TokenError(Exception):
    """Why a token, or a document needed to verify it, is invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The parts of an unverified token. `covered` is the signed part."""

    header: Mapping[str, Any]
    payload: bytes
    covered: bytes
    signature: bytes

    @property
    def algorithm(self) -> str:
        return str(self.header.get("alg", ""))

    @property
    def key_id(self) -> str:
        return str(self.header.get("kid") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A public key of a set."""

    id: str
    key: RSAPublicKey | EllipticCurvePublicKey

    def has_signed(self, token: Signed) -> bool:
        """True if this key signed the token with the algorithm in its header."""
        name = token.algorithm
        if name not in ALGORITHMS or "crit" in token.header:
            # No critical header extensions are supported.
            return False
        if isinstance(self.key, RSAPublicKey) is name.startswith("ES"):
            return False
        if isinstance(self.key, EllipticCurvePublicKey) and self.key.curve.key_size != _CURVES[name]:
            return False
        return bool(jwt.get_algorithm_by_name(name).verify(token.covered, self.key, token.signature))


def parse_signed(token: str) -> Signed:
    """Split a token into its parts. Raises TokenError."""
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenError("square/go-jose: compact JWS format must have three parts")
    header = json_object(decode_base64(parts[0]))
    return Signed(
        header=header,
        payload=decode_base64(parts[1]),
        covered=f"{parts[0]}.{parts[1]}".encode(),
        signature=decode_base64(parts[2]),
    )


def decode_base64(text: str) -> bytes:
    """Decode base64url without padding. Raises TokenError."""
    wrong = _NOT_BASE64.search(text)
    if wrong is not None:
        raise TokenError(f"illegal base64 data at input byte {wrong.start()}")
    if len(text) % 4 == 1:
        raise TokenError(f"illegal base64 data at input byte {len(text) - 1}")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise TokenError(f"illegal base64 data: {error}") from None


def json_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object, with numbers of any size. Invalid UTF-8 and lone surrogates become U+FFFD: no audit event
    and no review could be encoded with them. Raises TokenError."""
    text = data.decode("utf-8", "replace")
    try:
        document = json.loads(text, parse_constant=_no_constant)
        if _SURROGATE.search(text):
            document = _without_surrogates(document)
    except (ValueError, RecursionError) as error:
        raise TokenError(f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise TokenError(
            f"json: cannot unmarshal {json_name(document)} into Go value of type map[string]json.RawMessage"
        )
    return document


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {without_surrogates(name): _without_surrogates(each) for name, each in value.items()}
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")


def claimed_issuer(token: str) -> str | None:
    """The issuer claim of an unverified token, None for an invalid token."""
    try:
        return unverified_issuer(token)
    except TokenError:
        return None


def unverified_issuer(token: str) -> str:
    """As `claimed_issuer`; raises TokenError."""
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenError("malformed token")
    try:
        payload = decode_base64(parts[1])
    except TokenError as error:
        raise TokenError(f"error decoding token: {error}") from error
    try:
        issuer = json_object(payload).get("iss")
    except TokenError as error:
        raise TokenError(f"while unmarshaling token: {error}") from error
    if issuer is not None and not isinstance(issuer, str):
        raise TokenError(
            f"while unmarshaling token: json: cannot unmarshal {json_name(issuer)} into Go struct field .iss of "
            "type string"
        )
    return GOOGLE if issuer == GOOGLE_ALIAS else issuer or ""


def read_keys(document: Mapping[str, Any]) -> list[Key]:
    """The usable keys of a set: RSA and elliptic curves. Raises TokenError for an invalid set."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise TokenError("there is no list of keys")
    keys = [_key(each) for each in listed[:_MOST_KEYS] if isinstance(each, dict)]
    return [key for key in keys if key is not None]


def _key(jwk: dict[str, Any]) -> Key | None:
    """One key, None for unsupported and invalid ones: the set may have others."""
    public = {name: value for name, value in jwk.items() if name in ("kty", "n", "e", "crv", "x", "y")}
    key: object
    try:
        if public.get("kty") == "RSA":
            key = RSAAlgorithm.from_jwk(public)
        elif public.get("kty") == "EC":
            key = ECAlgorithm.from_jwk(public)
        else:
            return None
    except (jwt.InvalidKeyError, ValueError, TypeError, KeyError):
        return None
    if not isinstance(key, RSAPublicKey | EllipticCurvePublicKey):
        return None
    if isinstance(key, RSAPublicKey) and (
        key.key_size > _MOST_MODULUS or key.public_numbers().e.bit_length() > _MOST_EXPONENT
    ):
        return None
    return Key(id=str(jwk.get("kid") or ""), key=key)
