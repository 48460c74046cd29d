"""Metrics of the rules of custom kinds, under the reference's names."""

from __future__ import annotations

from typing import Final

from orchd.kinds.objects.settings import RuleTimes
from orchd.txkit.metrics.instruments import Distribution

#: The release that has these metrics.
MEASURED_SINCE: Final = "1.25"
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RuleMetrics:
    """How long rules take to compile and to evaluate."""

    def __init__(self) -> None:
        self._compilations = Distribution(
            "apiserver_cel_compilation_duration_seconds", "CEL compilation time in seconds.", _BUCKETS
        )
        self._evaluations = Distribution(
            "apiserver_cel_evaluation_duration_seconds", "CEL evaluation time in seconds.", _BUCKETS
        )
        self.instruments = (self._compilations, self._evaluations)

    @property
    def times(self) -> RuleTimes:
        """What the validation of definitions and custom objects tells these metrics."""
        return RuleTimes(compilation=self._compilations.observe, evaluation=self._evaluations.observe)
