"""Protection of ambient credentials: browsers send a client certificate with requests of any page.

The algorithm is that of CrossOriginProtection in Go's net/http: Sec-Fetch-Site where the browser sends it, else Origin
against Host. Other programs send neither.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence

from orchd import errors
from orchd.server.pipeline.interfaces import Next, Request, Response

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_OWN = frozenset(("same-origin", "none"))


class CrossSite:
    """Rejects changes and upgrades that pages of other origins request with a client certificate. `allowed` are the
    origins of --cors-allowed-origins."""

    def __init__(self, allowed: Sequence[re.Pattern[str]] = ()) -> None:
        self._allowed = tuple(allowed)

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        if not request.credentials.certificates or self._is_permitted(request):
            return then(request)
        raise errors.forbidden("", "", "", "cross-origin request with a client certificate")

    def _is_permitted(self, request: Request) -> bool:
        if request.method in _SAFE and not request.header("upgrade"):
            return True
        site, origin = request.header("sec-fetch-site"), request.header("origin")
        if site in _OWN or (not site and not origin):
            return True
        _, mark, authority = origin.partition("://")
        if not site and mark and authority == request.header("host"):
            return True
        return bool(origin) and any(pattern.search(origin) for pattern in self._allowed)
