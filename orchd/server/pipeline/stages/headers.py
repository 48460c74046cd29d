"""Response headers for browsers and load balancers: CORS, Strict-Transport-Security, and retry during shutdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from orchd.dialect import Dialect
from orchd.server.pipeline.interfaces import Next, Request, Response

_METHODS = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
_HEADERS = (
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
)
#: Served until the end of the shutdown: monitoring uses them.
_MONITORED = ("/readyz", "/livez", "/healthz", "/metrics")


class CrossOrigin:
    """Allows pages of the `allowed` origins to read responses, and handles their preflight requests (Fetch standard,
    3.2)."""

    def __init__(self, allowed: Sequence[re.Pattern[str]]) -> None:
        self._allowed = tuple(allowed)

    async def __call__(self, request: Request, then: Next) -> Response:
        origin = request.header("origin")
        if not origin or not any(pattern.search(origin) for pattern in self._allowed):
            return await then(request)
        request.response_headers += (
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Allow-Methods", _METHODS),
            ("Access-Control-Allow-Headers", _HEADERS),
            ("Access-Control-Expose-Headers", "Date"),
            ("Access-Control-Allow-Credentials", "true"),
        )
        if request.method == "OPTIONS":
            return Response(code=204)
        return await then(request)


class StrictTransport:
    """Requires TLS of browsers (RFC 6797)."""

    def __init__(self, directives: Sequence[str]) -> None:
        self._header = ("Strict-Transport-Security", "; ".join(directives))

    async def __call__(self, request: Request, then: Next) -> Response:
        request.response_headers.append(self._header)
        return await then(request)


class DrainingStage:
    """Once `leaving`, rejects new requests with 429 and closes connections, so that clients retry on another server."""

    def __init__(self, dialect: Dialect, leaving: Callable[[], bool]) -> None:
        self._leaving = leaving
        self._own = dialect("{short}-apiserver/"), dialect("{short}-apiserver-")

    async def __call__(self, request: Request, then: Next) -> Response:
        if (
            not self._leaving()
            or request.path.startswith(_MONITORED)
            or request.header("user-agent").startswith(self._own)
        ):
            return await then(request)
        return Response(
            code=429,
            content_type="text/plain; charset=utf-8",
            headers=[("Connection", "close"), ("Retry-After", "5"), ("X-Content-Type-Options", "nosniff")],
            body=b"The apiserver is shutting down, please try again later.\n",
        )
