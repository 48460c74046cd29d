"""Conditions and contents of certificate signing requests."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from cryptography import x509

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import condition
from orchd.dialect import Dialect
from orchd.kinds.fields import spec, status
from orchd.kinds.jsonvalues import Object
from orchd.pki.requests import RequestError, load_request


def requests_ref(dialect: Dialect) -> ResourceRef:
    return ResourceRef(dialect("certificates.{abbr}.io"), "v1", "certificatesigningrequests")


def holds(request: Object, type_: str) -> bool:
    """True if the request has a condition of the type."""
    return condition(status(request), type_) is not None


def failed(request: Object) -> bool:
    return (condition(status(request), "Failed") or {}).get("status") == "True"


def request_of(obj: Object) -> x509.CertificateSigningRequest:
    """The parsed PKCS #10 request. Raises RequestError."""
    try:
        pem = base64.b64decode(spec(obj).get("request") or "")
    except binascii.Error as error:
        raise RequestError(str(error)) from None
    return load_request(pem)


def with_condition(obj: Object, stamp: str, type_: str, reason: str, message: str) -> Object:
    """The object with an added condition that is True since `stamp`."""
    added: dict[str, Any] = {
        "type": type_,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastUpdateTime": stamp,
    }
    current = status(obj)
    return {**obj, "status": {**current, "conditions": [*(current.get("conditions") or ()), added]}}
