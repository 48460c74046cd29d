"""In-flight limits: excess requests are rejected with Retry-After (specification, "Max in flight").

Long-running requests (watches, streams to pods) are not counted; neither are members of system:masters.
"""

from __future__ import annotations

from orchd.kinds.identity import MASTERS_GROUP
from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response

_LONG_VERBS = frozenset(("watch", "proxy"))
_LONG_SUBRESOURCES = frozenset(("attach", "exec", "log", "portforward", "proxy"))
_READING = frozenset(("get", "list", "watch"))


def long_running(info: RequestInfo | None) -> bool:
    """True for requests without a time limit, such as watches."""
    return info is not None and info.is_resource and (info.verb in _LONG_VERBS or info.subresource in _LONG_SUBRESOURCES)


def mutating(info: RequestInfo | None) -> bool:
    """True if the mutating limit applies to the request."""
    return not (info is not None and info.verb in _READING)


class InFlightCount:
    """Number of requests in flight by the key "mutating": False or True."""

    __slots__ = ("current", "peak", "refused")

    def __init__(self) -> None:
        self.current = {False: 0, True: 0}
        #: Rejected requests, by the same key.
        self.refused = {False: 0, True: 0}
        #: Highest count since the last reset, by the same key.
        self.peak = {False: 0, True: 0}

    @property
    def busy(self) -> bool:
        """True if any request is in flight."""
        return any(self.current.values())

    def begin(self, half: bool) -> None:
        now = self.current[half] = self.current[half] + 1
        if now > self.peak[half]:
            self.peak[half] = now

    def end(self, half: bool) -> None:
        self.current[half] -= 1


def too_many() -> Response:
    """The reference's plain-text 429 response."""
    return Response(
        code=429,
        content_type="text/plain; charset=utf-8",
        headers=[("Retry-After", "1"), ("X-Content-Type-Options", "nosniff")],
        body=b"Too many requests, please try again later.\n",
    )


class InFlight:
    """The two limits without priority and fairness (--enable-priority-and-fairness=false). 0 means unlimited."""

    def __init__(self, underway: InFlightCount, *, reading: int, changing: int) -> None:
        self._underway = underway
        self._limits = {False: reading, True: changing}

    async def __call__(self, request: Request, then: Next) -> Response:
        if long_running(request.info):
            return await then(request)
        half, underway = mutating(request.info), self._underway
        limit = self._limits[half]
        exempt = request.user is not None and MASTERS_GROUP in request.user.groups
        if limit and underway.current[half] >= limit and not exempt:
            underway.refused[half] += 1
            return too_many()
        underway.begin(half)
        try:
            return await then(request)
        finally:
            underway.end(half)
