"""/metrics/slis: the results of health checks as metrics, for the availability of a component over time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric

from orchd.dialect import Dialect
from orchd.kinds.release import Release
from orchd.server.pipeline.endpoints.exposition import pieces
from orchd.server.pipeline.endpoints.metrics import CONTENT_TYPES, reset_response
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.metrics.instruments import Counter, Gauge, reset

#: The release that added the endpoint.
SINCE: Final = "1.26"
PATH: Final = "/metrics/slis"


class HealthMetrics:
    """Counts the results of health checks by name, endpoint and result."""

    def __init__(self, dialect: Dialect) -> None:
        self._last = Gauge(
            dialect("{long}_healthcheck"), "Whether a health check passed when it ran last.", ("name", "type")
        )
        self._results = Counter(
            dialect("{long}_healthchecks_total"), "Number of health checks by result.", ("name", "type", "status")
        )
        self._process = ProcessCollector(registry=None)

    def observe(self, check: str, endpoint: str, healthy: bool) -> None:
        self._last.set(float(healthy), check, endpoint)
        self._results.add(check, endpoint, "success" if healthy else "error")

    def endpoints(self, release: Release, *, resettable: bool) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        """The endpoint by its path, if `release` has it. If `resettable`, DELETE forgets all results."""

        async def respond(request: Request) -> Response:
            if resettable and request.method == "DELETE":
                reset((self._last, self._results))
                return reset_response()
            content_type = release.choose(CONTENT_TYPES)
            return Response(content_type=content_type, headers=[NO_STORE], body=list(pieces(self._families())))

        return {PATH: respond} if release.includes(SINCE) else {}

    def _families(self) -> Iterator[Metric]:
        yield self._last.family()
        yield self._results.family()
        yield from (each for each in self._process.collect() if each.name == "process_start_time_seconds")
