"""Merge patches between objects."""

from __future__ import annotations

from orchd.ctl.objects.differences import difference


def test_difference_is_a_merge_patch() -> None:
    """Removed keys become null, lists are replaced, equal members are left out."""
    before = {"a": 1, "b": {"c": 1, "d": [1]}, "e": 1}
    assert difference(before, {"a": 1, "b": {"c": 1, "d": [2]}, "f": None}) == {"b": {"d": [2]}, "e": None, "f": None}
