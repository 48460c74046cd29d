"""The samples of metrics that the page plots."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from twisted.internet.task import Clock

from orchd.errors import ApiError
from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline.interfaces import Request, whole
from orchd.server.pipeline.query import Query
from orchd.server.ui.metric_history import INTERVAL, MetricHistory, join
from orchd.testing.doubles.server import BytesBody, run
from orchd.txkit.metrics.instruments import Counter, Distribution, Gauge

#: A time between two samples.
BEGIN = 1_800_000_003.0


class Server:
    """A history of some metrics that tests change, on a clock of their own."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.requests = Counter("apiserver_request_total", "", ("verb", "code"))
        self.depths = Gauge("workqueue_depth", "", ("name",))
        self.durations = Distribution("apiserver_request_duration_seconds", "", (0.1, 1.0), ("verb",))
        instruments = (self.requests, self.depths, self.durations)
        self.history = MetricHistory(lambda: instruments, self.clock, lambda: BEGIN + self.clock.seconds())
        run(self.history.start())

    def samples(self, after: int = 0) -> list[Any]:
        return [orjson.loads(each) for each in self.history.since(after)]

    def ask(self, method: str = "GET", **query: str) -> Any:
        request = Request(
            method=method, path="/debug/metrics", raw_path="/debug/metrics",
            query=Query({name: (value,) for name, value in query.items()}), headers={}, body=BytesBody(b""),
            credentials=Credentials(headers={}, remote="127.0.0.1"), received=0.0, user=None,
        )  # fmt: skip
        return orjson.loads(whole(run(self.history.respond(request)).body))


@pytest.fixture
def server() -> Server:
    return Server()


def test_samples_are_taken_at_multiples_of_the_interval(server: Server) -> None:
    """The first sample is that of the next multiple of five seconds."""
    server.clock.advance(1.9)
    assert server.samples() == []
    server.clock.advance(0.1)
    # A reactor that was blocked is late.
    server.clock.advance(8)
    server.clock.advance(2)
    assert [each["at"] for each in server.samples()] == [1_800_000_005_000, 1_800_000_010_000, 1_800_000_015_000]
    assert [each["at"] for each in server.samples(1_800_000_010_000)] == [1_800_000_015_000]


def test_counters_are_rates_since_the_last_sample(server: Server) -> None:
    """Requests per second by verb, and errors by code; gauges are as they are."""
    server.requests.add("GET", "200", by=100.0)
    server.clock.advance(2)
    server.requests.add("GET", "200", by=10.0)
    server.requests.add("GET", "404", by=5.0)
    server.depths.set(7.0, "job")
    server.clock.advance(INTERVAL)
    plots = server.samples()[-1]["plots"]
    assert plots["requests"] == {"GET": 3.0}
    assert plots["errors"] == {"404": 1.0}
    assert plots["workqueues"] == {"job": 7.0}
    assert plots["memory"]["server"] > 1e6


def test_durations_are_counts_by_bucket_without_watches(server: Server) -> None:
    """Requests since the last sample by the upper bound of their bucket; no plot without requests."""
    server.clock.advance(2)
    assert "latency" not in server.samples()[-1]["plots"]
    server.durations.observe(0.5, "GET")
    server.durations.observe(50.0, "LIST")
    server.durations.observe(50.0, "WATCH")
    server.clock.advance(INTERVAL)
    assert server.samples()[-1]["plots"]["latency"] == {"0.1": 0.0, "1": 1.0, "+Inf": 1.0}


def test_memory_of_the_samples_is_bounded(server: Server) -> None:
    """The last ten minutes, with the twelve largest series of each plot."""
    for number in range(1000):
        server.depths.set(float(number), f"queue-{number:04}")
    for _ in range(200):
        server.clock.advance(INTERVAL)
    samples = server.samples()
    assert len(samples) == 120
    assert list(samples[-1]["plots"]["workqueues"]) == [f"queue-{number:04}" for number in range(999, 987, -1)]


def test_endpoint_answers_with_what_is_new(server: Server) -> None:
    """The parameter `after` is the time of the last sample that the client has; other methods and values are
    refused."""
    server.clock.advance(2)
    server.clock.advance(INTERVAL)
    assert server.ask()["interval"] == INTERVAL
    assert len(server.ask()["samples"]) == 2
    assert [each["at"] for each in server.ask(after="1800000005000")["samples"]] == [1_800_000_010_000]
    for query in ({"after": "x"}, {"after": "-1"}, {"after": "9" * 5000}):
        with pytest.raises(ApiError, match="after: must be a time in milliseconds"):
            server.ask(**query)
    with pytest.raises(ApiError) as refused:
        server.ask("POST")
    assert refused.value.code == 405


def test_stopped_history_leaves_no_delayed_call(server: Server) -> None:
    run(server.history.stop())
    assert server.clock.getDelayedCalls() == []


def _sample(at: int, **plots: dict[str, float]) -> bytes:
    return orjson.dumps({"at": at, "plots": plots})


def test_processes_of_a_server_are_joined_by_time() -> None:
    """Requests are added up, numbers of objects are those of the process that has most, memory has a series for each
    process."""
    joined = join(
        {
            "1": [_sample(5, requests={"GET": 1.0}, objects={"pods": 4.0}, memory={"server": 10.0})],
            "2": [_sample(5, requests={"GET": 2.0, "PUT": 1.0}, objects={"pods": 5.0}, memory={"server": 20.0})],
        }
    )
    assert [orjson.loads(each) for each in joined] == [
        {
            "at": 5,
            "plots": {"requests": {"GET": 3.0, "PUT": 1.0}, "objects": {"pods": 5.0}, "memory": {"1": 10.0, "2": 20.0}},
        }
    ]


def test_times_that_a_process_has_not_sampled_yet_wait() -> None:
    """A sum without one of the processes would be a dip that was none. A process that has no samples delays nothing."""
    one, two = [_sample(5), _sample(10)], [_sample(5)]
    assert [orjson.loads(each)["at"] for each in join({"1": one, "2": two, "3": []})] == [5]
    assert join({"1": [], "2": []}) == []
