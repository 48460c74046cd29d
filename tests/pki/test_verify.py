"""Verification of client certificate chains."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from orchd.pki.certificates import (
    CLIENT,
    SERVER,
    Identity,
    Signed,
    chain_pem,
    issue_pair,
    new_authority,
    self_signed,
    subject,
)
from orchd.pki.keys import load_public_keys, new_key, new_signing_key, private_pem, public_pem
from orchd.pki.requests import sign_request
from orchd.pki.verify import ClientVerifier, VerificationError

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CA = new_authority("ca", now=NOW)
OTHER = new_authority("ca", now=NOW)


def _der(*signed: Signed) -> list[bytes]:
    return [one.certificate.public_bytes(Encoding.DER) for one in signed]


def _client(authority: Signed = CA, **more: object) -> Signed:
    arguments: dict[str, object] = {"usages": [CLIENT], "now": NOW, **more}
    return issue_pair(authority, subject("jane", ["dev", "ops"]), **arguments)  # type: ignore[arg-type]  # table of keywords


def _intermediate() -> Signed:
    key = new_key()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject("middle"))
        .issuer_name(CA.certificate.subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=10))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(CA.key, hashes.SHA256())
    )
    return Signed(certificate=certificate, key=key)


def test_trusted_certificate_names_user_and_groups() -> None:
    """A certificate of a trusted authority names its user and groups."""
    verified = ClientVerifier(chain_pem(OTHER.certificate, CA.certificate)).verify(_der(_client()), now=NOW)
    assert verified.identity == Identity(name="jane", groups=("dev", "ops"))


def test_chains_with_intermediates() -> None:
    """A chain may use intermediates that the client sends, and an intermediate may be a trust anchor."""
    middle = _intermediate()
    leaf = _client(middle)
    assert ClientVerifier(chain_pem(CA.certificate)).verify(_der(leaf, middle), now=NOW).expires < NOW + timedelta(11)
    assert ClientVerifier(chain_pem(middle.certificate)).verify(_der(leaf), now=NOW)
    with pytest.raises(VerificationError):
        ClientVerifier(chain_pem(CA.certificate)).verify(_der(leaf), now=NOW)


@pytest.mark.parametrize(
    "chain",
    [
        list,
        lambda: [b"rubbish"],
        lambda: _der(_client(OTHER)),
        lambda: _der(_client(usages=[SERVER])),
        lambda: _der(_client(lifetime=timedelta(seconds=1), now=NOW - timedelta(days=2))),
        lambda: _der(_client(now=NOW + timedelta(days=2))),
        lambda: _der(self_signed("jane", names=[], now=NOW)),
    ],
    ids=["none", "garbage", "other-authority", "server-usage", "expired", "not-yet", "self-signed"],
)
def test_invalid_chains_are_refused(chain: Callable[[], list[bytes]]) -> None:
    """Each defect of a chain is an error."""
    with pytest.raises(VerificationError):
        ClientVerifier(chain_pem(CA.certificate)).verify(chain(), now=NOW)


@pytest.mark.parametrize(
    "usages", [["client auth"], ["client auth", "encipher only"], ["client auth", "digital signature"]]
)
def test_signed_requests_of_clients_are_verified(usages: list[str]) -> None:
    """A certificate of a request is valid also if no usage of its key is requested."""
    key = new_key()
    request = x509.CertificateSigningRequestBuilder().subject_name(subject("jane")).sign(key, hashes.SHA256())
    signed = sign_request(CA, request, usages=usages, lifetime=timedelta(hours=1), now=NOW)
    verifier = ClientVerifier(chain_pem(CA.certificate))
    assert verifier.verify([signed.public_bytes(Encoding.DER)], now=NOW).identity.name == "jane"


def test_key_files_hold_several() -> None:
    """Service-account key files may mix public keys, private keys and certificates."""
    rsa_key, ec_key = new_signing_key(), new_key()
    text = public_pem(rsa_key.public_key()) + b"note\n" + private_pem(ec_key) + chain_pem(CA.certificate)
    assert load_public_keys(text) == [rsa_key.public_key(), ec_key.public_key(), CA.key.public_key()]
    with pytest.raises(ValueError, match="no public key"):
        load_public_keys(b"nothing")
