"""Certificate signing requests: the request, its signer and usages, conditions, the certificate."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.der import der_error
from orchd.kinds.objects.validate.gosyntax import Go
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.words import label, path_segment, subdomain

Object = dict[str, Any]

USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only",
    "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement",
    "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping",
)
_LEGACY_SIGNER: Final = "{long}.io/legacy-unknown"
_MIN_SECONDS: Final = 600
_PEM: Final = re.compile(
    r"-----BEGIN ([^\n-]*)-----\n(.*?)-----END \1-----[ \t]*(?:\n|\Z)", re.S
)
_NOT_A_REQUEST: Final = "PEM block type must be CERTIFICATE REQUEST"
_UNKNOWN_ALGORITHM: Final = "x509: cannot verify signature: algorithm unimplemented"


def create(value: Object, report: Report) -> None:
    meta.create(value.get("metadata") or {}, report, namespaced=False, name_rule=path_segment)
    spec = value.get("spec") or {}
    _request(spec.get("request"), report)
    usages = spec.get("usages") or []
    if not usages:
        report.required(SPEC / "usages", "usages must be provided")
    for i, usage in enumerate(usages):
        if usage not in USAGES:
            report.unsupported((SPEC / "usages")[i], usage, USAGES)
    for i, usage in enumerate(usages):
        if usage in usages[:i]:
            report.duplicate((SPEC / "usages")[i], usage)
    _signer(spec.get("signerName") or "", SPEC / "signerName", report)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_SECONDS:
        why = f"may not specify a duration less than {_MIN_SECONDS} seconds (10 minutes)"
        report.invalid(SPEC / "expirationSeconds", seconds, why)
    _conditions((value.get("status") or {}).get("conditions") or [], report)


def _request(encoded: str | None, report: Report) -> None:
    raw = _bytes(encoded)
    wrong = _request_error(raw)
    if wrong:
        shown = "[]byte(nil)" if not raw else "[]byte{" + ", ".join(f"0x{b:x}" for b in raw) + "}"
        report.invalid(SPEC / "request", Go(shown), wrong)


def _bytes(encoded: str | None) -> bytes:
    try:
        return base64.b64decode(encoded or "")
    except binascii.Error:
        return b""


def _request_error(raw: bytes) -> str:
    """What keeps PEM from being a signing request with a good signature (RFC 2986)."""
    match = _PEM.search(raw.decode("latin-1"))
    if match is None or match.group(1) != "CERTIFICATE REQUEST":
        return _NOT_A_REQUEST
    # Imported here: only this rule needs it, and it is slow to load.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        # Lines with a colon are headers of the block; nothing here depends on them.
        der = base64.b64decode("".join(line for line in match.group(2).split("\n") if ":" not in line))
    except binascii.Error:
        return _NOT_A_REQUEST
    wrong = der_error(der, "certificateRequest")
    if wrong:
        return wrong
    try:
        request = x509.load_der_x509_csr(der)
    except ValueError as error:
        return f"asn1: structure error: {error}"
    try:
        valid = request.is_signature_valid
    except UnsupportedAlgorithm:
        return _UNKNOWN_ALGORITHM
    return "" if valid else _signature_error(request.public_key())


def _signature_error(key: object) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, ec.EllipticCurvePublicKey):
        return "x509: ECDSA verification failure"
    return "crypto/rsa: verification error" if isinstance(key, rsa.RSAPublicKey) else "x509: Ed25519 verification failure"


def _signer(name: str, at: Path, report: Report) -> None:
    if not name:
        report.required(at, "signerName must be provided")
        return
    if name == report.dialect(_LEGACY_SIGNER):
        report.invalid(at, name, "the legacy signerName is not allowed via this API version")
        return
    segments = name.split("/")
    if len(segments) != 2:
        report.invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    domain, path = segments
    for part in domain.split("."):
        for why in label(part):
            report.invalid(at, domain, f'validating label "{part}": {why}')
    if "." not in domain:
        report.invalid(at, domain, "should be a domain with at least two segments separated by dots")
    for why in subdomain(path):
        report.invalid(at, path, f'validating label "{path}": {why}')
    if len(name) > 571:
        report.too_long(at, 571)


def _conditions(listed: list[Object], report: Report) -> None:
    seen: set[str] = set()
    for i, condition in enumerate(listed):
        at, kind, status = (STATUS / "conditions")[i], condition.get("type") or "", condition.get("status") or ""
        if not kind:
            report.required(at / "type")
        allowed = ("True",) if kind in ("Approved", "Denied", "Failed") else ("False", "True", "Unknown")
        if not status:
            report.required(at / "status")
        elif status not in allowed:
            report.unsupported(at / "status", status, allowed)
        if {"Approved": "Denied", "Denied": "Approved"}.get(kind) in seen:
            report.invalid(at / "type", kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen:
            report.duplicate(at / "type", kind)
        seen.add(kind)


def update(value: Object, old: Object, report: Report) -> None:
    _update(value, old, report, approval=False, signing=False)


def update_approval(value: Object, old: Object, report: Report) -> None:
    _update(value, old, report, approval=True, signing=False)


def update_status(value: Object, old: Object, report: Report) -> None:
    _update(value, old, report, approval=False, signing=True)


def _update(value: Object, old: Object, report: Report, *, approval: bool, signing: bool) -> None:
    status = value.get("status") or {}
    _conditions(status.get("conditions") or [], report)
    meta.update(value.get("metadata") or {}, old.get("metadata") or {}, report)
    now = _count(status)
    before = _count(old.get("status") or {})
    for kind in ("Approved", "Denied", "Failed"):
        was, have = before.get(kind, 0), now.get(kind, 0)
        if have < was:
            report.forbidden(STATUS / "conditions", f'updates may not remove a condition of type "{kind}"')
        elif have > was and not (approval if kind != "Failed" else signing):
            report.forbidden(STATUS / "conditions", f'updates may not add a condition of type "{kind}"')
    certificate, had = status.get("certificate"), (old.get("status") or {}).get("certificate")
    if certificate != had:
        if had:
            report.forbidden(STATUS / "certificate", "updates may not change an existing certificate")
        elif not signing:
            report.forbidden(STATUS / "certificate", "updates may not set certificate content")
    if signing and certificate and certificate != had:
        _certificate(_bytes(certificate), report)


def _count(status: Object) -> dict[str, int]:
    out: dict[str, int] = {}
    for condition in status.get("conditions") or ():
        kind = condition.get("type") or ""
        out[kind] = out.get(kind, 0) + 1
    return out


def _certificate(raw: bytes, report: Report) -> None:
    wrong = _certificate_error(raw)
    if wrong:
        report.invalid(STATUS / "certificate", "<certificate data>", wrong)


def _certificate_error(raw: bytes) -> str:
    """What keeps PEM from being certificates and nothing else (RFC 7468)."""
    from cryptography import x509

    found = 0
    for match in _PEM.finditer(raw.decode("latin-1")):
        if match.group(1) != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{match.group(1)}"'
        if ":" in match.group(2):
            return "no PEM block headers are permitted"
        try:
            x509.load_pem_x509_certificate(match.group(0).encode("latin-1"))
        except ValueError:
            return "x509: malformed certificate"
        found += 1
    return "" if found else "must contain at least one CERTIFICATE PEM block"
