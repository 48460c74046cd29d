"""The reactor's ticks and timers, measured from inside it."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import ensureDeferred
from twisted.internet.task import Clock

from orchd.txkit.metrics.reactor import ReactorMetrics


class TickingClock(Clock):
    """Runs calls that are due at once in the next `advance`, as reactors run them in their next tick."""

    def callLater(self, when: float, what: Any, *arguments: Any, **named: Any) -> Any:  # type: ignore[override]  # names of its own
        return super().callLater(when or 1e-9, what, *arguments, **named)


def began(clock: Clock) -> ReactorMetrics:
    metrics = ReactorMetrics(clock)
    ensureDeferred(metrics.start())
    return metrics


def samples(metrics: ReactorMetrics) -> dict[str, float]:
    """The values by name, buckets with their bound."""
    return {
        sample.name + sample.labels.get("le", ""): sample.value
        for each in metrics.instruments
        for sample in each.family().samples
    }


def test_tick_and_timer_delay_are_measured() -> None:
    """The time between a sample's two calls is the tick's duration; the time before the first, beyond the period, is
    the timer's delay."""
    clock = TickingClock()
    metrics = began(clock)
    clock.advance(1.25)
    clock.advance(0.02)
    found = samples(metrics)
    assert found["orchd_reactor_timer_delay_seconds_count"] == found["orchd_reactor_tick_duration_seconds_count"] == 1
    assert round(found["orchd_reactor_timer_delay_seconds_sum"], 6) == 0.25
    assert round(found["orchd_reactor_tick_duration_seconds_sum"], 6) == 0.02
    assert (
        found["orchd_reactor_tick_duration_seconds_bucket0.01"],
        found["orchd_reactor_tick_duration_seconds_bucket0.025"],
    ) == (0, 1)


def test_one_sample_per_period() -> None:
    """There is one sample per period, and a clock that goes backwards makes none negative."""
    clock = TickingClock()
    metrics = began(clock)
    for _ in range(3):
        clock.advance(1)
        clock.advance(0.001)
    clock.advance(1)
    clock.rightNow -= 0.5
    clock.advance(0.6)
    found = samples(metrics)
    assert found["orchd_reactor_timer_delay_seconds_count"] == found["orchd_reactor_tick_duration_seconds_count"] == 4
    assert found["orchd_reactor_tick_duration_seconds_sum"] >= 0


def test_delayed_calls_gauge() -> None:
    """The gauge counts every delayed call, including that of the next sample."""
    clock: Any = TickingClock()
    metrics = began(clock)
    clock.callLater(60, lambda: None)
    assert samples(metrics)["orchd_reactor_delayed_calls"] == 2


def test_stop_leaves_no_delayed_call() -> None:
    """Stopped before, in or after a sample, no delayed call is left; a second stop does nothing."""
    for steps in ((), (1,), (1, 0.001)):
        clock = TickingClock()
        metrics = began(clock)
        for step in steps:
            clock.advance(step)
        ensureDeferred(metrics.stop())
        ensureDeferred(metrics.stop())
        assert clock.getDelayedCalls() == []
