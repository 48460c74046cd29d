"""Load of the reactor: duration of its ticks, lateness of timers, number of delayed calls.

A tick is one round of the reactor: the calls that are due, then the I/O that is ready. Ticks are sampled with two
delayed calls, so that any reactor can be measured and nothing of it is replaced. A blocking tick is visible in two
metrics: in the tick duration if it is sampled, and in the lateness of the sample that it delayed.
"""

from __future__ import annotations

from typing import Any, Final

from orchd.txkit.metrics.instruments import Distribution, ObservedGauge

#: Seconds between samples.
_PERIOD: Final = 1.0
#: Upper bounds in seconds.
BOUNDS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ReactorMetrics:
    """Samples the ticks of `reactor` between `start` and `stop`."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._ticks = Distribution(
            "orchd_reactor_tick_duration_seconds",
            "Seconds that a tick of the reactor took, sampled once a second.",
            BOUNDS,
        )
        self._delays = Distribution(
            "orchd_reactor_timer_delay_seconds",
            "Seconds by which a timer of the reactor was late, sampled once a second.",
            BOUNDS,
        )
        self.instruments = (
            self._ticks,
            self._delays,
            ObservedGauge(
                "orchd_reactor_delayed_calls",
                "Pending delayed calls of the reactor.",
                lambda: len(reactor.getDelayedCalls()),
            ),
        )
        self._call: Any = None

    async def start(self) -> None:
        """Start sampling."""
        self._wait()

    async def stop(self) -> None:
        """Stop sampling, and cancel the delayed calls."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _wait(self) -> None:
        self._call = self._reactor.callLater(_PERIOD, self._begin, self._reactor.seconds() + _PERIOD)

    def _begin(self, due: float) -> None:
        now = self._reactor.seconds()
        self._delays.observe(max(0.0, now - due))
        # Called in the next tick, before which the reactor does not sleep: the elapsed time is that of the tick.
        self._call = self._reactor.callLater(0, self._end, now)

    def _end(self, began: float) -> None:
        self._ticks.observe(max(0.0, self._reactor.seconds() - began))
        self._wait()
