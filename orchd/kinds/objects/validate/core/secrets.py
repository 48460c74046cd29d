"""Validation of secrets and config maps: keys, sizes, contents by type of secret, immutability."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.json_errors import json_error
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.names import config_key, subdomain_name
from orchd.kinds.objects.validate.paths import METADATA, Path, root
from orchd.kinds.objects.validate.report import Report

MAX_BYTES: Final = 1024 * 1024
_DATA: Final = root("data")
_BINARY: Final = root("binaryData")
_REDACTED: Final = "<secret contents redacted>"
_FROZEN: Final = "field is immutable when `immutable` is set"
SERVICE_ACCOUNT_NAME: Final = "{long}.io/service-account.name"


def create(secret: Object, report: Report) -> None:
    metadata, data = fields.metadata(secret), secret.get("data") or {}
    meta.create(secret, report, namespaced=True, name_rule=subdomain_name)
    size = 0
    for key, value in data.items():
        report.invalids(_DATA[key], key, config_key(key))
        size += _decoded_size(value)
    if size > MAX_BYTES:
        report.too_long(_DATA, MAX_BYTES)
    domain, _, name = (secret.get("type") or "").partition("/")
    if name in _RULES and domain == report.dialect("{long}.io"):
        _RULES[name](data, metadata, report)


def _decoded_size(value: str | None) -> int:
    """The number of bytes that a base64 text encodes."""
    return 0 if not value else len(value) // 4 * 3 - value[-2:].count("=")


def _service_account_token(data: Object, metadata: Object, report: Report) -> None:
    key = report.dialect(SERVICE_ACCOUNT_NAME)
    if not (metadata.get("annotations") or {}).get(key):
        report.required((METADATA / "annotations")[key])


def _json_key(key: str) -> Callable[[Object, Object, Report], None]:
    def rule(data: Object, metadata: Object, report: Report) -> None:
        if key not in data:
            report.required(_DATA[key])
            return
        wrong = json_error(decoded(data[key]))
        if wrong:
            report.invalid(_DATA[key], _REDACTED, wrong)

    return rule


def decoded(encoded: str | None) -> bytes:
    """The bytes of a base64 text; none for a text that is not base64."""
    try:
        return base64.b64decode(encoded or "")
    except binascii.Error:
        return b""


def _unnamed_key(key: str, report: Report) -> None:
    # The reference does not substitute the placeholder in this path.
    report.required(root("data[%s]")[key])


def _named_key(key: str, report: Report) -> None:
    report.required(_DATA[key])


_key_required = by_release(_unnamed_key, ("1.28", _named_key))


def _basic_auth(data: Object, metadata: Object, report: Report) -> None:
    if "username" not in data and "password" not in data:
        for key in ("username", "password"):
            _key_required(key, report)


def _ssh_auth(data: Object, metadata: Object, report: Report) -> None:
    if not data.get("ssh-privatekey"):
        _key_required("ssh-privatekey", report)


def _tls(data: Object, metadata: Object, report: Report) -> None:
    for key in ("tls.crt", "tls.key"):
        if key not in data:
            report.required(_DATA[key])


#: Rules by type, without the domain.
_RULES: Final[dict[str, Callable[[Object, Object, Report], None]]] = {
    "service-account-token": _service_account_token,
    "dockercfg": _json_key(".dockercfg"),
    "dockerconfigjson": _json_key(".dockerconfigjson"),
    "basic-auth": _basic_auth,
    "ssh-auth": _ssh_auth,
    "tls": _tls,
}


def update(secret: Object, old: Object, report: Report) -> None:
    meta.update(secret, old, report)
    report.immutable(root("type"), secret.get("type") or "", old.get("type") or "")
    _frozen(secret, old, (("data", _DATA),), report)
    create(secret, report)


def _frozen(new: Object, old: Object, members: tuple[tuple[str, Path], ...], report: Report) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        report.forbidden(root("immutable"), _FROZEN)
    for member, at in members:
        if (new.get(member) or {}) != (old.get(member) or {}):
            report.forbidden(at, _FROZEN)


def create_config_map(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    data, binary = value.get("data") or {}, value.get("binaryData") or {}
    size = 0
    for key, text in data.items():
        report.invalids(_DATA[key], key, config_key(key))
        if key in binary:
            report.invalid(_DATA[key], key, "duplicate of key present in binaryData")
        size += len(text.encode())
    for key, text in binary.items():
        report.invalids(_BINARY[key], key, config_key(key))
        size += _decoded_size(text)
    if size > MAX_BYTES:
        report.too_long(root("[]"), MAX_BYTES)


def update_config_map(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _frozen(value, old, (("data", _DATA), ("binaryData", _BINARY)), report)
    create_config_map(value, report)
