"""Metrics of the requests of the clients of one process, under the reference's names."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from orchd.client.requests import Call
from orchd.kinds.release import SPECIFICATION, Release
from orchd.txkit.metrics.instruments import Counter, Distribution, Instrument, ObservedGauge

#: Bounds of the histograms, in seconds.
_SECONDS: Final = tuple(0.001 * 2**power for power in range(10))
#: Bounds, and labels of durations, by the release that begins them: the URL, or the host alone.
_DURATIONS: Final[tuple[tuple[str, tuple[tuple[float, ...], str]], ...]] = (
    ("", (_SECONDS, "url")),
    ("1.29", ((0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0), "host")),
)
#: Bounds of sizes in bytes, and the first release that has them.
_SIZES: Final = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
_SIZES_SINCE: Final = "1.26"
#: Bounds of the ages of certificates, in seconds: from ten minutes to four years.
_AGES: Final = (600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000)
#: Maximum number of series of a histogram; more would indicate a defect, since verbs and resources are few.
_MOST_SERIES: Final = 5000
_PLUGIN: Final = "rest_client_exec_plugin_"


class RequestMetrics:
    """Requests and their waits for the throttle, and calls of exec plugins, as clients of a release count them. `wall`
    returns seconds since the epoch."""

    def __init__(self, wall: Callable[[], float] = time.time, release: Release = SPECIFICATION) -> None:
        bounds, place = release.choose(_DURATIONS)
        self._by_host, where = place == "host", place.replace("url", "URL")
        self.results = Counter(
            "rest_client_requests_total", "HTTP requests by status code, method and host.", ("code", "method", "host")
        )
        self._seconds = Distribution(
            "rest_client_request_duration_seconds",
            f"Seconds from a request to the head of its response, by verb and {where}.",
            bounds,
            ("verb", place),
            _MOST_SERIES,
        )
        self._waits = Distribution(
            "rest_client_rate_limiter_duration_seconds",
            f"Seconds that requests waited for their turn, by verb and {where}.",
            bounds,
            ("verb", place),
            _MOST_SERIES,
        )
        self._sent, self._received = (
            Distribution(
                f"rest_client_{what}_size_bytes", f"Size of the body of a {what} in bytes.", _SIZES, ("verb", "host")
            )
            for what in ("request", "response")
        )
        self._repeated = Counter(
            "rest_client_request_retries_total",
            "Requests that were repeated, by the status code of the response before.",
            ("code", "verb", "host"),
        )
        self.plugin_calls = Counter(
            f"{_PLUGIN}call_total", "Calls of exec plugins by exit code and status.", ("code", "call_status")
        )
        #: The ends of the certificates that exec plugins gave, in seconds since the epoch, by plugin.
        self.plugin_expiries: dict[int, float] = {}
        self.plugin_rotations = Distribution(
            f"{_PLUGIN}certificate_rotation_age",
            "Age in seconds at which certificates of exec plugins were replaced.",
            _AGES,
        )
        expiry = ObservedGauge(
            f"{_PLUGIN}ttl_seconds",
            "Seconds until the first certificate of an exec plugin expires, negative afterwards; +Inf without "
            "certificates.",
            lambda: min(self.plugin_expiries.values(), default=math.inf) - wall(),
        )
        self.instruments: tuple[Instrument, ...] = (
            self.results,
            self._seconds,
            self._waits,
            self.plugin_calls,
            expiry,
            self.plugin_rotations,
            *((self._sent, self._received, self._repeated) if release.includes(_SIZES_SINCE) else ()),
        )

    def observe_request(self, call: Call, server: str, seconds: float) -> None:
        """Record the duration of a request to the URL `server`."""
        self._seconds.observe(seconds, call.method, self._place(call, server))

    def observe_sizes(self, call: Call, server: str, sent: int, received: int | None) -> None:
        """Record the bytes of the bodies of a request and of its response; None if these are not known."""
        host = urlsplit(server).netloc
        self._sent.observe(sent, call.method, host)
        if received is not None:
            self._received.observe(received, call.method, host)

    def count_repeated(self, call: Call, server: str, code: int) -> None:
        """Count a request that is repeated after a response with a status code."""
        self._repeated.add(str(code), call.method, urlsplit(server).netloc)

    def observe_wait(self, call: Call, server: str, seconds: float) -> None:
        """Record the time that a request waited for the throttle."""
        self._waits.observe(seconds, call.method, self._place(call, server))

    def _place(self, call: Call, server: str) -> str:
        """The value of the label for where a request goes."""
        return urlsplit(server).netloc if self._by_host else server + template(call.path)


def template(path: str) -> str:
    """A path with placeholders for namespace and name."""
    parts = path.split("/")
    # "", api, v1, ... or "", apis, group, version, ...
    at = 3 if parts[1:2] == ["api"] else 4
    # The namespaces themselves are resources, too: /api/v1/namespaces/a and /api/v1/namespaces/a/status.
    if parts[at : at + 1] == ["namespaces"] and parts[at + 2 :] not in ([], ["status"], ["finalize"]):
        parts[at + 1] = "{namespace}"
        at += 2
    if len(parts) > at + 1:
        parts[at + 1] = "{name}"
    return "/".join(parts)
