"""Sets of completion indexes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.controllers.indexes import IndexSet, parse_indexes

_NUMBERS = st.sets(st.integers(0, 60))


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 2], "1,2"), ([0, 1, 2, 5, 7, 8, 9], "0-2,5,7-9")]
)
def test_index_lists_round_trip(numbers: list[int], text: str) -> None:
    """Lists of indexes are formatted as ranges and parsed again."""
    assert str(IndexSet().with_indexes(numbers)) == text
    assert str(parse_indexes(text, 100)) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5,0-3,2-4", "0-5"),
        ("x,\u00b2,-,5-,-3,0-99999999999999999999,8", "8"),
        ("7-3", ""),
        ("0-2000000000", "0-99"),
        ("99,100,101", "99"),
        ("0-4-9", ""),
    ],
)
def test_texts_of_other_clients(text: str, found: str) -> None:
    """Parts may overlap and be in any order; invalid ones and indexes out of range are ignored."""
    assert str(parse_indexes(text, 100)) == found


@given(_NUMBERS, _NUMBERS, st.integers(0, 70), st.integers(0, 70))
def test_a_set_of_intervals_is_the_set_of_its_numbers(first: set[int], second: set[int], count: int, most: int) -> None:
    """Union, membership, size and free indexes are those of the numbers."""
    one, other = IndexSet().with_indexes(first), IndexSet().with_indexes(second)
    assert one.count_common(other) == len(first & second)
    both = one.with_indexes(second)
    assert both == one.union(other)
    assert len(both) == len(first | second)
    assert {i for i in range(70) if i in both} == first | second
    assert both.missing(count, most) == [i for i in range(most) if i not in first | second][:count]
