"""In-flight limits: so many requests at a time, the others are told to come back (specification, "Max in flight").

Long-running requests (watches, streams to pods) are not counted; neither are members of system:masters.
"""

from __future__ import annotations

from collections.abc import Callable

from orchd import errors
from orchd.kinds.identity import MASTERS_GROUP
from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response

_LONG_VERBS = frozenset(("watch", "proxy"))
_LONG_SUBRESOURCES = frozenset(("attach", "exec", "log", "portforward", "proxy"))
_READING = frozenset(("get", "list", "watch"))


def long_running(info: RequestInfo | None) -> bool:
    """Is this a request that may last as long as its client likes?"""
    return info is not None and info.is_resource and (info.verb in _LONG_VERBS or info.subresource in _LONG_SUBRESOURCES)


def mutating(info: RequestInfo | None) -> bool:
    """Does the request belong to the mutating half of the limits?"""
    return not (info is not None and info.verb in _READING)


class InFlight:
    """Counts requests under way. A limit of 0 means no limit."""

    def __init__(self, *, reading: int, changing: int, rejected: Callable[[str], None] = lambda kind: None) -> None:
        self._limits = {False: reading, True: changing}
        self.current = {False: 0, True: 0}
        #: Highest number seen since it was last asked for, per half.
        self.peak = {False: 0, True: 0}
        self._rejected = rejected

    async def __call__(self, request: Request, then: Next) -> Response:
        if long_running(request.info):
            return await then(request)
        half = mutating(request.info)
        limit = self._limits[half]
        exempt = request.user is not None and MASTERS_GROUP in request.user.groups
        if limit and self.current[half] >= limit and not exempt:
            self._rejected("mutating" if half else "readOnly")
            raise errors.too_many_requests("too many requests, please try again later")
        now = self.current[half] = self.current[half] + 1
        if now > self.peak[half]:
            self.peak[half] = now
        try:
            return await then(request)
        finally:
            self.current[half] -= 1
