"""OpenID discovery of the service account token issuer."""

from __future__ import annotations

from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from orchd.pki.keys import PublicKey
from orchd.server.authn.discovery import CONFIGURATION_PATH, KEYS_PATH, configuration, key_set
from orchd.server.authn.signedtokens import Signer
from orchd.testing.doubles.server import make_server, run
from tests.server.authn.rsa_keys import RSA

CURVE = ec.generate_private_key(ec.SECP256R1())
KEYS: list[PublicKey] = [RSA.public_key(), CURVE.public_key(), RSA.public_key()]


@pytest.mark.parametrize(
    ("method", "code"), [("GET", 200), *((method, 405) for method in ("HEAD", "POST", "PUT", "PATCH", "DELETE"))]
)
@pytest.mark.parametrize("path", [CONFIGURATION_PATH, KEYS_PATH])
def test_methods_of_the_documents(path: str, method: str, code: int, tmp_path: Path) -> None:
    """The documents are for GET alone."""
    server = make_server(tmp_path, "--service-account-issuer=https://issuer")
    assert run(server.request(method, path)).code == code
    server.stop()


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
