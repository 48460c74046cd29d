"""Verification of client certificate chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import crypto

from orchd.pki.certificates import Identity, identity, load_chain

_ANY_OR_CLIENT = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}


class VerificationError(Exception):
    """An invalid client certificate. The message is for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of a verification. `expires` is the earliest expiry in the chain."""

    identity: Identity
    certificate: x509.Certificate
    expires: datetime


class ClientVerifier:
    """Verifies client chains against a CA bundle (RFC 5280 section 6, implemented by OpenSSL).

    Every certificate of the bundle is a trust anchor, including intermediates. Certificates below the anchor that list
    extended key usages must allow client authentication.
    """

    def __init__(self, bundle: bytes) -> None:
        self.authorities = load_chain(bundle)
        self._anchors = [crypto.X509.from_cryptography(authority) for authority in self.authorities]

    def verify(self, chain: Sequence[bytes], *, now: datetime) -> Verified:
        """Verify `chain` (DER, leaf first) at the time `now` (aware). Raises VerificationError."""
        if not chain:
            raise VerificationError("no certificate")
        try:
            certificates = [x509.load_der_x509_certificate(der) for der in chain]
        except ValueError as error:
            raise VerificationError(f"not a certificate: {error}") from error
        store = crypto.X509Store()
        for anchor in self._anchors:
            store.add_cert(anchor)
        store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
        store.set_time(now)
        leaf, *others = [crypto.X509.from_cryptography(certificate) for certificate in certificates]
        context = crypto.X509StoreContext(store, leaf, others)
        try:
            walked = context.get_verified_chain()
        except crypto.X509StoreContextError as error:
            raise VerificationError(f"the chain does not verify: {error}") from error
        path = [one.to_cryptography() for one in walked]
        for certificate in path if len(path) == 1 else path[:-1]:
            _must_allow_clients(certificate)
        return Verified(
            identity=identity(certificates[0]),
            certificate=certificates[0],
            expires=min(one.not_valid_after_utc for one in path),
        )


def _must_allow_clients(certificate: x509.Certificate) -> None:
    try:
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    except ValueError as error:
        raise VerificationError(f"unreadable extensions: {error}") from error
    if not _ANY_OR_CLIENT.intersection(usage):
        raise VerificationError("the certificate is not for client authentication")
