"""Certificate signing requests of v1beta1."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection
from typing import Final

from cryptography import x509

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.pki import requests

_USAGES: Final = ("digital signature", "key encipherment")
_LEGACY: Final = "{long}.io/legacy-unknown"
#: Signers that were chosen for a request that has what they sign, as templates of the dialect.
_SIGNERS: Final[tuple[tuple[str, Callable[[x509.CertificateSigningRequest, Collection[str]], None]], ...]] = (
    ("{long}.io/{short}-apiserver-client-{short}let", requests.check_node_client),
    ("{long}.io/{short}let-serving", requests.check_node_serving),
)


def signing_request(obj: Object, dialect: Dialect) -> Object:
    """Usages and signer had defaults, and a condition was true by default."""
    spec = {**obj["spec"]}
    if spec.get("usages") is None:
        spec["usages"] = list(_USAGES)
    if spec.get("signerName") is None:
        spec["signerName"] = dialect(_signer(str(spec.get("request") or ""), spec["usages"]))
    out = {**obj, "spec": spec}
    conditions = fields.status(obj).get("conditions")
    if conditions:
        out["status"] = {
            **obj["status"],
            "conditions": [{**each, "status": each.get("status") or "True"} for each in conditions],
        }
    return out


def _signer(request: str, usages: Collection[str]) -> str:
    """The signer by default, as a template of the dialect. The legacy one for a request that cannot be read."""
    try:
        loaded = requests.load_request(base64.b64decode(request, validate=True))
    except ValueError:
        return _LEGACY
    for name, check in _SIGNERS:
        try:
            # Signers take keys that need no key encipherment; the default of this version did not.
            check(loaded, usages if "key encipherment" in usages else ())
        except requests.RequestError:
            continue
        return name
    return _LEGACY
