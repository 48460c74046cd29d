"""Metric families in the text format."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeHistogramMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from orchd.server.pipeline.endpoints.exposition import pieces
from orchd.server.pipeline.endpoints.metrics import metrics_endpoint
from orchd.server.pipeline.interfaces import whole
from orchd.testing.doubles.server import run

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['a"b', "a\\b", "a\nb", "", "GET"]
)
_NUMBERS = st.floats() | st.integers(-(10**12), 10**12)


class _Collector:
    def __init__(self, families: list[Metric]) -> None:
        self.families = families

    def collect(self) -> Iterator[Metric]:
        yield from self.families


def _families(help: str, labels: list[str], number: float, stamp: float | None) -> list[Metric]:
    names = [f"l{n}" for n in range(len(labels))]
    counter = CounterMetricFamily("c", help, labels=names)
    counter.add_metric(labels, number, created=2.5, timestamp=stamp)
    gauge = GaugeMetricFamily("g_g", help)
    gauge.add_metric([], number, timestamp=stamp)
    histogram = HistogramMetricFamily("h", help, labels=names)
    histogram.add_metric(labels, [("0.5", number), ("+Inf", number)], 3.0)
    both = GaugeHistogramMetricFamily("gh", help, buckets=[("1.0", 2.0), ("+Inf", number)], gsum_value=number)
    info = InfoMetricFamily("i", help, value={"version": labels[0] if labels else "1"})
    summary = SummaryMetricFamily("s", help, count_value=3, sum_value=number)
    unknown = Metric("u", help, "untyped")
    unknown.add_sample("u", {}, number)
    return [counter, gauge, histogram, both, info, summary, unknown]


@given(_TEXTS, st.lists(_TEXTS, max_size=3), _NUMBERS, st.none() | st.integers(0, 10**9))
def test_exposition_equals_that_of_prometheus_client(
    help: str, labels: list[str], number: float, stamp: float | None
) -> None:
    """For any texts and numbers the page equals the output of prometheus_client."""
    families = _families(help, labels, number, stamp)
    registry = CollectorRegistry()
    registry.register(_Collector(families))
    assert b"".join(pieces(families)) == generate_latest(registry)


class _Turns:
    """Counts the turns that work was spread over."""

    waited = 0

    async def wait(self) -> None:
        self.waited += 1


def test_many_samples_are_written_in_several_turns() -> None:
    """Other requests are served while a large answer is made; it is the same as one made at once."""

    family = GaugeMetricFamily("many", "Help.", labels=("x",))
    for number in range(3500):
        family.add_metric([str(number)], number)
    turns: Any = _Turns()
    instrument: Any = SimpleNamespace(family=lambda: family)
    response = run(metrics_endpoint(lambda: [instrument], turns)(cast("Any", None)))
    assert whole(response.body).startswith(b"".join(pieces([family])))
    assert turns.waited == 3
