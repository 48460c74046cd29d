"""Metric instruments, and the text of bucket bounds."""

from __future__ import annotations

import pytest
from prometheus_client.core import Metric

from orchd.txkit.metrics.histogram import bound_text, exponential
from orchd.txkit.metrics.instruments import Counter, Distribution, Gauge, reset


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (0, "0"), (0.0, "0"), (1, "1"), (2.5, "2.5"), (10.0, "10"), (100000.0, "100000"), (1e6, "1e+06"), (1234567.0, "1.234567e+06"),
        (0.0001, "0.0001"), (0.00001, "1e-05"), (1.5e-5, "1.5e-05"), (1e9, "1e+09"), (0.1, "0.1"),
    ],
)  # fmt: skip
def test_bound_labels_match_the_references(bound: float, text: str) -> None:
    """Whole numbers have no fraction, and large and small ones an exponent of two digits."""
    assert bound_text(bound) == text


def test_exponential_bounds() -> None:
    """Each bound is the one before it times the factor."""
    assert exponential(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)


def samples(metric: Metric) -> dict[str, float]:
    return {sample.name + str(sample.labels or ""): sample.value for sample in metric.samples}


def test_unlabelled_values_start_at_zero() -> None:
    """Without labels an instrument starts with a zero; with labels it has no samples."""
    plain = [
        each.family()
        for each in (Counter("a_total", "A."), Gauge("b", "B."), Distribution("c", "C.", (1,)), Counter("d", "D."))
    ]
    assert [sum(samples(each).values()) for each in plain] == [0, 0, 0, 0]
    assert [len(each.samples) > 0 for each in plain] == [True] * 4
    labelled = [
        each.family()
        for each in (Counter("a_total", "A.", ("x",)), Gauge("b", "B.", ("x",)), Distribution("c", "C.", (1,), ("x",)))
    ]
    assert [samples(each) for each in labelled] == [{}, {}, {}]


def test_counters_gauges_and_histograms() -> None:
    """Counters add, gauges are set, histograms observe, each by its label values."""
    counter, gauge, distribution = Counter("a_total", "A.", ("x",)), Gauge("b", "B."), Distribution("c", "C.", (1, 2))
    counter.add("u")
    counter.add("u", by=2)
    gauge.set(4)
    distribution.observe(1.5)
    assert samples(counter.family()) == {"a_total{'x': 'u'}": 3}
    assert samples(gauge.family()) == {"b": 4}
    assert samples(distribution.family()) == {
        "c_bucket{'le': '1'}": 0, "c_bucket{'le': '2'}": 1, "c_bucket{'le': '+Inf'}": 1, "c_count": 1, "c_sum": 1.5,
    }  # fmt: skip


def test_reset_forgets_values_by_labels() -> None:
    """Counters, gauges and distributions with labels lose their values; those without labels keep them."""
    labelled = Counter("a", "A.", ("x",)), Gauge("b", "B.", ("x",)), Distribution("c", "C.", (1.0,), ("x",))
    labelled[0].add("y")
    labelled[1].set(2.0, "y")
    labelled[2].observe(3.0, "y")
    plain = Counter("d", "D.")
    plain.add()
    reset((*labelled, plain))
    assert [each.values for each in labelled] == [{}, {}, {}]
    assert plain.values == {(): 1.0}


def test_series_of_known_labels() -> None:
    """A series has no histogram before its first observation, nor after a reset, and heeds the maximum number."""
    distribution = Distribution("c", "C.", (1.0,), ("x",), most=1)
    first, second = distribution.series("y"), distribution.series("z")
    assert distribution.values == {}
    for each in (first, first, second):
        each.observe(3.0)
    assert distribution.totals() == {("y",): 2.0}
    reset((distribution,))
    second.observe(0.5)
    assert {labels: each.counts for labels, each in distribution.values.items()} == {("z",): [1, 0]}
