"""Metrics of the autoscaler, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from orchd.kinds.release import Release
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution, Instrument, ObservedCounter, ObservedGauge

_PREFIX: Final = "horizontal_pod_autoscaler_controller_"
_SECONDS: Final = exponential(0.001, 2, 15)
#: The first release with metrics of reconciliations, and with those of the objects.
_SINCE: Final = "1.27"
_OBJECTS_SINCE: Final = "1.35"


class AutoscalerMetrics:
    """Durations of reconciliations and of computations of one metric, by action and error. `desired` returns the
    desired replicas of all autoscalers, by namespace and name."""

    def __init__(self, release: Release, desired: Callable[[], Mapping[tuple[str, ...], float]]) -> None:
        labels = ("action", "error")
        self._seconds = Distribution(
            _PREFIX + "reconciliation_duration_seconds",
            "Seconds that a reconciliation of an autoscaler took.",
            _SECONDS,
            labels,
        )
        self._computations = Distribution(
            _PREFIX + "metric_computation_duration_seconds",
            "Seconds that the computation of one metric of an autoscaler took.",
            _SECONDS,
            (*labels, "metric_type"),
        )
        timed = (
            self._seconds,
            ObservedCounter(
                _PREFIX + "reconciliations_total", "Reconciliations of autoscalers.", self._seconds.totals, labels
            ),
            self._computations,
            ObservedCounter(
                _PREFIX + "metric_computation_total",
                "Computations of metrics of autoscalers.",
                self._computations.totals,
                (*labels, "metric_type"),
            ),
        )
        objects = (
            ObservedGauge(_PREFIX + "num_horizontal_pod_autoscalers", "Autoscalers.", lambda: float(len(desired()))),
            ObservedGauge(
                _PREFIX + "desired_replicas", "Replicas that an autoscaler desires.", desired, ("namespace", "hpa_name")
            ),
        )
        self.instruments: tuple[Instrument, ...] = (
            *(timed if release.includes(_SINCE) else ()),
            *(objects if release.includes(_OBJECTS_SINCE) else ()),
        )

    def reconciled(self, change: int, seconds: float, *, failed: bool) -> None:
        """Record a reconciliation that changed the number of replicas by `change`."""
        self._seconds.observe(seconds, _action(0 if failed else change), _error(failed))

    def computed(self, kind: str, change: int, seconds: float, *, failed: bool) -> None:
        """Record the computation of a metric of a type, which proposes to change the number of replicas by `change`."""
        self._computations.observe(seconds, _action(0 if failed else change), _error(failed), kind)


def _action(change: int) -> str:
    return "scale_up" if change > 0 else "scale_down" if change < 0 else "none"


def _error(failed: bool) -> str:
    return "internal" if failed else "none"
