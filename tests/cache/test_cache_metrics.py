"""How metrics of watch caches name resources in each release."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from orchd.cache.metrics import GroupedNames, Names, cache_instruments
from orchd.cache.resource import READ_WAITS
from orchd.txkit.metrics.histogram import Histogram


def test_names_of_the_specification() -> None:
    """Resources are named by their path in the store, in lists as a path."""
    names = Names()
    assert (names.labels, names.of("services/specs"), names.of_counts("leases")) == (
        ("resource",),
        ("services/specs",),
        ("leases",),
    )
    assert (names.list_labels, names.of_lists("leases")) == (("resource_prefix",), ("/leases",))


def test_names_with_groups() -> None:
    """Later releases name the group as well; custom kinds have it in their path. The table is made once."""
    instruments = []

    def places() -> Mapping[str, tuple[str, str]]:
        instruments.append(1)
        return {"leases": ("coordination", "leases"), "services/specs": ("", "services")}

    names = GroupedNames(places)
    assert instruments == []
    paths = ("leases", "services/specs", "example.com/tests")
    assert names.labels == names.list_labels == ("group", "resource")
    assert [names.of(path) for path in paths] == [
        ("coordination", "leases"),
        ("", "services"),
        ("example.com", "tests"),
    ]
    assert [names.of_lists(path) for path in paths] == [names.of(path) for path in paths]
    assert [names.of_counts(path) for path in paths] == [
        ("leases.coordination",),
        ("services",),
        ("tests.example.com",),
    ]
    assert instruments == [1]


class _Cache:
    """The figures of a watch cache, each of another value."""

    capacity, window_length, window_bytes, subscribers, applied_events, unreadable, indexed = range(11, 18)
    revision, entry_bytes, initializations, decode_errors, consistent_reads = range(31, 36)

    def __init__(self) -> None:
        self.read_waits = Histogram(READ_WAITS)
        self.read_waits.observe(READ_WAITS, 36.0)
        self.lists = SimpleNamespace(total={"": 21, "byName": 22}, fetched={"": 23, "byName": 24}, returned=25)

    def __len__(self) -> int:
        return 10


def test_each_metric_has_its_own_figure() -> None:
    """Every metric of a cache is the figure that its name says."""
    caches: Any = SimpleNamespace(
        caches={"leases": _Cache()}, lag=1, waiting=2, restarts=3, derived_budget=SimpleNamespace(bytes=4)
    )

    def values(*, counted: bool) -> dict[str, list[float]]:
        families = (each.family() for each in cache_instruments(caches, counted))
        return {family.name: [sample.value for sample in family.samples] for family in families}

    own = {
        "window_events": 12, "window_bytes": 13, "watchers": 14, "applied_events": 15, "unreadable": 16, "indexed": 17,
        "lag": 1, "waiting_reads": 2, "restarts": 3, "derived_bytes": 4,
    }  # fmt: skip
    expected = {
        **{f"orchd_cache_{name}": [value] for name, value in own.items()},
        "watch_cache_capacity": [11],
        "apiserver_cache_list": [21, 22],
        "apiserver_cache_list_fetched_objects": [23, 24],
        "apiserver_cache_list_returned_objects": [25],
    }
    assert values(counted=False) == expected
    assert values(counted=True) == {**expected, "apiserver_storage_objects": [10], "etcd_object_counts": [10]}


def test_caches_without_lists_have_no_figures_of_lists() -> None:
    """Only caches that have served lists count what these returned."""
    quiet = _Cache()
    quiet.lists = SimpleNamespace(total={}, fetched={}, returned=0)
    caches: Any = SimpleNamespace(
        caches={"leases": _Cache(), "pods": quiet},
        lag=1,
        waiting=2,
        restarts=3,
        derived_budget=SimpleNamespace(bytes=4),
    )
    families = {
        family.name: family for each in cache_instruments(caches) if "cache_list" in (family := each.family()).name
    }
    assert len(families) == 3
    for family in families.values():
        assert {sample.labels["resource_prefix"] for sample in family.samples} == {"/leases"}


def test_figures_of_later_releases() -> None:
    """Those that the metrics with groups of resources add."""
    quiet = _Cache()
    quiet.read_waits, quiet.consistent_reads = Histogram(READ_WAITS), 0
    budget = SimpleNamespace(bytes=4)
    caches: Any = SimpleNamespace(caches={"leases": _Cache()}, lag=1, waiting=2, restarts=3, derived_budget=budget)
    names = GroupedNames(lambda: {"leases": ("coordination", "leases")})
    both: Any = SimpleNamespace(**{**vars(caches), "caches": {**caches.caches, "quiet": quiet}})
    for each in cache_instruments(both, names=names):
        if each.name in ("apiserver_watch_cache_consistent_read_total", "apiserver_watch_cache_read_wait_seconds"):
            assert {sample.labels["resource"] for sample in each.family().samples} == {"leases"}
    samples_by_name = {each.name: list(each.family().samples) for each in cache_instruments(caches, names=names)}
    numbers = {name: samples[0].value for name, samples in samples_by_name.items() if len(samples) == 1}
    assert {name: numbers[f"apiserver_{name}"] for name in _LATER} == _LATER
    consistent = samples_by_name["apiserver_watch_cache_consistent_read_total"][0]
    assert consistent.value == 35
    assert consistent.labels == {"group": "coordination", "resource": "leases", "success": "true", "fallback": "false"}
    assert samples_by_name["apiserver_watch_cache_read_wait_seconds"][-1].value == 36


_LATER = {
    "resource_objects": 10, "resource_size_estimate_bytes": 32, "storage_decode_errors_total": 34,
    "storage_events_received_total": 15, "watch_cache_events_dispatched_total": 15,
    "watch_cache_events_received_total": 15, "watch_cache_initializations_total": 33,
    "watch_cache_resource_version": 31,
}  # fmt: skip


def test_resources_of_objects() -> None:
    """The first part of a key is a built-in resource, or the group of a custom one."""
    names = GroupedNames(lambda: {"leases": ("coordination", "leases")})
    assert names.of_object("/leases/a/b") == ("coordination", "leases")
    assert names.of_object("/example.com/tests/a/b") == ("example.com", "tests")
    assert names.of_object("") == ("", "")
