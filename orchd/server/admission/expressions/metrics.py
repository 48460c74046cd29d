"""Metrics of match conditions, under the reference's names."""

from __future__ import annotations

from typing import Final

from orchd.txkit.metrics.instruments import Counter, Distribution

_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
_LABELS: Final = ("name", "kind", "type", "operation")
#: The type of webhooks in the counter of exclusions, where it differs from that in the other metrics.
_EXCLUDED_BY: Final = {"validating": "validate"}


class ConditionMetrics:
    """Durations, errors and exclusions of match conditions, by webhook or policy."""

    def __init__(self) -> None:
        prefix = "apiserver_admission_match_condition_"
        self._seconds = Distribution(
            f"{prefix}evaluation_seconds",
            "Duration of evaluations of match conditions that did not all hold in seconds, by policy or webhook, and "
            "operation.",
            _BUCKETS,
            _LABELS,
        )
        self._errors = Counter(
            f"{prefix}evaluation_errors_total",
            "Match conditions that had an error, by policy or webhook, and operation.",
            _LABELS,
        )
        self._exclusions = Counter(
            f"{prefix}exclusions_total",
            "Writes that match conditions excluded, by policy or webhook, and operation.",
            _LABELS,
        )
        self.instruments = (self._seconds, self._errors, self._exclusions)

    def observe(self, errors: int, seconds: float, excluded: bool, labels: tuple[str, str, str, str]) -> None:
        """Record an evaluation of conditions that do not all hold, with a number of errors. `labels` are name, kind
        (webhook, policy), type and operation."""
        self._seconds.observe(seconds, *labels)
        if errors:
            self._errors.add(*labels, by=errors)
        if excluded:
            name, kind, type_, operation = labels
            self._exclusions.add(name, kind, _EXCLUDED_BY.get(type_, type_), operation)
