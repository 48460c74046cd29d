"""Metrics of admission policies, under the reference's names."""

from __future__ import annotations

from typing import Final

from orchd.server.admission.policies.decisions import Decision
from orchd.txkit.metrics.instruments import Counter, Distribution

_CHECK: Final = "apiserver_validating_admission_policy_check"
_LABELS: Final = ("policy", "policy_binding", "error_type", "enforcement_action")


class PolicyMetrics:
    """Decisions of validations that did more than admit a write, by what followed."""

    def __init__(self) -> None:
        self._total = Counter(
            f"{_CHECK}_total", "Decisions of admission policies, by policy, binding, error and action.", _LABELS
        )
        self._seconds = Distribution(
            f"{_CHECK}_duration_seconds",
            "Duration of validations of admission policies in seconds, by policy, binding, error and action.",
            (5e-07, 0.001, 0.01, 0.1, 1.0),
            _LABELS,
        )
        self.instruments = (self._total, self._seconds)

    def observe(self, policy: str, binding: str, decision: Decision, action: str) -> None:
        """Record a decision. `action` is allow, deny, audit or warn."""
        labels = (policy, binding, decision.error_type, action)
        self._total.add(*labels)
        self._seconds.observe(decision.seconds, *labels)
