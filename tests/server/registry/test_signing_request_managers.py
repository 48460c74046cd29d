"""Field managers of certificate signing requests: fields that an endpoint resets have no owner."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchd.dialect import ORCH
from orchd.testing.doubles.server import InProcessServer, make_server, run

GROUP = ORCH("certificates.{abbr}.io")
PATH = f"/apis/{GROUP}/v1/certificatesigningrequests"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
#: Fields of a condition, whose times are always set.
MEMBERS = ("lastTransitionTime", "lastUpdateTime", "message", "reason", "status", "type")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    yield server
    server.stop()


def pem() -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "joe")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    data = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)
    return base64.b64encode(data).decode()


def wanted(request: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "r", **metadata},
        "spec": {"request": request, "signerName": "example.com/s", "usages": ["client auth"]},
    }


def patched(server: InProcessServer, path: str, manager: str, content: str, body: Any) -> dict[str, Any]:
    response = run(
        server.request("PATCH", f"{PATH}/{path}?fieldManager={manager}", body=body, headers={"Content-Type": content})
    )
    assert response.code in (200, 201), response.json
    found: dict[str, Any] = response.json
    return found


def owned_fields(obj: dict[str, Any]) -> dict[tuple[str, str, str], Any]:
    """Fields by manager, operation and subresource."""
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in obj["metadata"].get("managedFields") or ()
    }


def test_creator_owns_labels_only(server: InProcessServer) -> None:
    """The creator owns labels, and neither spec nor status, which the main endpoint resets."""
    made = run(server.request("POST", f"{PATH}?fieldManager=m", body=wanted(pem(), labels={"a": "b"}))).json
    labels: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    assert owned_fields(made) == {("m", "Update", ""): labels}


def test_create_without_labels_owns_nothing(server: InProcessServer) -> None:
    """Without labels nothing is owned."""
    made = run(server.request("POST", f"{PATH}?fieldManager=m", body=wanted(pem()))).json
    assert "managedFields" not in made["metadata"]


def test_applier_owns_labels_only(server: InProcessServer) -> None:
    """An applier owns labels, never spec; labels that it omits are removed, and spec stays."""
    request = pem()
    stored = patched(server, "r", "m", APPLY, wanted(request, labels={"a": "b"}))
    assert owned_fields(stored) == {("m", "Apply", ""): {"f:metadata": {"f:labels": {"f:a": {}}}}}
    assert stored["spec"]["request"] == request and stored["spec"]["username"]
    left = patched(server, "r", "m", APPLY, wanted(request))
    assert "labels" not in left["metadata"] and left["spec"] == stored["spec"]
    assert owned_fields(left) == {}


def test_approval_and_status_own_separate_fields(server: InProcessServer) -> None:
    """The approval endpoint owns conditions, the status endpoint the certificate."""
    run(server.request("POST", f"{PATH}?fieldManager=m", body=wanted(pem(), labels={"a": "b"})))
    condition = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    stored = patched(server, "r/approval", "approver", MERGE, {"status": {"conditions": [condition]}})
    item: dict[str, Any] = {".": {}, **{f"f:{name}": {} for name in MEMBERS}}
    mine = owned_fields(stored)["approver", "Update", "approval"]
    assert mine == {"f:status": {"f:conditions": {".": {}, 'k:{"type":"Approved"}': item}}}
    failed = {"type": "Failed", "status": "True", "reason": "r", "message": "m"}
    both = [*stored["status"]["conditions"], failed]
    after = patched(server, "r/status", "signer", MERGE, {"status": {"conditions": both}})
    assert {c["type"] for c in after["status"]["conditions"]} == {"Approved", "Failed"}
    assert set(owned_fields(after)) == {("m", "Update", ""), ("approver", "Update", "approval")}
