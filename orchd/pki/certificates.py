"""X.509 certificates: CAs, serving and client certificates, PEM chains."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orchd.pki.keys import PrivateKey, PublicKey, blocks, new_key

#: notBefore is this much before the time of issue, because clocks in a cluster differ.
BACKDATED = timedelta(minutes=5)
AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)

SERVER = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity in a client certificate: `name` is the CN, `groups` are the Os of the subject."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A certificate with its private key. `chain` contains the intermediate certificates."""

    certificate: x509.Certificate
    key: PrivateKey
    chain: tuple[x509.Certificate, ...] = ()


def subject(name: str, groups: Iterable[str] = ()) -> x509.Name:
    """A subject with groups as O, followed by the user name as CN."""
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def identity(certificate: x509.Certificate) -> Identity:
    """The user name and groups of a certificate's subject; "" without a CN."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return Identity(name=str(names[0].value) if names else "", groups=tuple(str(group.value) for group in groups))


def alternative_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """Subject alternative names from host names and IP addresses, in order, without duplicates."""
    out: list[x509.GeneralName] = []
    for name in dict.fromkeys(names):
        try:
            out.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            out.append(x509.DNSName(name.encode("idna").decode("ascii") if not name.isascii() else name))
    return out


def _builder(
    holder: x509.Name, issuer: x509.Name, key: PublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(holder)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + lifetime)
    )


def _usage(*, authority: bool, encipher: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=authority or encipher,
        key_cert_sign=authority,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def new_authority(name: str, *, now: datetime, lifetime: timedelta = AUTHORITY_LIFETIME) -> Signed:
    """Create a self-signed CA."""
    key = new_key()
    holder = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    public = key.public_key()
    certificate = (
        _builder(holder, holder, public, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Signed(certificate=certificate, key=key)


def issue(
    authority: Signed,
    holder: x509.Name,
    *,
    usages: Iterable[x509.ObjectIdentifier],
    now: datetime,
    names: Iterable[str] = (),
    lifetime: timedelta = LEAF_LIFETIME,
    public_key: PublicKey | None = None,
) -> x509.Certificate:
    """Issue a certificate for `public_key`, signed by `authority`. It does not outlive the authority.

    `usages` are `SERVER` and/or `CLIENT`; `names` are the host names and addresses of a server."""
    key = public_key if public_key is not None else new_key().public_key()
    ends = min(now + lifetime, authority.certificate.not_valid_after_utc)
    builder = (
        _builder(holder, authority.certificate.subject, key, now, ends - now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False, encipher=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage(list(usages)), critical=False)
        .add_extension(_authority_key(authority), critical=False)
    )
    alternatives = alternative_names(names)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _authority_key(authority: Signed) -> x509.AuthorityKeyIdentifier:
    try:
        own = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def issue_pair(
    authority: Signed,
    holder: x509.Name,
    *,
    usages: Iterable[x509.ObjectIdentifier],
    now: datetime,
    names: Iterable[str] = (),
    lifetime: timedelta = LEAF_LIFETIME,
) -> Signed:
    """Create a key and issue a certificate for it."""
    key = new_key()
    certificate = issue(
        authority, holder, usages=usages, now=now, names=names, lifetime=lifetime, public_key=key.public_key()
    )
    return Signed(certificate=certificate, key=key)


def self_signed(name: str, *, names: Iterable[str], now: datetime, lifetime: timedelta = LEAF_LIFETIME) -> Signed:
    """Create a self-signed serving certificate, for servers without a CA (webhooks in tests)."""
    key = new_key()
    holder = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _builder(holder, holder, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([SERVER]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternative_names([name, *names])), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Signed(certificate=certificate, key=key)


def load_chain(pem: bytes) -> tuple[x509.Certificate, ...]:
    """All certificates of a PEM text, in order. Raises ValueError for a text without certificates."""
    chain = tuple(x509.load_pem_x509_certificate(block) for label, block in blocks(pem) if label == "CERTIFICATE")
    if not chain:
        raise ValueError("no certificate in PEM form")
    return chain


def chain_pem(*certificates: x509.Certificate) -> bytes:
    """Certificates as PEM, in the order given."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)
