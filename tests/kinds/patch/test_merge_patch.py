"""JSON merge patch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.errors import ApiError
from orchd.kinds.patch import merge_patch


@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": {"x": 1}}, {"a": [{"d": None}]}, {"a": [{"d": None}]}),
        ({"a": [1]}, {"a": [{"d": None}]}, {"a": [{}]}),
        ({"a": 1}, {"a": {"b": None, "c": [{"d": None}, None]}}, {"a": {"c": [{}, None]}}),
    ],
)
def test_merge_patch_examples(doc: Any, patch: Any, result: Any) -> None:
    """The standard's examples; nulls in a new value are dropped, except in a list that replaces an object."""
    assert merge_patch.apply(doc, patch) == result


@pytest.mark.parametrize("patch", [b"{{", b"1", b'"x"', b"null", b""])
def test_scalars_are_no_patch(patch: bytes) -> None:
    """A patch is an object or a list; anything else is rejected."""
    with pytest.raises(ApiError) as caught:
        merge_patch.apply({}, patch)
    assert (caught.value.code, caught.value.message) == (400, "Invalid JSON Patch")


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(0, 2) | st.sampled_from(["x", ""]),
    lambda c: st.lists(c, max_size=2) | st.dictionaries(st.sampled_from("abc"), c, max_size=3),
    max_leaves=8,
)
_DOCS = st.dictionaries(st.sampled_from("abc"), _JSON, max_size=3)


@given(_DOCS, _DOCS)
def test_diff_round_trip(old: Any, new: Any) -> None:
    """The diff of two documents, applied to the first, gives the second; applied again it changes nothing."""
    patch = merge_patch.diff(old, new)
    assert merge_patch.apply(old, patch) == new
    assert merge_patch.apply(new, patch) == new
    assert merge_patch.diff(new, new) == {}


def test_members_of_results_are_sorted_where_a_patch_looks() -> None:
    """Objects that a patch changes, and those of the patch, have sorted members; others keep their order."""
    doc = {"z": {"b": 1, "a": 2}, "y": {"d": 1, "c": 2}}
    patched = merge_patch.apply(doc, {"x": [{"f": 1, "e": 2}], "y": {"c": 3}})
    assert json.dumps(patched) == json.dumps({"x": [{"e": 2, "f": 1}], "y": {"c": 3, "d": 1}, "z": {"b": 1, "a": 2}})
