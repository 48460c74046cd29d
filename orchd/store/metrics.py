"""Metrics of the stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchd.txkit.metrics.instruments import Counter, Distribution, ObservedCounter, ObservedGauge

#: Bucket upper bounds of the histograms, in seconds and in writes.
_COMMITS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_BATCHES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)


def revision_gauge(read: Callable[[], int]) -> ObservedGauge:
    """The revision of a store."""
    return ObservedGauge("orchd_store_revision", "Revision of the last durable write.", read)


def watchers_gauge(read: Callable[[], int]) -> ObservedGauge:
    """The active watches of a store."""
    return ObservedGauge("orchd_store_watchers", "Active watches of the store.", read)


def size_gauge(read: Callable[[], int]) -> ObservedGauge:
    """The size of a store."""
    return ObservedGauge("orchd_store_file_bytes", "Size of the store on disk in bytes.", read)


def storage_size_gauge(read: Callable[[], int]) -> ObservedGauge:
    """The size of a store, under the name of the reference's later releases: there is one store."""
    return ObservedGauge(
        "apiserver_storage_size_bytes",
        "Size of the store on disk in bytes.",
        lambda: {("etcd-0",): float(read())},
        ("storage_cluster_id",),
    )


class CommitMetrics:
    """Commits of the embedded store: the `writes` in them, their `seconds` until they are durable, the sizes of
    `batches`, and those that `failed`."""

    def __init__(self) -> None:
        self.writes = Counter("orchd_store_writes_total", "Writes committed to the embedded store.")
        self.seconds = Distribution(
            "orchd_store_commit_duration_seconds", "Duration of a commit in seconds, until it is durable.", _COMMITS
        )
        self.batches = Distribution("orchd_store_batch_size", "Number of writes in a commit.", _BATCHES)
        self.failed = Counter("orchd_store_failed_commits_total", "Failed commits of the embedded store.")
        commits = ObservedCounter("orchd_store_commits_total", "Commits of the embedded store.", self.batches.totals)
        self.instruments = (commits, self.writes, self.seconds, self.batches, self.failed)

    def observe_commit(self, writes: int, seconds: float) -> None:
        """Record a commit of `writes` that took `seconds`."""
        self.writes.add(by=writes)
        self.seconds.observe(seconds)
        self.batches.observe(writes)
