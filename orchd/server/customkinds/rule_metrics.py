"""Metrics of the rules of custom kinds, under the reference's names."""

from __future__ import annotations

from typing import Final

from orchd.kinds.objects.settings import RuleTimes
from orchd.kinds.release import Release
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution

#: The release that has these metrics.
MEASURED_SINCE: Final = "1.25"
#: The release that does not validate unchanged values again.
_COMPARED_SINCE: Final = "1.30"
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RuleMetrics:
    """How long rules take to compile and to evaluate, and the comparison of updated objects with stored ones."""

    def __init__(self, release: Release) -> None:
        self._compilations = Distribution(
            "apiserver_cel_compilation_duration_seconds", "CEL compilation time in seconds.", _BUCKETS
        )
        self._evaluations = Distribution(
            "apiserver_cel_evaluation_duration_seconds", "CEL evaluation time in seconds.", _BUCKETS
        )
        self._comparisons = Distribution(
            "apiextensions_apiserver_validation_ratcheting_seconds",
            "Duration of the comparison of an updated custom object with the stored one in seconds.",
            exponential(0.00001, 4, 10),
        )
        later = (self._comparisons,) if release.includes(_COMPARED_SINCE) else ()
        self.instruments = (self._compilations, self._evaluations, *later)

    @property
    def times(self) -> RuleTimes:
        """The observers that validation of definitions and custom objects calls."""
        return RuleTimes(
            compilation=self._compilations.observe,
            evaluation=self._evaluations.observe,
            comparison=self._comparisons.observe,
        )
