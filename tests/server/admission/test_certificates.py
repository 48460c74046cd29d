"""CertificateApproval, CertificateSigning and CertificateSubjectRestriction."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World

KEY = ec.generate_private_key(ec.SECP256R1())


def test_certificate_approval_and_signing_need_permission(world: type[World]) -> None:
    """Approving and signing require the verb on the signer, by name or by domain."""
    group = "certificates.{abbr}.io"
    csr = {"metadata": {"name": "c"}, "spec": {"signerName": "example.com/s"}}
    w = world(allowed=lambda action: action.verb == "approve" and action.name == "example.com/*")
    w.run("certificatesigningrequests", csr, csr, group=group, operation=UPDATE, sub="approval")
    w.run("certificatesigningrequests", csr, csr, group=group, operation=UPDATE, sub="status")
    for status in ({"certificate": "x"}, {"conditions": [{"type": "Failed"}]}):
        signed = {**csr, "status": status}
        error = w.refusal("certificatesigningrequests", signed, csr, group=group, operation=UPDATE, sub="status")
        assert error.message.endswith('user not permitted to sign requests with signerName "example.com/s"')
    unsigned = {**csr, "status": {"certificate": "", "conditions": []}}
    w.run("certificatesigningrequests", unsigned, csr, group=group, operation=UPDATE, sub="status")
    w = world(allowed=lambda action: action.group == ORCH(group) and action.resource == "signers")
    w.run("certificatesigningrequests", signed, csr, group=group, operation=UPDATE, sub="status")


def _request(signer: str, *organizations: str) -> Object:
    """A request for a certificate of members of `organizations`."""
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations])
    signed = x509.CertificateSigningRequestBuilder().subject_name(name).sign(KEY, hashes.SHA256())
    text = base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()
    return {"metadata": {"name": "c"}, "spec": {"signerName": signer, "request": text}}


CLIENT = ORCH("{long}.io/{short}-apiserver-client")
MASTERS = "system:masters"


@pytest.mark.parametrize(
    ("csr", "problem"),
    [
        (_request(CLIENT), ""),
        (_request(CLIENT, "team"), ""),
        (_request(CLIENT, MASTERS), f"use of {CLIENT} signer with {MASTERS} group is not allowed"),
        (_request(CLIENT, "team", MASTERS), f"use of {CLIENT} signer with {MASTERS} group is not allowed"),
        (_request("example.com/s", MASTERS), ""),
        ({"metadata": {"name": "c"}, "spec": {"signerName": CLIENT, "request": "eA=="}}, "unable to parse csr: "),
        ({"metadata": {"name": "c"}, "spec": {"signerName": CLIENT}}, "unable to parse csr: "),
        ({"metadata": {"name": "c"}, "spec": {"signerName": "example.com/s", "request": "eA=="}}, ""),
    ],
)
def test_no_client_certificate_makes_a_master(world: type[World], csr: Object, problem: str) -> None:
    """Nobody requests a client certificate of the API server for members of its masters group; of other signers one
    may."""
    w = world(only=["CertificateSubjectRestriction"])
    more: Any = {"group": "certificates.{abbr}.io"}
    if problem:
        error = w.refusal("certificatesigningrequests", csr, **more)
        assert error.code == 403
        text = error.message.removeprefix(ORCH('certificatesigningrequests.certificates.{abbr}.io "c" is forbidden: '))
        # The rest of an error of the parser is that of the library.
        assert text[: len(problem)] == problem and (text == problem or problem.endswith("csr: "))
    else:
        w.run("certificatesigningrequests", csr, **more)
