"""How requests to etcd are named and counted."""

from __future__ import annotations

from orchd.store.etcd.request_durations import RequestDurations, RequestLabels


def values(durations: RequestDurations) -> dict[str, dict[tuple[str, ...], float]]:
    """Counts by metric and label values."""
    return {
        each.name: {
            tuple(sample.labels.values()): sample.value
            for sample in each.family().samples
            if "le" not in sample.labels and not sample.name.endswith(("_sum", "_created"))
        }
        for each in durations.instruments
    }


def test_requests_by_the_first_part_of_the_key() -> None:
    """Durations have the type of the object; there are no other metrics."""
    durations = RequestDurations()
    for key, failed in (("/pods/a/b", False), ("/pods/a/c", True), ("", False)):
        durations.observe("get", key, 0.1, failed=failed)
    assert values(durations) == {"etcd_request_duration_seconds": {("get", "pods"): 2, ("get", ""): 1}}


def test_counted_requests_by_group_and_resource() -> None:
    """Requests and failed ones are counted by the labels of their keys."""
    labels = RequestLabels(labels=("group", "resource"), of=lambda key: ("", key[1:].partition("/")[0]), counted=True)
    durations = RequestDurations(labels)
    for key, failed in (("/pods/a/b", False), ("/pods/a/c", True)):
        durations.observe("get", key, 0.1, failed=failed)
    assert values(durations) == {
        "etcd_request_duration_seconds": {("get", "", "pods"): 2},
        "etcd_requests_total": {("get", "", "pods"): 2},
        "etcd_request_errors_total": {("get", "", "pods"): 1},
    }
