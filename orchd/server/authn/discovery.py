"""Documents for verifying service account tokens: OpenID discovery (OpenID Connect Discovery 1.0, 3) and the public key
set (RFC 7517)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from orchd.pki.keys import PublicKey
from orchd.server.authn.signedtokens import algorithm, key_id

CONFIGURATION_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/openid/v1/jwks"


def configuration(issuer: str, keys_uri: str, keys: Sequence[PublicKey]) -> dict[str, Any]:
    """The discovery document. Raises ValueError for an invalid issuer, or a URI that is not https."""
    url = urlsplit(issuer)
    if url.scheme != "https":
        raise ValueError(f"issuer URL must use https scheme, got: {issuer}")
    if url.query:
        raise ValueError(f"issuer URL may not include a query, got: {issuer}")
    if urlsplit(keys_uri).scheme != "https":
        raise ValueError(f"JWKS URI must use https scheme, got: {keys_uri}")
    return {
        "issuer": issuer,
        "jwks_uri": keys_uri,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({algorithm(key) for key in keys}),
    }


def key_set(keys: Sequence[PublicKey]) -> dict[str, Any]:
    """The public keys without duplicates."""
    return {"keys": list({key_id(key): _key(key) for key in keys}.values())}


def _key(key: PublicKey) -> dict[str, Any]:
    common = {"use": "sig", "kid": key_id(key), "alg": algorithm(key)}
    numbers = key.public_numbers()
    if isinstance(key, RSAPublicKey):
        return {**common, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}  # type: ignore[union-attr]
    size = (key.curve.key_size + 7) // 8
    return {
        **common,
        "kty": "EC",
        "crv": f"P-{key.curve.key_size}",
        "x": _number(numbers.x, size),  # type: ignore[union-attr]
        "y": _number(numbers.y, size),  # type: ignore[union-attr]
    }


def _number(value: int, size: int = 0) -> str:
    data = value.to_bytes(size or (value.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
