"""The plots of the page, as rows: the metrics that they show, and how those become series. Titles and units are the
page's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

#: How values of several processes become one: added up, the largest one, or a series for each process.
SUM, MAX, EACH = "sum", "max", "each"
#: The name of the one series of plots that have a series for each process, in a server of one process.
WHOLE: Final = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A metric in the plot `name`: its values, added up by the value of `label`, which is the name of the series after
    `prefix`; without `label` they are one series, `series`. `only` selects values of the label. With `rate` the values
    are those per second."""

    name: str
    metric: str
    label: str = ""
    series: str = WHOLE
    prefix: str = ""
    only: Callable[[str], bool] = bool
    rate: bool = False


_REQUESTS, _FLOW = "apiserver_request_total", "apiserver_flowcontrol_current_"
PLOTS: Final = (
    Plot(name="requests", metric=_REQUESTS, label="verb", rate=True),
    Plot(name="errors", metric=_REQUESTS, label="code", only=lambda code: code >= "400", rate=True),
    Plot(name="queues", metric=f"{_FLOW}executing_requests", label="priority_level"),
    Plot(name="queues", metric=f"{_FLOW}inqueue_requests", label="priority_level", prefix="waiting: "),
    Plot(name="workqueues", metric="workqueue_depth", label="name"),
    Plot(name="pending", metric="scheduler_pending_pods", label="queue"),
    Plot(name="store", metric="orchd_store_file_bytes", series="store"),
    Plot(name="store", metric="orchd_cache_window_bytes", series="history of watches"),
    Plot(name="writes", metric="orchd_store_writes_total", rate=True),
    Plot(name="objects", metric="apiserver_storage_objects", label="resource"),
    Plot(name="watchers", metric="orchd_cache_watchers", label="resource"),
)
#: The plots of the process itself.
MEMORY, CPU = "memory", "cpu"
#: The plot of request durations. Its values are numbers of requests by the upper bound of a bucket, in seconds, since
#: the sample before; the page makes quantiles of them.
LATENCY: Final = "latency"
#: The metric behind `LATENCY`, and the verbs whose duration is that of a connection.
DURATIONS, LONG = "apiserver_request_duration_seconds", frozenset(("WATCH", "CONNECT", "PROXY"))
#: How a plot is joined, by its name, if it is not by the sum.
JOINED: Final[Mapping[str, str]] = {"store": MAX, "objects": MAX, "writes": EACH, MEMORY: EACH, CPU: EACH}
