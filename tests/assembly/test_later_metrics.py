"""Metrics that have other names or labels from a later release on, and those that begin with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.testing.doubles.server import make_server
from orchd.txkit.metrics.instruments import Distribution, Instrument, instruments_of

CONTROLLERS = "job,cronjob,taint-eviction-controller"
#: Name and labels in the newest release, and the name in the specification's: "" for a metric that begins later.
LATER = (
    ("apiserver_init_events_total", "group resource", "apiserver_init_events_total"),
    ("apiserver_terminated_watchers_total", "group resource", "apiserver_terminated_watchers_total"),
    ("apiserver_watch_cache_events_received_total", "group resource", ""),
    ("apiserver_watch_cache_resource_version", "group resource", ""),
    ("apiserver_watch_events_sizes", "group version resource", "apiserver_watch_events_sizes"),
    ("apiserver_watch_events_total", "group version resource", "apiserver_watch_events_total"),
    (
        "cronjob_controller_job_creation_skew_duration_seconds",
        "",
        "cronjob_controller_cronjob_job_creation_skew_duration_seconds",
    ),
    ("job_controller_job_syncs_total", "completion_mode result action", "job_controller_job_sync_total"),
    ("scheduler_cache_size", "type", "scheduler_scheduler_cache_size"),
    ("scheduler_goroutines", "operation", "scheduler_scheduler_goroutines"),
    ("scheduler_pod_scheduling_sli_duration_seconds", "attempts", "scheduler_pod_scheduling_duration_seconds"),
    ("scheduler_preemption_victims", "", "scheduler_preemption_victims"),
    ("taint_eviction_controller_pod_deletion_duration_seconds", "", ""),
    ("taint_eviction_controller_pod_deletions_total", "", ""),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Instrument]:
    folder: Path = tmp_path_factory.mktemp("data")
    flags = ("--emulated-version=1.35", f"--controllers={CONTROLLERS}", "--scheduler=true")
    server = make_server(folder, "--dialect=kubernetes", *flags)
    instruments = {each.name: each for each in instruments_of(server.server.api.measured)}
    server.stop()
    return instruments


@pytest.mark.parametrize(("name", "labels", "former"), LATER)
def test_metrics_have_the_names_and_labels_of_the_release(
    served: dict[str, Instrument], name: str, labels: str, former: str
) -> None:
    assert former == name or former not in served
    assert set(getattr(served[name].family(), "_labelnames")) == set(labels.split())  # noqa: B009  # no other way


def test_buckets_of_preemption_victims_double(served: dict[str, Instrument]) -> None:
    victims = served["scheduler_preemption_victims"]
    assert isinstance(victims, Distribution)
    assert victims.bounds == (1, 2, 4, 8, 16, 32, 64)
