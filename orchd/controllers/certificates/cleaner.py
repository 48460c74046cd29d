"""Deletes old certificate signing requests: an hour after approval or denial, 24 hours after creation if still pending,
and when the issued certificate has expired."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC
from typing import Final

from cryptography import x509

from orchd.controllers.base import Controller, Key
from orchd.controllers.certificates.requests import requests_ref
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import condition
from orchd.kinds.fields import status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of

#: Seconds for which requests are kept after approval or denial, and while they are pending.
DECIDED, PENDING = 3600.0, 24 * 3600.0
#: Maximum seconds between checks of a request.
_LONGEST: Final = 3600.0


def end_of(request: Object) -> float | None:
    """Time at which a request is due for deletion, in seconds since the epoch; None to keep it."""
    current = status(request)
    ends: list[float] = []
    issued = bool(current.get("certificate"))
    for type_, counts in (("Approved", issued), ("Denied", True), ("Failed", True)):
        decided = condition(current, type_)
        since = seconds_of((decided or {}).get("lastUpdateTime")) if counts else None
        if since is not None:
            ends.append(since + DECIDED)
    if not current.get("conditions"):
        ends.append((seconds_of(request["metadata"].get("creationTimestamp")) or 0.0) + PENDING)
    if issued and condition(current, "Approved") is not None:
        expiry = _expiry(current["certificate"])
        if expiry is not None:
            ends.append(expiry)
    return min(ends, default=None)


def _expiry(encoded: str) -> float | None:
    try:
        certificate = x509.load_pem_x509_certificate(base64.b64decode(encoded))
    except (ValueError, binascii.Error):
        # The server validates certificates on write; an unreadable older one is kept.
        return None
    return certificate.not_valid_after_utc.astimezone(UTC).timestamp()


class RequestCleaner(Controller):
    """Checks each request when it changes and when it is due."""

    name = "csrcleaner"
    account = "certificate-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._ref = requests_ref(env.dialect)
        self._requests = self.follow(self._ref, primary=True)

    async def reconcile(self, key: Key) -> float | None:
        request = self._requests.get(*key)
        end = None if request is None else end_of(request)
        if request is None or end is None:
            return None
        left = end - self.env.wall()
        if left > 0:
            return min(left + 0.1, _LONGEST)
        await self.remove(self._ref, "", key[1], uid=uid(request))
        return None
