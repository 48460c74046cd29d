"""Metrics of controllers other than those of their queues."""

from __future__ import annotations

from orchd.controllers.endpoints.slice_metrics import SliceMetrics
from orchd.controllers.nodeipam.ranges import RangeSet, network_of
from orchd.controllers.nodelifecycle.metrics import NodeMetrics
from orchd.txkit.metrics.instruments import Counter, Gauge


def value(instruments: object, name: str, *labels: str) -> float:
    assert isinstance(instruments, tuple)
    instrument = next(each for each in instruments if each.name == name)
    assert isinstance(instrument, Counter | Gauge)
    return instrument.values.get(labels, 0.0)


def test_zone_metrics_follow_the_last_pass() -> None:
    """Size and health of a zone are those of the last pass; a zone without nodes has no samples."""
    numbers = NodeMetrics()
    numbers.count_zones({"a": [True, True, False, True], "b": [True]})
    prefix = "node_collector_"
    found = [
        value(numbers.instruments, prefix + what, "a")
        for what in ("zone_health", "zone_size", "unhealthy_nodes_in_zone")
    ]
    assert found == [75, 4, 1]
    numbers.count_zones({"b": [True]})
    assert value(numbers.instruments, prefix + "zone_size", "a") == 0
    numbers.count_eviction("b")
    assert (
        value(numbers.instruments, prefix + "evictions_number", "b")
        == value(numbers.instruments, prefix + "evictions_total", "b")
        == 1
    )


def test_slice_metrics_add_up_over_services() -> None:
    """Desired endpoints and slices are summed over services, and removed with them."""
    numbers = SliceMetrics("x", 100)

    def now() -> list[float]:
        return [
            value(numbers.instruments, f"x_{what}")
            for what in ("endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices")
        ]

    numbers.record(("n", "a"), [150, 0], [{"endpoints": [{}]}])
    numbers.record(("n", "b"), [1], [{}, {}])
    assert now() == [151, 3, 4]
    assert (numbers.added.values[()].sum, numbers.removed.values[()].sum) == (150, 0)
    numbers.record(("n", "a"), [100], [{"endpoints": [{}] * 120}])
    assert now() == [101, 3, 2]
    assert (numbers.added.values[()].sum, numbers.removed.values[()].sum) == (150, 20)
    assert numbers.added.values[()].count == numbers.removed.values[()].count == 3
    numbers.forget(("n", "a"))
    numbers.forget(("n", "b"))
    assert now() == [0, 0, 0]


def test_range_metrics_count_each_range_once() -> None:
    """A range is counted once when it is allocated and once when it is released."""
    whole = network_of("10.0.0.0/24")
    assert whole is not None
    ranges = RangeSet(whole, 26)
    first = ranges.take()
    assert first is not None
    ranges.occupy(first)
    assert (ranges.allocations, ranges.releases, ranges.usage) == (1, 0, 0.25)
    ranges.release(first)
    ranges.release(first)
    assert (ranges.allocations, ranges.releases, ranges.usage) == (1, 1, 0.0)
    # A network counts as the ranges that it overlaps.
    half, second = network_of("10.0.0.0/25"), network_of("10.0.0.64/26")
    assert half is not None and second is not None
    ranges.occupy(second)
    ranges.occupy(half)
    assert (ranges.allocations, ranges.releases, ranges.usage) == (3, 1, 0.5)
    ranges.release(half)
    assert (ranges.allocations, ranges.releases, ranges.usage) == (3, 3, 0.0)
