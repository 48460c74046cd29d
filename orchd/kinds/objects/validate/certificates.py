"""Validation of certificate signing requests: the request, signer, usages, conditions, and the certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import GoBytes
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.secrets import decoded
from orchd.kinds.objects.validate.der import der_error
from orchd.kinds.objects.validate.names import label, path_segment, subdomain
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report
from orchd.pemblocks import decode_block, pem_blocks

if TYPE_CHECKING:
    from cryptography import x509

USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_LEGACY_SIGNER: Final = "{long}.io/legacy-unknown"
_MIN_SECONDS: Final = 600
_MAX_DOMAIN: Final = 253
#: Maximum length: a domain, a slash, and a path of a namespace, a dot and a name.
_MAX_SIGNER: Final = 571
_NOT_A_REQUEST: Final = "PEM block type must be CERTIFICATE REQUEST"
_UNKNOWN_ALGORITHM: Final = "x509: cannot verify signature: algorithm unimplemented"


def create(value: Object, report: Report) -> None:
    _whole(value, None, report)


def _whole(value: Object, old: Object | None, report: Report) -> None:
    """The rules for a request. Errors that the stored request has already are accepted."""
    meta.create(value, report, namespaced=False, name_rule=path_segment)
    spec, before = fields.spec(value), {} if old is None else fields.spec(old)
    status, had = fields.status(value), {} if old is None else fields.status(old)
    _request(spec.get("request"), report)
    usages = spec.get("usages") or []
    if not usages:
        report.required(SPEC / "usages", reworded("usages must be provided", ("1.35", "")))
    if set(before.get("usages") or ()) <= set(USAGES):
        for i, usage in enumerate(usages):
            if usage not in USAGES:
                report.unsupported((SPEC / "usages")[i], usage, USAGES)
    if not _repeats(before.get("usages") or []):
        for i in sorted(repeats(usages)):
            report.duplicate((SPEC / "usages")[i], usages[i])
    if not (old is not None and before.get("signerName") == report.dialect(_LEGACY_SIGNER)):
        _signer(spec.get("signerName") or "", SPEC / "signerName", report)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_SECONDS:
        why = f"may not specify a duration less than {_MIN_SECONDS} seconds (10 minutes)"
        report.invalid(SPEC / "expirationSeconds", seconds, why)
    _conditions(status.get("conditions") or [], [c.get("type") or "" for c in had.get("conditions") or ()], report)
    certificate, stored = status.get("certificate") or "", had.get("certificate") or ""
    if certificate and certificate != stored and not (stored and _certificate_error(decoded(stored))):
        _certificate(decoded(certificate), report)


def _repeats(listed: list[str]) -> bool:
    return len(set(listed)) < len(listed)


def _request(encoded: str | None, report: Report) -> None:
    raw = decoded(encoded)
    wrong = _request_error(raw)
    if wrong:
        report.invalid(SPEC / "request", GoBytes(None if encoded is None else raw), wrong)


def _request_error(raw: bytes) -> str:
    """The error of a signing request in PEM (RFC 2986), including its signature; "" if it is valid."""
    block = next(pem_blocks(raw.decode("latin-1")), None)
    if block is None or block.label != "CERTIFICATE REQUEST":
        return _NOT_A_REQUEST
    # Imported here because it is slow to load and only this rule needs it.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        # Lines with a colon are headers of the block, which are ignored.
        der = decode_block(line for line in block.content.split("\n") if ":" not in line)
    except ValueError:
        return _NOT_A_REQUEST
    wrong = der_error(der, "certificateRequest")
    if wrong:
        return wrong
    try:
        request = x509.load_der_x509_csr(der)
    except ValueError as error:
        return f"asn1: structure error: {error}"
    try:
        valid = request.is_signature_valid or _is_signed_with_sha1(request)
    except UnsupportedAlgorithm:
        return _UNKNOWN_ALGORITHM
    return "" if valid else _signature_error(request.public_key())


def _is_signed_with_sha1(request: x509.CertificateSigningRequest) -> bool:
    """True for a valid signature with SHA-1, which the library does not accept in certificates and requests."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA1

    key, signed = request.public_key(), (request.signature, request.tbs_certrequest_bytes)
    if not isinstance(request.signature_hash_algorithm, SHA1):
        return False
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(*signed, padding.PKCS1v15(), SHA1())
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(*signed, ec.ECDSA(SHA1()))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _signature_error(key: object) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, ec.EllipticCurvePublicKey):
        return "x509: ECDSA verification failure"
    return (
        "crypto/rsa: verification error" if isinstance(key, rsa.RSAPublicKey) else "x509: Ed25519 verification failure"
    )


