"""Request counters and durations, in plain numbers for low overhead; collected on each scrape."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response, size_of
from orchd.txkit.histogram import Histogram

#: Bucket upper bounds in seconds of apiserver_request_duration_seconds.
DURATION_BUCKETS = (
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0,
    3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)
#: Bucket upper bounds in bytes of apiserver_response_sizes.
SIZE_BUCKETS = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
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
    """Metrics of the requests with the same labels."""

    __slots__ = ("codes", "duration", "sizes", "watching")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.duration = Histogram(DURATION_BUCKETS)
        self.sizes = Histogram(SIZE_BUCKETS)
        self.watching = 0


def scope_of(info: RequestInfo) -> str:
    """resource, namespace or cluster, as the reference labels requests."""
    if info.name:
        return "resource"
    return "namespace" if info.namespace else "cluster"


def _labels(request: Request, served: Callable[[RequestInfo], bool]) -> Labels:
    info = request.info
    assert info is not None
    dry_run = "All" if request.param("dryRun") == "All" else ""
    if not info.is_resource or not served(info):
        return Labels(request.method, dry_run, "", "", "", info.path if info.path in _KNOWN else "", "")
    verb = info.verb.upper() if info.verb in _PLAIN else _WORDS.get(info.verb, info.verb.upper())
    return Labels(verb, dry_run, info.group, info.version, info.resource, info.subresource, scope_of(info))


_PLAIN = frozenset(("get", "list", "watch", "patch", "delete", "deletecollection"))
_WORDS = {"create": "POST", "update": "PUT"}
#: Paths that are valid label values; a fixed set bounds the cardinality.
_KNOWN = frozenset(("/healthz", "/livez", "/readyz", "/metrics", "/version", "/openapi/v2", "/api", "/apis"))


class RequestMetrics:
    """The request metrics stage. `clock` is monotonic; requests that are not `served` share labels, to bound the
    cardinality."""

    def __init__(self, clock: Callable[[], float], served: Callable[[RequestInfo], bool] = lambda info: True) -> None:
        self._clock = clock
        self._served = served
        self.series: dict[Labels, Series] = {}

    def series_of(self, request: Request) -> Series:
        labels = _labels(request, self._served)
        found = self.series.get(labels)
        if found is None:
            if len(self.series) >= _MOST:
                labels = Labels("", "", "", "", "", "", "")
            found = self.series.setdefault(labels, Series())
        return found

    async def __call__(self, request: Request, then: Next) -> Response:
        begin = self._clock()
        response = await then(request)
        series = self.series_of(request)
        series.codes[response.code] = series.codes.get(response.code, 0) + 1
        if response.stream is None:
            series.duration.observe(DURATION_BUCKETS, self._clock() - begin)
            series.sizes.observe(SIZE_BUCKETS, size_of(response.body))
        return response
