"""CertificateApproval and CertificateSigning."""

from __future__ import annotations

from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World


def test_certificate_approval_and_signing_need_permission(world: type[World]) -> None:
    """Approving and signing require the verb on the signer, by name or by domain."""
    group = "certificates.{abbr}.io"
    csr = {"metadata": {"name": "c"}, "spec": {"signerName": "example.com/s"}}
    w = world(allowed=lambda action: action.verb == "approve" and action.name == "example.com/*")
    w.run("certificatesigningrequests", csr, csr, group=group, operation=UPDATE, sub="approval")
    w.run("certificatesigningrequests", csr, csr, group=group, operation=UPDATE, sub="status")
    signed = {**csr, "status": {"certificate": "x"}}
    error = w.refusal("certificatesigningrequests", signed, csr, group=group, operation=UPDATE, sub="status")
    assert error.message.endswith('user not permitted to sign requests with signerName "example.com/s"')
