"""Request counters and durations, in plain numbers for low overhead; collected on each scrape."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from twisted.internet.defer import CancelledError

from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response, size_of
from orchd.server.pipeline.observed_stream import ObservedStream, ObservedTakeover
from orchd.server.pipeline.stages.limits import LONG_SUBRESOURCES, long_running
from orchd.txkit.metrics.histogram import Histogram

K = TypeVar("K")

#: Bucket upper bounds in seconds of durations without webhooks, and of durations until `DURATIONS` adds others.
SECONDS: Final = (
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
#: Bucket upper bounds in seconds of durations of requests, by the release that begins them.
DURATIONS: Final[tuple[tuple[str, tuple[float, ...]], ...]] = (("", SECONDS), ("1.24", (0.005, 0.025, *SECONDS)))
#: Bucket upper bounds in bytes of apiserver_response_sizes.
SIZE_BUCKETS = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
#: Bucket upper bounds in bytes of apiserver_request_body_size_bytes.
BODY_BUCKETS: Final = tuple(50_000.0 + 100_000 * n for n in range(31))
#: Subresources whose requests have the verb CONNECT, by the release that begins them.
CONNECTED: Final[tuple[tuple[str, frozenset[str]], ...]] = (("", frozenset()), ("1.30", LONG_SUBRESOURCES))
#: Verbs whose bodies are measured, and how that metric names them.
_BODIES: Final = {
    "create": "create", "update": "update", "patch": "patch", "delete": "delete",
    "deletecollection": "delete_collection",
}  # fmt: skip
#: Maximum number of label combinations; further requests are counted with empty labels.
_MOST = 4000


class Labels(NamedTuple):
    """The labels of request metrics, as in the reference."""

    verb: str
    dry_run: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str


class Series:
    """Metrics of the requests with the same labels. `running` counts long-running requests, `terminations` requests
    that the server ended to protect itself, by code, and `aborts` requests whose client disconnected. `webhooks` is
    what to add to the counts and the sum of `duration` for durations without the time of webhooks."""

    __slots__ = ("aborts", "bounds", "codes", "duration", "running", "sizes", "terminations", "webhooks")

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are those of durations (`DURATIONS`)."""
        self.bounds = bounds
        self.codes: dict[int, int] = {}
        self.duration = Histogram(bounds)
        self.sizes = Histogram(SIZE_BUCKETS)
        self.running = 0
        self.terminations: dict[int, int] = {}
        self.aborts = 0
        self.webhooks: Histogram | None = None

    def subtract(self, seconds: float, webhooks: float) -> None:
        """Record that a request of `seconds` spent `webhooks` seconds in webhooks."""
        if self.webhooks is None:
            self.webhooks = Histogram(self.bounds)
        counts = self.webhooks.counts
        counts[bisect_left(self.bounds, seconds)] -= 1
        counts[bisect_left(self.bounds, seconds - webhooks)] += 1
        self.webhooks.sum -= webhooks


def _remove(series: dict[K, Any], gone: Callable[[K], bool]) -> None:
    """Remove the items whose keys are `gone`. Instruments read the dictionary itself."""
    for key in [key for key in series if gone(key)]:
        del series[key]


def scope_of(info: RequestInfo) -> str:
    """resource, namespace or cluster, as the reference labels requests."""
    if info.name or info.verb == "create":
        return "resource"
    return "namespace" if info.namespace else "cluster"


def _labels(request: Request, served: Callable[[RequestInfo], bool], connected: Collection[str]) -> Labels:
    info = request.info
    assert info is not None
    dry_run = "All" if request.param("dryRun") == "All" else ""
    if not info.is_resource or not served(info):
        return Labels(
            _METHODS.get(request.method, "other"), dry_run, "", "", "", info.path if info.path in _KNOWN else "", ""
        )
    verb = _VERBS.get(info.verb) or _METHODS.get(request.method, "other")
    if verb == "PATCH" and request.header("content-type") == _APPLY:
        verb = "APPLY"
    if info.subresource in connected:
        verb = "CONNECT"
    return Labels(verb, dry_run, info.group, info.version, info.resource, info.subresource, scope_of(info))


_VERBS = {
    "get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETE",
}  # fmt: skip
#: Verbs of other requests, by method.
_METHODS = {method: method for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "CONNECT")} | {"HEAD": "GET"}
#: Verbs whose response sizes are recorded.
_READS = frozenset(("GET", "LIST"))
_APPLY = "application/apply-patch+yaml"
#: Paths that are valid label values; a fixed set bounds the cardinality.
_KNOWN = frozenset(("/healthz", "/livez", "/readyz", "/metrics", "/version", "/openapi/v2", "/api", "/apis"))


