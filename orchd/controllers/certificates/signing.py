"""Signs approved certificate signing requests with the CA of their signer."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from orchd.controllers.base import Controller, Key
from orchd.controllers.certificates.requests import failed, holds, request_of, requests_ref, with_condition
from orchd.controllers.interfaces import Environment
from orchd.kinds.fields import spec, status, with_status
from orchd.kinds.times import timestamp
from orchd.pki.requests import RequestError, check_client, check_node_client, check_node_serving, sign_request
from orchd.txkit.log import Logger

Check = Callable[[x509.CertificateSigningRequest, Collection[str]], None]

#: Signer name templates, as `Environment.signing_authority` takes them, and the check that requests must pass.
SIGNERS: Final[dict[str, Check]] = {
    "{long}.io/{short}let-serving": check_node_serving,
    "{long}.io/{short}-apiserver-client-{short}let": check_node_client,
    "{long}.io/{short}-apiserver-client": lambda request, usages: check_client(usages),
    "{long}.io/legacy-unknown": lambda request, usages: None,
}
#: Seconds.
_SHORTEST_LIFETIME: Final = 600.0


class CertificateSigner(Controller):
    """Signs approved requests; a request that its signer rejects gets the condition Failed with the reason."""

    log = Logger()
    name = "csrsigning"
    account = "certificate-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._ref = requests_ref(env.dialect)
        self._checks = {env.dialect(signer): (signer, check) for signer, check in SIGNERS.items()}
        self._requests = self.follow(self._ref, primary=True)

    async def start(self) -> None:
        unavailable = [
            signer for signer, (template, _) in self._checks.items() if self.env.signing_authority(template) is None
        ]
        if unavailable:
            self.log.warn(
                "requests for {signers} are not signed: no certificate and key are configured",
                signers=", ".join(unavailable),
            )
        await super().start()

    async def reconcile(self, key: Key) -> float | None:
        obj = self._requests.get(*key)
        if obj is None or status(obj).get("certificate") or failed(obj):
            return None
        if not holds(obj, "Approved") or holds(obj, "Denied"):
            return None
        request_spec = spec(obj)
        template, check = self._checks.get(request_spec.get("signerName", ""), ("", None))
        authority = self.env.signing_authority(template) if check is not None else None
        if check is None or authority is None:
            return None
        usages = request_spec.get("usages") or ()
        now = self.env.wall()
        try:
            request = request_of(obj)
            check(request, usages)
            certificate = sign_request(
                authority, request, usages=usages, lifetime=self._lifetime(request_spec.get("expirationSeconds")),
                now=datetime.fromtimestamp(now, UTC),
            )  # fmt: skip
        except RequestError as error:
            changed = with_condition(obj, timestamp(now), "Failed", "SignerValidationFailure", str(error))
        else:
            pem = base64.b64encode(certificate.public_bytes(Encoding.PEM)).decode()
            changed = with_status(obj, certificate=pem)
        await self.client.update(self._ref, "", key[1], changed, subresource="status", need_response=False)
        return None

    def _lifetime(self, requested: int | None) -> timedelta:
        most = self.env.settings.cluster_signing_duration
        if requested is None or not self.env.feature("CSRDuration"):
            return timedelta(seconds=most)
        return timedelta(seconds=min(most, max(float(requested), _SHORTEST_LIFETIME)))
