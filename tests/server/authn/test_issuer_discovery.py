"""OpenID discovery of the service account token issuer."""

from __future__ import annotations

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from orchd.pki.keys import PublicKey
from orchd.server.authn.discovery import configuration, key_set
from orchd.server.authn.signedtokens import Signer
from tests.server.authn.rsa_keys import RSA

CURVE = ec.generate_private_key(ec.SECP256R1())
KEYS: list[PublicKey] = [RSA.public_key(), CURVE.public_key(), RSA.public_key()]


def test_discovery_document() -> None:
    """The document has what a verifier needs: the URL of the keys and the algorithms."""
    assert configuration("https://issuer", "https://server/openid/v1/jwks", KEYS) == {
        "issuer": "https://issuer",
        "jwks_uri": "https://server/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "RS256"],
    }


@pytest.mark.parametrize(
    ("issuer", "keys", "message"),
    [
        ("http://issuer", "https://k", "issuer URL must use https scheme, got: http://issuer"),
        ("orch/serviceaccount", "https://k", "issuer URL must use https scheme, got: orch/serviceaccount"),
        ("https://issuer?a=b", "https://k", "issuer URL may not include a query, got: https://issuer?a=b"),
        ("https://issuer", "http://k", "JWKS URI must use https scheme, got: http://k"),
    ],
)
def test_invalid_issuers_are_not_discoverable(issuer: str, keys: str, message: str) -> None:
    """OpenID requires https everywhere, and an issuer without a query."""
    with pytest.raises(ValueError, match=r"issuer|JWKS") as raised:
        configuration(issuer, keys, KEYS)
    assert str(raised.value) == message


@pytest.mark.parametrize("private", [RSA, CURVE])
def test_token_verifies_with_the_published_keys(private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
    """An independent library accepts a token that our key has signed, with the published key set."""
    token = Signer(private).sign({"sub": "someone"})
    keys = jwt.PyJWKSet.from_dict(key_set(KEYS))
    assert len(keys.keys) == 2
    key = keys[jwt.get_unverified_header(token)["kid"]]
    assert jwt.decode(token, key.key, algorithms=["RS256", "ES256"]) == {"sub": "someone"}
