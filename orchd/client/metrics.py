"""Metrics of the requests of the clients of one process, under the reference's names."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from orchd.client.requests import Call
from orchd.txkit.metrics.instruments import Counter, Distribution, ObservedGauge

#: Bounds of the histograms, in seconds.
_SECONDS: Final = tuple(0.001 * 2**power for power in range(10))
#: Bounds of the ages of certificates, in seconds: from ten minutes to four years.
_AGES: Final = (600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000)
#: Maximum number of series of a histogram; more would indicate a defect, since verbs and resources are few.
_MOST_SERIES: Final = 5000
_PLUGIN: Final = "rest_client_exec_plugin_"


class RequestMetrics:
    """Requests and their waits for the throttle, and calls of exec plugins. `wall` returns seconds since the epoch."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self.results = Counter(
            "rest_client_requests_total", "HTTP requests by status code, method and host.", ("code", "method", "host")
        )
        self._seconds = Distribution(
            "rest_client_request_duration_seconds",
            "Seconds from a request to the head of its response, by verb and URL.",
            _SECONDS,
            ("verb", "url"),
            _MOST_SERIES,
        )
        self._waits = Distribution(
            "rest_client_rate_limiter_duration_seconds",
            "Seconds that requests waited for their turn, by verb and URL.",
            _SECONDS,
            ("verb", "url"),
            _MOST_SERIES,
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
        self.instruments = (self.results, self._seconds, self._waits, self.plugin_calls, expiry, self.plugin_rotations)

    def observe_request(self, call: Call, server: str, seconds: float) -> None:
        """Record the duration of a request to the URL `server`."""
        self._seconds.observe(seconds, call.method, server + template(call.path))

    def observe_wait(self, call: Call, server: str, seconds: float) -> None:
        """Record the time that a request waited for the throttle."""
        self._waits.observe(seconds, call.method, server + template(call.path))


def template(path: str) -> str:
    """A path with placeholders for namespace and name."""
    parts = path.split("/")
    # "", api, v1, ... or "", apis, group, version, ...
    at = 3 if parts[1:2] == ["api"] else 4
    if parts[at : at + 1] == ["namespaces"]:
        # The namespaces themselves are resources, too: /api/v1/namespaces/a and /api/v1/namespaces/a/status.
        if len(parts) == at + 2 or parts[at + 2 :] in (["status"], ["finalize"]):
            parts[at + 1] = "{name}"
            return "/".join(parts)
        if len(parts) > at + 2:
            parts[at + 1] = "{namespace}"
            at += 2
    if len(parts) > at + 1:
        parts[at + 1] = "{name}"
    return "/".join(parts)
