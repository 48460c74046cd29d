"""Metrics of the job controller, under the reference's names."""

from __future__ import annotations

from typing import Final

from orchd.kinds.release import Release
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Counter, Distribution, Instrument

_PREFIX: Final = "job_controller_"
_SYNC: Final = ("completion_mode", "result", "action")
_SYNC_NAME: Final = (("", "job_sync_total"), ("1.34", "job_syncs_total"))
#: Name and labels of the number of jobs that ended, by the release that begins them.
_ENDED: Final = (
    ("", ("job_finished_total", ("completion_mode", "result"))),
    ("1.27", ("jobs_finished_total", ("completion_mode", "result", "reason"))),
)
#: The first release with the other metrics.
_MORE_SINCE: Final = "1.31"


class JobMetrics:
    """Counters of the job controller of a release."""

    def __init__(self, release: Release) -> None:
        self.syncs = Counter(_PREFIX + release.choose(_SYNC_NAME), "Syncs of jobs, by action.", _SYNC)
        self.seconds = Distribution(
            _PREFIX + "job_sync_duration_seconds",
            "Duration of a sync of a job in seconds, by action.",
            exponential(0.004, 2, 15),
            _SYNC,
        )
        ended, labels = release.choose(_ENDED)
        self._ended = Counter(_PREFIX + ended, "Finished jobs, by result.", labels)
        self._labels = len(labels)
        self.ended_pods = Counter(
            _PREFIX + "job_pods_finished_total", "Finished pods of jobs, by result.", ("completion_mode", "result")
        )
        #: Indexes that ended, by result and by whether each has a limit of failures of its own.
        self.indexes = Counter(
            _PREFIX + "job_finished_indexes_total",
            "Indexes of jobs that have ended, by result and limit of failures (perIndex or global).",
            ("status", "backoffLimit"),
        )
        self.creations = Counter(
            _PREFIX + "job_pods_creation_total",
            "Pods that were to be created, by reason (new, or which pods are replaced) and result.",
            ("reason", "status"),
        )
        self.external = Counter(
            _PREFIX + "jobs_by_external_controller_total", "Jobs of other controllers.", ("controller_name",)
        )
        self.judged = Counter(
            _PREFIX + "pod_failures_handled_by_failure_policy_total",
            "Failed pods that a rule of a failure policy matched, by its action.",
            ("action",),
        )
        self.tracked = Counter(
            _PREFIX + "terminated_pods_tracking_finalizer_total",
            "Ended pods that got, or lost, the state of being kept by the finalizer until they are counted.",
            ("event",),
        )
        more = (self.indexes, self.creations, self.external, self.judged, self.tracked)
        self.instruments: tuple[Instrument, ...] = (
            self.syncs,
            self.seconds,
            self._ended,
            self.ended_pods,
            *(more if release.includes(_MORE_SINCE) else ()),
        )

    def count_ended(self, mode: str, result: str, reason: str) -> None:
        """Count a job that ended."""
        self._ended.add(*(mode, result, reason)[: self._labels])
