"""How metrics of watch caches name resources in each release."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from orchd.cache.metrics import GroupedNames, Names, cache_instruments


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
    made = []

    def places() -> Mapping[str, tuple[str, str]]:
        made.append(1)
        return {"leases": ("coordination", "leases"), "services/specs": ("", "services")}

    names = GroupedNames(places)
    assert made == []
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
    assert made == [1]


class _Cache:
    """The figures of a watch cache, each of another value."""

    capacity, window_length, window_bytes, subscribers, applied_events, unreadable, indexed = range(11, 18)

    def __init__(self) -> None:
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