class RequestMetrics:
    """The request metrics stage. `clock` is monotonic; requests that are not `served` share labels, to bound the
    cardinality. `own_user` is the name of the server's own user, whose requests are counted apart as well. `bounds` are
    those of durations, and the verb of requests to `connected` subresources is CONNECT."""

    def __init__(
        self,
        clock: Callable[[], float],
        served: Callable[[RequestInfo], bool] = lambda info: True,
        own_user: str = "",
        bounds: Sequence[float] = SECONDS,
        connected: Collection[str] = (),
    ) -> None:
        self._clock = clock
        self.bounds = bounds
        self._connected = connected
        self._served = served
        self._own_user = own_user
        self.series: dict[Labels, Series] = {}
        self._series_cache: dict[tuple[str | bool, ...], tuple[Labels, Series]] = {}
        #: Sizes of bodies by group, resource and verb.
        self.bodies: dict[tuple[str, ...], Histogram] = {}
        #: Requests of the server to itself, by verb, group, resource and subresource.
        self.own: dict[tuple[str, ...], float] = {}

    def reset(self) -> None:
        """Forget all series. Requests that run are counted when they end, and no longer as running."""
        self.series.clear()
        self._series_cache.clear()
        self.bodies.clear()
        self.own.clear()

    def forget(self, group: str, version: str, resource: str) -> None:
        """Forget the series of a resource that is no longer served in a version. Requests that run are counted as those
        for what is not served when they end."""
        gone = group, version, resource
        _remove(self.series, lambda labels: labels[2:5] == gone)
        _remove(self._series_cache, lambda key: key[1:4] == gone)
        if not any((labels.group, labels.resource) == (group, resource) for labels in self.series):
            _remove(self.bodies, lambda key: key[:2] == (group, resource))
            _remove(self.own, lambda key: key[1:3] == (group, resource))

    def series_of(self, request: Request) -> Series:
        return self._labels_and_series(request)[1]

    def _labels_and_series(self, request: Request) -> tuple[Labels, Series]:
        """Labels and series of a request."""
        info = request.info
        assert info is not None
        # Labels follow from these; a patch also has a content type.
        key = (
            info.verb, info.group, info.version, info.resource, info.subresource, not info.name, not info.namespace,
            request.param("dryRun") == "All",
        )  # fmt: skip
        entry = self._series_cache.get(key)
        if entry is None:
            labels = _labels(request, self._served, self._connected)
            entry = labels, self._series(labels)
            # Only labels of what is served: the number of other requests is not bounded.
            if labels.resource and info.verb != "patch" and len(self._series_cache) < _MOST:
                self._series_cache[key] = entry
        return entry

    def _series(self, labels: Labels) -> Series:
        series = self.series.get(labels)
        if series is None:
            if len(self.series) >= _MOST:
                labels = Labels("", "", "", "", "", "", "")
            series = self.series.setdefault(labels, Series(self.bounds))
        return series

    async def __call__(self, request: Request, then: Next) -> Response:
        begin = self._clock()
        lasting = self._begin(request) if long_running(request.info) else None
        if request.hijack is not None and "upgrade" in request.headers:
            self._observe_takeover(request, lasting or self.series_of(request))
        try:
            response = await then(request)
        except CancelledError:
            self.series_of(request).aborts += 1
            if lasting is not None:
                lasting.running -= 1
            raise
        labels, series = self._labels_and_series(request)
        code = response.code
        series.codes[code] = series.codes.get(code, 0) + 1
        if request.trace.terminated:
            series.terminations[code] = series.terminations.get(code, 0) + 1
        if request.user is not None and request.user.name == self._own_user:
            own = labels.verb, labels.group, labels.resource, labels.subresource
            self.own[own] = self.own.get(own, 0) + 1
        if response.stream is None:
            seconds = self._clock() - begin
            series.duration.observe(self.bounds, seconds)
            if labels.verb in _READS:
                series.sizes.observe(SIZE_BUCKETS, size_of(response.body))
            else:
                self._observe_body(request, labels)
            if request.trace.webhook_seconds:
                series.subtract(seconds, min(seconds, request.trace.webhook_seconds))
            if lasting is not None:
                lasting.running -= 1
        elif lasting is not None:
            response.stream = ObservedStream(response.stream, lambda: self._end_stream(lasting, begin))
        return response

    def _observe_body(self, request: Request, labels: Labels) -> None:
        """Record the size of the body of a request that writes a served resource, if it was read."""
        size = request.trace.read_bytes
        if labels.resource and size is not None and request.info is not None:
            key = labels.group, labels.resource, _BODIES.get(request.info.verb, "")
            histogram = self.bodies.get(key)
            if histogram is None:
                histogram = self.bodies[key] = Histogram(BODY_BUCKETS)
            histogram.observe(BODY_BUCKETS, size)

    def _begin(self, request: Request) -> Series:
        series = self.series_of(request)
        series.running += 1
        return series

    def _observe_takeover(self, request: Request, series: Series) -> None:
        """Count a request that takes over its connection as long-running until the connection ends."""
        hijack = request.hijack
        assert hijack is not None

        def begin() -> None:
            # The response of such a request is not sent: it ends nothing.
            series.running += 1

        request.hijack = lambda: ObservedTakeover(hijack(), begin, lambda: self._end(series))

    def _end_stream(self, series: Series, begin: float) -> None:
        """Count a watch, or another lasting response, when it ends."""
        series.duration.observe(self.bounds, self._clock() - begin)
        self._end(series)

    @staticmethod
    def _end(series: Series) -> None:
        series.running -= 1
