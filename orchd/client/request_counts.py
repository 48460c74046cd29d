"""Counters and histograms of the requests of the clients of one process."""

from __future__ import annotations

from collections import Counter
from typing import Final

from orchd.client.requests import Call
from orchd.txkit.histogram import Histogram

#: Bounds of the histograms, in seconds.
DURATIONS: Final = tuple(0.001 * 2**power for power in range(10))
#: Bounds of the ages of certificates, in seconds: from ten minutes to four years.
ROTATIONS: Final = (600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000)
#: Maximum number of series of a histogram; more would indicate a defect, since verbs and resources are few.
_MOST_SERIES: Final = 5000


class RequestCounts:
    """`results` by (code, method, host); durations and waits of the throttle by (verb, URL with placeholders).
    `plugin_calls` by (exit code, status) of exec plugins; `plugin_expiries` are the ends of the certificates that they gave, in
    seconds since the epoch, and `plugin_rotations` the ages in seconds at which certificates were replaced."""

    def __init__(self) -> None:
        self.results: Counter[tuple[str, str, str]] = Counter()
        self.durations: dict[tuple[str, str], Histogram] = {}
        self.waits: dict[tuple[str, str], Histogram] = {}
        self.plugin_calls: Counter[tuple[str, str]] = Counter()
        self.plugin_expiries: dict[int, float] = {}
        self.plugin_rotations = Histogram(ROTATIONS)

    def observe(self, kind: dict[tuple[str, str], Histogram], call: Call, server: str, seconds: float) -> None:
        """Add to one of the histograms."""
        labels = (call.method, server + template(call.path))
        found = kind.get(labels)
        if found is None:
            if len(kind) >= _MOST_SERIES:
                return
            found = kind[labels] = Histogram(DURATIONS)
        found.observe(DURATIONS, seconds)


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
