"""How metrics of watch caches name resources in each release."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.cache.metrics import GroupedNames, Names


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
