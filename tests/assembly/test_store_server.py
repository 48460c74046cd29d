"""The port of a served store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from cryptography.x509 import Certificate
from twisted.internet.task import Clock

from orchd.assembly.store_server import CertificateFiles
from orchd.pki.certificates import chain_pem, new_authority, self_signed
from orchd.pki.keys import private_pem


def test_changed_certificates_are_read_again(tmp_path: Path) -> None:
    """New connections have the certificate that is in the files. While its key is not there yet, they have the former
    one."""
    now = datetime.now(UTC)
    certificate, key, authorities = (tmp_path / name for name in ("tls.crt", "tls.key", "ca.crt"))
    authorities.write_bytes(chain_pem(new_authority("ca", now=now).certificate))
    first, second = (self_signed(name, names=["127.0.0.1"], now=now) for name in ("first", "second"))
    certificate.write_bytes(chain_pem(first.certificate))
    key.write_bytes(private_pem(first.key))
    clock = Clock()
    files = CertificateFiles(str(certificate), str(key), str(authorities), clock.seconds)

    def presented() -> Certificate | None:
        own = files.serverConnectionForTLS(None).get_certificate()
        return None if own is None else own.to_cryptography()

    assert presented() == first.certificate
    certificate.write_bytes(chain_pem(second.certificate))
    clock.advance(1)
    assert presented() == first.certificate
    key.write_bytes(private_pem(second.key))
    clock.advance(1)
    assert presented() == second.certificate
