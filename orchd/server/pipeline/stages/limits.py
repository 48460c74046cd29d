"""In-flight limits: excess requests are rejected with Retry-After (specification, "Max in flight").

Long-running requests (watches, streams to pods) are not counted; neither are members of system:masters.
"""

from __future__ import annotations

from collections.abc import Callable

from orchd.kinds.users import MASTERS_GROUP
from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response
from orchd.server.pipeline.observed_stream import ObservedStream
from orchd.txkit.metrics.instruments import ObservedCounter, ObservedGauge

_LONG_VERBS = frozenset(("watch", "proxy"))
#: Subresources whose requests have no time limit.
LONG_SUBRESOURCES = frozenset(("attach", "exec", "log", "portforward", "proxy"))
_READING = frozenset(("get", "list", "watch"))
#: Label values of requests by the key "mutating".
_KINDS = ((True, "mutating"), (False, "readOnly"))


def long_running(info: RequestInfo | None) -> bool:
    """True for requests without a time limit, such as watches."""
    return info is not None and info.is_resource and (info.verb in _LONG_VERBS or info.subresource in LONG_SUBRESOURCES)


def mutating(info: RequestInfo | None) -> bool:
    """True if the mutating limit applies to the request."""
    return not (info is not None and info.verb in _READING)


class PeakCount:
    """A count, and the highest value since it was last read. `high` and `low` are the extremes since `read_watermarks`,
    which another reader calls."""

    __slots__ = ("_peak", "current", "high", "low")

    def __init__(self) -> None:
        self.current = self.high = self.low = 0
        self._peak = 0

    def add(self) -> None:
        self.current += 1
        if self.current > self._peak:
            self._peak = self.current
        if self.current > self.high:
            self.high = self.current

    def remove(self) -> None:
        self.current -= 1
        if self.current < self.low:
            self.low = self.current

    def read_watermarks(self) -> tuple[int, int]:
        """The highest and the lowest value since the last call."""
        watermarks = self.high, self.low
        self.high = self.low = self.current
        return watermarks

    def read_peak(self) -> int:
        """The highest value since the last call."""
        peak, self._peak = self._peak, self.current
        return peak


class InFlightCount:
    """Number of requests that execute, wait in queues, and were rejected, each by the key "mutating": False or True."""

    __slots__ = ("executing", "instruments", "queued", "rejected")

    def __init__(self) -> None:
        self.executing = {False: PeakCount(), True: PeakCount()}
        self.queued = {False: PeakCount(), True: PeakCount()}
        self.rejected = {False: 0, True: 0}
        label = ("request_kind",)
        self.instruments = (
            ObservedGauge(
                "apiserver_current_inflight_requests",
                "Maximum number of requests in flight since the last scrape.",
                lambda: {(kind,): float(self.executing[half].read_peak()) for half, kind in _KINDS},
                label,
            ),
            ObservedGauge(
                "apiserver_current_inqueue_requests",
                "Maximum number of requests that waited in queues since the last scrape.",
                lambda: {(kind,): float(self.queued[half].read_peak()) for half, kind in _KINDS},
                label,
            ),
            ObservedCounter(
                "apiserver_dropped_requests_total",
                "Requests rejected because of the in-flight limits.",
                lambda: {(kind,): float(self.rejected[half]) for half, kind in _KINDS},
                label,
            ),
        )

    @property
    def busy(self) -> bool:
        """True if any request executes."""
        return any(count.current for count in self.executing.values())


def too_many(request: Request) -> Response:
    """The reference's plain-text 429 response to `request`, which counts as terminated."""
    request.trace.terminated = True
    return Response(
        code=429,
        content_type="text/plain; charset=utf-8",
        headers=[("Retry-After", "1"), ("X-Content-Type-Options", "nosniff")],
        body=b"Too many requests, please try again later.\n",
    )


async def until_sent(request: Request, then: Next, ended: Callable[[], None]) -> Response:
    """The response of the rest of the pipeline. `ended` is called when the request is no more in flight: when a
    streamed response, except for a watch, has been sent or given up, else when there is a response or a failure."""
    try:
        response = await then(request)
    except BaseException:
        ended()
        raise
    if response.stream is None or (request.info is not None and request.info.verb == "watch"):
        ended()
    else:
        response.stream = ObservedStream(response.stream, ended)
    return response


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
        if limit and underway.executing[half].current >= limit and not exempt:
            underway.rejected[half] += 1
            return too_many(request)
        underway.executing[half].add()
        return await until_sent(request, then, underway.executing[half].remove)
