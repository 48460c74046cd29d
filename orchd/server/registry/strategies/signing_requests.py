"""Strategy of CertificateSigningRequests."""

from __future__ import annotations

from base64 import b64decode
from datetime import timedelta
from typing import Final

from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.times import timestamp
from orchd.pki.certificates import load_chain
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy
from orchd.txkit.metrics.instruments import Counter

#: Seconds by which a certificate may begin before it is signed.
_BACKDATED: Final = 300


class SigningRequestStrategy(Strategy):
    """The requester is the user of the request; the request itself is immutable."""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        signer = ("signerName",)
        self._requested = Counter(
            "apiserver_certificates_registry_csr_requested_duration_total",
            "Issued certificates whose request names a duration, by signer; those of other domains are "
                "\"other\".", signer,
        )  # fmt: skip
        self._honored = Counter(
            "apiserver_certificates_registry_csr_honored_duration_total",
            "Issued certificates with the duration that was requested, by signer; those of other domains are "
                "\"other\".", signer,
        )  # fmt: skip
        #: Metrics.
        self.instruments = (self._requested, self._honored)
        self._own_signers = settings.dialect("{long}.io/")

    def observe_update(self, obj: Object, old: Object) -> None:
        seconds = fields.spec(old).get("expirationSeconds")
        issued = fields.status(obj).get("certificate")
        if seconds is None or not issued or fields.status(old).get("certificate"):
            return
        signer = old["spec"].get("signerName", "")
        label = signer if signer.startswith(self._own_signers) else "other"
        self._requested.add(label)
        try:
            chain = load_chain(b64decode(issued))
        except ValueError:
            return
        lifetime = chain[0].not_valid_after_utc - chain[0].not_valid_before_utc if chain else timedelta()
        # Certificates are backdated, and signers round.
        if abs(lifetime.total_seconds() - seconds) < _BACKDATED + seconds / 20:
            self._honored.add(label)

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        user = context.user.as_json()
        spec = {k: v for k, v in fields.spec(obj).items() if k not in ("username", "uid", "groups", "extra")}
        return {**obj, "spec": {**spec, **user}}

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        kept = {**old, "metadata": obj["metadata"]}
        if context.subresource not in ("approval", "status"):
            return kept
        new_status, before = fields.status(obj), fields.status(old)
        # The approval endpoint changes only conditions. Validation decides which of them may change.
        status = {**(new_status if context.subresource == "status" else before)}
        status.pop("conditions", None)
        stored, conditions = before.get("conditions") or [], new_status.get("conditions") or []
        if context.subresource == "status":
            conditions = _preserve(_preserve(conditions, stored, "Approved"), stored, "Denied")
        conditions = _stamp(context, conditions, stored)
        return {**kept, "status": {**status, "conditions": conditions} if conditions else status}


def _preserve(conditions: list[Object], before: list[Object], kind: str) -> list[Object]:
    """`conditions` with those of type `kind` replaced by the stored ones, where both have the same number of them."""
    stored = [c for c in before if c.get("type") == kind]
    if sum(c.get("type") == kind for c in conditions) != len(stored):
        return conditions
    rest = iter(stored)
    return [next(rest) if c.get("type") == kind else c for c in conditions]


def _stamp(context: Context, conditions: list[Object], before: list[Object]) -> list[Object]:
    """Conditions with missing times set."""
    now = timestamp(context.now)
    since = {
        (c.get("type"), c.get("status")): c["lastTransitionTime"]
        for c in reversed(before)
        if c.get("lastTransitionTime")
    }
    return [
        {
            **condition,
            "lastUpdateTime": condition.get("lastUpdateTime") or now,
            "lastTransitionTime": (
                condition.get("lastTransitionTime")
                or since.get((condition.get("type"), condition.get("status")))
                or now
            ),
        }
        for condition in conditions
    ]
