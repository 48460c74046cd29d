"""Access log: one line per request while the verbosity is 3 or above (-v, /debug/flags/v)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from orchd.errors import quoted
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.txkit.log import Logger

#: The namespace of its lines, for --vmodule.
NAMESPACE = "orchd.requests"
#: The verbosity from which requests are logged, as in the reference.
_VERBOSITY: Final = 3

_log = Logger(namespace=NAMESPACE)


class AccessLog:
    """Logs verb, URI, duration, user agent, user and status of each completed request; `clock` is monotonic.
    `verbosity_of` returns the current verbosity of a namespace."""

    def __init__(self, clock: Callable[[], float], verbosity_of: Callable[[str], int]) -> None:
        self._clock, self._verbosity_of = clock, verbosity_of

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        return then(request) if self._verbosity_of(NAMESPACE) < _VERBOSITY else self._logged(request, then)

    async def _logged(self, request: Request, then: Next) -> Response:
        begin = self._clock()
        code = 0
        try:
            response = await then(request)
            code = response.code
            return response
        finally:
            _log.info(
                '"HTTP" verb="{verb}" URI={uri} latency="{latency:.3f}ms" userAgent={agent!r} audit-ID="{audit}" '
                'srcIP="{source}" user={user!r} resp={code}',
                verb=request.method if request.info is None else request.info.verb.upper(),
                # Encoded and quoted: a request cannot write control characters to a terminal that shows the log.
                uri=quoted(request.uri()),
                latency=(self._clock() - begin) * 1000,
                agent=request.header("user-agent"),
                audit=request.trace.audit_id,
                source=request.credentials.remote,
                user="" if request.user is None else request.user.name,
                code=code,
            )
