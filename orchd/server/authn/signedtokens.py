"""Service account tokens as JWTs: signing and signature verification (RFC 7515, RFC 7519). No lookups.

Claims of bound tokens are ``aud``, ``exp``, ``iat``, ``iss``, ``nbf``, ``sub`` and one private claim with the namespace
and references to the account and the bound object. A key's id is the base64url SHA-256 of its DER form.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from orchd.kinds.release import Release
from orchd.pki.keys import PrivateKey, PublicKey
from orchd.server.authn.interfaces import AuthenticationError
from orchd.txkit.lru_cache import LruCache

_CURVES = {256: "ES256", 384: "ES384", 521: "ES512"}


def key_id(key: PublicKey) -> str:
    """The ``kid`` of tokens signed with this key's private half."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()


def algorithm(key: PublicKey | PrivateKey) -> str:
    """The algorithm of a key. Raises ValueError for an unsupported curve."""
    if isinstance(key, RSAPublicKey | RSAPrivateKey):
        return "RS256"
    if key.curve.key_size not in _CURVES:
        raise ValueError(f"no signature algorithm for keys of curve {key.curve.name}")
    return _CURVES[key.curve.key_size]


class Signer:
    """Signs claims with one private key."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self.algorithm = algorithm(key)
        self.key_id = key_id(key.public_key())
        self._jws = jwt.PyJWS()

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A token in compact form; claims in alphabetical order, as in the reference."""
        payload = json.dumps(claims, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
        return self._jws.encode(payload, self._key, algorithm=self.algorithm, headers={"kid": self.key_id, "typ": None})


def unverified_claims(token: str) -> dict[str, Any] | None:
    """The claims of an unverified token; None for an invalid token."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        # RecursionError: nested too deeply. Any client can send that.
        return None
    return payload if isinstance(payload, dict) else None


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key with its algorithm and ID."""

    key: PublicKey
    algorithm: str
    id: str


#: Chooses the keys to try for a key ID. May raise AuthenticationError.
KeyChoice = Callable[[Sequence[VerificationKey], str], Sequence[VerificationKey]]


def all_keys(keys: Sequence[VerificationKey], key_id: str) -> Sequence[VerificationKey]:
    """All keys, the named one first: IDs are a hint."""
    return sorted(keys, key=lambda k: k.id != key_id)


def named_keys(keys: Sequence[VerificationKey], key_id: str) -> Sequence[VerificationKey]:
    """The named key; all keys for a token that names none. Raises AuthenticationError for the ID of no key."""
    named = [key for key in keys if not key_id or key.id == key_id]
    if not named:
        raise AuthenticationError("invalid signature, no keys found")
    return named


def key_choice(release: Release) -> KeyChoice:
    """The choice of a release."""
    return release.choose((("", all_keys), ("1.30", named_keys)))


class Verifier:
    """Verifies signatures with several keys; caches the last `capacity` valid tokens by digest."""

    def __init__(self, keys: Sequence[PublicKey], *, capacity: int = 4096, choose: KeyChoice | None = None) -> None:
        """`choose` returns the keys to try for a token's key ID ("" without one), in order: by default all, the named
        one first."""
        self._choose = choose or all_keys
        self._keys = tuple(VerificationKey(key, algorithm(key), key_id(key)) for key in keys)
        self._jws = jwt.PyJWS()
        self._verified: LruCache[bytes, dict[str, Any]] = LruCache(capacity)

    def cached_claims(self, token: str) -> dict[str, Any] | None:
        """The cached claims of a valid token; None for any other."""
        return self._verified.get(hashlib.sha256(token.encode()).digest())

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token signed by one of the keys. Raises AuthenticationError."""
        claims = self._check(token)
        self._verified.put(hashlib.sha256(token.encode()).digest(), claims)
        return claims

    def _check(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.InvalidTokenError, RecursionError) as error:
            raise AuthenticationError(str(error)) from error
        for key in self._choose(self._keys, str(header.get("kid") or "")):
            if header.get("alg") != key.algorithm:
                continue
            try:
                decoded = self._jws.decode_complete(token, key.key, algorithms=[key.algorithm])
            except jwt.InvalidSignatureError:
                continue
            except jwt.InvalidTokenError as error:
                raise AuthenticationError(str(error)) from error
            claims = unverified_claims(token)
            if claims is not None and decoded["payload"] is not None:
                return claims
        raise AuthenticationError("square/go-jose: error in cryptographic primitive")
