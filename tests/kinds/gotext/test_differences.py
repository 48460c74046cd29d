"""Equality of values in the canonical shape of their type."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.gotext import differences


@pytest.mark.parametrize(
    ("a", "b", "same", "equal"),
    [
        ({"x": 1}, {"x": 1, "y": None, "z": []}, True, True),
        ({"x": {}}, {}, True, False),
        ({"x": ""}, {}, True, False),
        ({"x": [{"y": {}}]}, {"x": [{}]}, True, False),
        ({"x": 1}, {"x": 2}, False, False),
        ([1], [1, 2], False, False),
    ],
)
def test_empty_objects_and_texts_are_values(a: Any, b: Any, same: bool, equal: bool) -> None:
    """An empty object or text differs from an absent one for `equal`, and not for `same`."""
    assert differences.same(a, b) is same and differences.equal(a, b) is equal
    assert differences.same(b, a) is same and differences.equal(b, a) is equal
