"""Certificate signing requests of the built-in signers: validation and issuance."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from orchd.pki.certificates import BACKDATED, Signed
from orchd.pki.keys import blocks

#: The backdating of notBefore does not shorten certificates with a lifetime below this.
_SHORT: Final = timedelta(hours=8)
#: Usages of the API that are key usages, and the field that each sets.
_KEY_USAGES: Final = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
#: Usages of the API that are extended key usages, in the order in which they are written.
_EXTENDED_USAGES: Final = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": ObjectIdentifier("2.16.840.1.113730.4.1"),
}
_NODES: Final = "system:nodes"
_NODE_PREFIX: Final = "system:node:"
#: Key encipherment is for RSA keys only; agents with other keys do not request it.
_OPTIONAL: Final = "key encipherment"


class RequestError(ValueError):
    """A request that the signer rejects; the text is the reason."""


def load_request(pem: bytes) -> x509.CertificateSigningRequest:
    """The request of PEM text. Raises RequestError."""
    pem_blocks = blocks(pem)
    if not pem_blocks or pem_blocks[0][0] != "CERTIFICATE REQUEST":
        raise RequestError("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_pem_x509_csr(pem_blocks[0][1])
        valid = request.is_signature_valid
    except (ValueError, UnsupportedAlgorithm) as error:
        raise RequestError(str(error)) from None
    if not valid:
        raise RequestError("the signature does not fit the key")
    return request


def common_name(request: x509.CertificateSigningRequest) -> str:
    """The CN of the subject, "" for none."""
    names = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def check_node_client(request: x509.CertificateSigningRequest, usages: Collection[str]) -> None:
    """Raise RequestError unless this is a request for the client certificate of a node."""
    _check_organization(request)
    names = alternatives(request)
    for kind, word in (
        (x509.DNSName, "DNS"),
        (x509.RFC822Name, "Email"),
        (x509.IPAddress, "IP"),
        (x509.UniformResourceIdentifier, "URI"),
    ):
        if any(isinstance(name, kind) for name in names):
            raise RequestError(f"{word} subjectAltNames are not allowed")
    _check_node_name(request)
    _check_usages(usages, "client auth")


def check_node_serving(request: x509.CertificateSigningRequest, usages: Collection[str]) -> None:
    """Raise RequestError unless this is a request for the serving certificate of a node."""
    _check_organization(request)
    names = alternatives(request)
    if not any(isinstance(name, x509.DNSName | x509.IPAddress) for name in names):
        raise RequestError("DNS or IP subjectAltName is required")
    for kind, word in ((x509.RFC822Name, "Email"), (x509.UniformResourceIdentifier, "URI")):
        if any(isinstance(name, kind) for name in names):
            raise RequestError(f"{word} subjectAltNames are not allowed")
    _check_usages(usages, "server auth")
    _check_node_name(request)


def check_client(usages: Iterable[str]) -> None:
    """Raise RequestError unless the usages are those of a client certificate."""
    listed = list(usages)
    for usage in listed:
        if usage not in ("digital signature", "key encipherment", "client auth"):
            raise RequestError(f"invalid usage for client certificate: {usage}")
    if "client auth" not in listed:
        raise RequestError("missing required usage for client certificate: client auth")


def _check_organization(request: x509.CertificateSigningRequest) -> None:
    if [str(o.value) for o in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] != [_NODES]:
        raise RequestError("subject organization is not system:nodes")


def _check_node_name(request: x509.CertificateSigningRequest) -> None:
    if not common_name(request).startswith(_NODE_PREFIX):
        raise RequestError("subject common name does not begin with system:node:")


def _check_usages(usages: Collection[str], main: str) -> None:
    required = {"digital signature", _OPTIONAL, main}
    if set(usages) not in (required, required - {_OPTIONAL}):
        raise RequestError(f"usages did not match [{' '.join(sorted(required))}]")


def alternatives(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    """Requested subject alternative names."""
    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def sign_request(
    authority: Signed,
    request: x509.CertificateSigningRequest,
    *,
    usages: Iterable[str],
    lifetime: timedelta,
    now: datetime,
) -> x509.Certificate:
    """A certificate with the subject, key and alternative names of a request; its other extensions are ignored. It
    begins a little in the past and never outlives the authority. Raises RequestError for usages that do not exist."""
    listed = list(usages)
    unknown = [usage for usage in listed if usage not in _KEY_USAGES and usage not in _EXTENDED_USAGES]
    if unknown:
        raise RequestError(f"unrecognized usage values: {unknown}")
    begin = now - BACKDATED
    end = min(now + lifetime if lifetime < _SHORT else begin + lifetime, authority.certificate.not_valid_after_utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(authority.certificate.subject)
        .public_key(request.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )
    used = _key_usage(listed)
    if used is not None:
        builder = builder.add_extension(used, critical=True)
    extended = list(dict.fromkeys(oid for usage, oid in _EXTENDED_USAGES.items() if usage in listed))
    if extended:
        builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    try:
        own = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)
        builder = builder.add_extension(identifier, critical=False)
    except x509.ExtensionNotFound:
        """An authority without an identifier: its certificates name none either."""
    names = alternatives(request)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not list(request.subject))
    return builder.sign(authority.key, hashes.SHA256())


def _key_usage(usages: Iterable[str]) -> x509.KeyUsage | None:
    """The extension of these usages; None if it would allow nothing, which makes a certificate invalid."""
    fields = dict.fromkeys(_KEY_USAGES.values(), False)
    for usage in usages:
        if usage in _KEY_USAGES:
            fields[_KEY_USAGES[usage]] = True
    # The two refine key agreement (RFC 5280, 4.2.1.3) and mean nothing without it.
    if not fields["key_agreement"]:
        fields["encipher_only"] = fields["decipher_only"] = False
    return x509.KeyUsage(**fields) if any(fields.values()) else None
