"""Private and public keys, and their PEM files.

EC P-256 for certificates (fast handshakes), RSA-2048 for signing service-account tokens (RS256 is what verifiers
expect). Functions raise ValueError for PEM text without a usable key.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from orchd.pemblocks import match_blocks

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

_BEGIN = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)(?=(-----))")
_END = re.compile(rb"-----END ([A-Z0-9 ]+)(?=(-----))")


def new_key() -> ec.EllipticCurvePrivateKey:
    """Generate a P-256 key for a certificate."""
    return ec.generate_private_key(ec.SECP256R1())


def new_signing_key() -> rsa.RSAPrivateKey:
    """Generate an RSA-2048 key for service account tokens."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def private_pem(key: PrivateKey) -> bytes:
    """The unencrypted key as PEM in the traditional format: SEC 1 for EC, PKCS #1 for RSA."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def public_pem(key: PublicKey) -> bytes:
    """The public key as SubjectPublicKeyInfo (RFC 5280)."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def blocks(pem: bytes) -> list[tuple[str, bytes]]:
    """The PEM blocks of a text in order, as (label, block). Other text is skipped."""
    return [
        (first[1].decode("ascii"), pem[first.start() : last.end(2)] + b"\n")
        for first, last in match_blocks(pem, _BEGIN, _END)
    ]


def load_private(pem: bytes) -> PrivateKey:
    """The first private key of a PEM text, which may contain EC parameters and certificates as well."""
    for label, block in blocks(pem):
        if label.endswith("PRIVATE KEY"):
            key = serialization.load_pem_private_key(block, None)
            if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
                return key
            raise ValueError(f"a private key of the unsupported type {type(key).__name__}")
    raise ValueError("no private key in PEM form")


def load_public_keys(pem: bytes) -> list[PublicKey]:
    """The public keys of all public keys, private keys and certificates of a PEM text, in order.

    Service account key files contain several keys during a rotation.
    """
    keys: list[PublicKey] = []
    for label, block in blocks(pem):
        if label.endswith("PRIVATE KEY"):
            keys.append(_usable(load_private(block).public_key()))
        elif label == "RSA PUBLIC KEY" or label == "PUBLIC KEY":
            keys.append(_usable(serialization.load_pem_public_key(block)))
        elif label == "CERTIFICATE":
            keys.append(_usable(x509.load_pem_x509_certificate(block).public_key()))
    if not keys:
        raise ValueError("no public key in PEM form")
    return keys


def _usable(key: object) -> PublicKey:
    if isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
        return key
    raise ValueError(f"a public key of the unsupported type {type(key).__name__}")