def _signer(name: str, at: Path, report: Report) -> None:
    if not name:
        report.required(at, reworded("signerName must be provided", ("1.35", "")))
        return
    if name == report.dialect(_LEGACY_SIGNER):
        report.invalid(at, name, "the legacy signerName is not allowed via this API version")
        return
    segments = name.split("/")
    if len(segments) != 2:
        report.invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    domain, path = segments
    if len(domain.encode()) > _MAX_DOMAIN:
        report.too_long(at, _MAX_DOMAIN)
    _parts(domain, label, at, report)
    if "." not in domain:
        report.invalid(at, domain, "should be a domain with at least two segments separated by dots")
    _parts(path, subdomain, at, report)
    if len(name.encode()) > _MAX_SIGNER:
        report.too_long(at, _MAX_SIGNER)


def _parts(text: str, rule: Callable[[str], Sequence[str]], at: Path, report: Report) -> None:
    """The errors of the first invalid part of a dotted name."""
    for part in text.split("."):
        wrong = rule(part)
        if wrong:
            report.invalids(at, text, (f"validating label {quote(part)}: {why}" for why in wrong))
            return


def _conditions(listed: list[Object], stored: list[str], report: Report) -> None:
    """Validate conditions. `stored` are the types of the stored ones."""
    had, had_repeats = frozenset(stored), _repeats(stored)
    seen: set[str] = set()
    for i, condition in enumerate(listed):
        at, kind, status = (STATUS / "conditions")[i], condition.get("type") or "", condition.get("status") or ""
        if not kind and "" not in had:
            report.required(at / "type")
        allowed = ("True",) if kind in ("Approved", "Denied", "Failed") else ("False", "True", "Unknown")
        if not status:
            report.required(at / "status")
        elif status not in allowed:
            report.unsupported(at / "status", status, allowed)
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if other in seen and not (other in had and kind in had):
            report.invalid(at / "type", kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen and not had_repeats:
            report.duplicate(at / "type", kind)
        seen.add(kind)


def update(value: Object, old: Object, report: Report) -> None:
    _update(value, old, report, approval=False, signing=False)


def update_approval(value: Object, old: Object, report: Report) -> None:
    _update(value, old, report, approval=True, signing=False)


def update_status(value: Object, old: Object, report: Report) -> None:
    _update(value, old, report, approval=False, signing=True)


def _update(value: Object, old: Object, report: Report, *, approval: bool, signing: bool) -> None:
    _whole(value, old, report)
    status, stored = fields.status(value), fields.status(old)
    now, before = _count(status), _count(stored)
    for kind in ("Approved", "Denied", "Failed"):
        if now.get(kind, 0) < before.get(kind, 0):
            report.forbidden(STATUS / "conditions", f'updates may not remove a condition of type "{kind}"')
    for kind in () if approval else ("Approved", "Denied"):
        if now.get(kind, 0) > before.get(kind, 0):
            report.forbidden(STATUS / "conditions", f'updates may not add a condition of type "{kind}"')
    if (status.get("certificate") or "") != (stored.get("certificate") or ""):
        if not signing:
            report.forbidden(STATUS / "certificate", "updates may not set certificate content")
        elif stored.get("certificate"):
            report.forbidden(STATUS / "certificate", "updates may not modify existing certificate content")
    meta.update(value, old, report)


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


def _is_base64(block: str) -> bool:
    """False for the content of a block that readers of PEM skip: headers aside, it is not base64."""
    if ":" in block:
        return True
    try:
        decode_block((block,))
    except ValueError:
        return False
    return True


def _certificate_error(raw: bytes) -> str:
    """The error of a text that must consist of certificates in PEM (RFC 7468), "" if it is valid."""
    from cryptography import x509

    count = 0
    for block in pem_blocks(raw.decode("latin-1")):
        if not _is_base64(block.content):
            continue
        if block.label != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.label}"'
        if ":" in block.content:
            return "no PEM block headers are permitted"
        try:
            x509.load_pem_x509_certificate(block.text.encode("latin-1"))
        except ValueError:
            return "x509: malformed certificate"
        count += 1
    return "" if count else "must contain at least one CERTIFICATE PEM block"
