"""Sets of field paths: operations, order and text form."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.patch import fieldset
from orchd.kinds.patch.fieldset import FieldSetError, of_paths

_ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"n":"x"}', 'k:{"n":"y"}', 'v:"z"', "v:1", "i:0"])
_PATHS = st.lists(_ELEMENTS, min_size=1, max_size=4).map(tuple)
_SETS = st.frozensets(_PATHS, max_size=8)


def _model(fields: Any) -> set[tuple[str, ...]]:
    return set(fieldset.paths(fields))


@given(_SETS, _SETS)
def test_set_operations_on_paths(left: frozenset[Any], right: frozenset[Any]) -> None:
    """Union, difference and intersection are those of the sets of paths; recursive difference removes descendants
    too."""
    a, b = of_paths(*left), of_paths(*right)
    assert _model(a) == left
    assert _model(fieldset.union(a, b)) == left | right
    assert _model(fieldset.difference(a, b)) == left - right
    assert _model(fieldset.intersection(a, b)) == left & right
    below = {p for p in left if not any(p[: len(q)] == q for q in right)}
    assert _model(fieldset.recursive_difference(a, b)) == below
    deepest = {p for p in left if not any(q != p and q[: len(p)] == p for q in left)}
    assert _model(fieldset.leaves(a)) == deepest
    assert all(fieldset.has(a, p) == (p in left) for p in left | right)


def _in_order(fields: Any) -> bool:
    """True if the elements of a set and of the sets below are in stored order."""
    return json.dumps(fields) == json.dumps(fieldset.sort_elements(fields))


@given(_SETS, _SETS)
def test_set_operations_keep_the_stored_order(left: frozenset[Any], right: frozenset[Any]) -> None:
    """Sets are in stored order whatever they are made of, so that they are stored without being sorted."""
    a, b = of_paths(*left), of_paths(*right)
    assert _in_order(a)
    for both in (fieldset.union, fieldset.difference, fieldset.intersection, fieldset.recursive_difference):
        assert _in_order(both(a, b))
    assert _in_order(fieldset.union_all([a, b, of_paths(("v:2",), ("f:b", "f:0"))]))
    assert _in_order(fieldset.parse(dict(reversed(a.items()))))


@given(st.text())
def test_elements_of_single_keys(text: str) -> None:
    """Path elements of list items with one key are the canonical JSON of that key."""
    assert fieldset.key_element(text, "k<") == "k:" + fieldset.json_text({"k<": text})


@given(_SETS)
def test_field_set_text_round_trips(paths: frozenset[Any]) -> None:
    """The text of a set parses to the same set, in the same order."""
    fields = fieldset.sort_elements(of_paths(*paths))
    again = fieldset.parse_root(json.loads(json.dumps(fields)))
    assert _model(again) == paths
    assert json.dumps(fieldset.sort_elements(again)) == json.dumps(fields)


@given(_SETS, _SETS)
def test_equal_sets_have_one_form(left: frozenset[Any], right: frozenset[Any]) -> None:
    """Equal sets are equal dicts, whatever operations made them."""
    assert fieldset.union(of_paths(*left), of_paths(*right)) == of_paths(*(left | right))
    assert fieldset.difference(of_paths(*left), of_paths(*right)) == of_paths(*(left - right))


def test_stored_order_of_paths() -> None:
    """Stored order: the path itself, fields by name, keys by value (80 before 443), values with numbers first,
    positions."""
    fields = of_paths(
        ("v:true",),
        ('v:"a"',),
        ("v:10",),
        ("v:9",),
        ("i:2",),
        ('k:{"port":443}',),
        ('k:{"port":80}',),
        ("f:z",),
        ("f:B",),
    )
    assert list(fieldset.sort_elements(fields)) == [
        "f:B",
        "f:z",
        'k:{"port":80}',
        'k:{"port":443}',
        "v:9",
        "v:10",
        'v:"a"',
        "v:true",
        "i:2",
    ]
    assert list(fieldset.sort_elements({"f:a": {"f:b": {}, ".": {}}})["f:a"]) == [".", "f:b"]


def test_paths_come_members_first() -> None:
    """The paths of one level come before those below it."""
    fields = of_paths(("f:spec", "f:z"), ("f:spec", "f:a", "f:b"))
    assert [fieldset.show(p) for p in fieldset.paths(fields)] == [".spec.z", ".spec.a.b"]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"f:a": {}}, {"f:a": {}}),
        ({'k:{"b": 1, "a":"x"}': {".": {}}}, {'k:{"a":"x","b":1}': {}}),
        ({"v:1.0": {}}, {"v:1": {}}),
        ({"i:07": {}}, {"i:7": {}}),
        ({"x:new": {}, "f:a": {}}, {"f:a": {}}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
        ({'v:"<&>"': {}}, {'v:"\\u003c\\u0026\\u003e"': {}}),
    ],
)
def test_client_field_sets_are_normalized(sent: Any, stored: Any) -> None:
    """A client's set is normalized; elements of unknown type are dropped."""
    assert fieldset.parse_root(sent) == stored


@pytest.mark.parametrize(
    "bad", [[], "x", {"a": {}}, {"f": {}}, {"f:a": 1}, {"k:[]": {}}, {"k:{": {}}, {"i:x": {}}, {"": {}}]
)
def test_invalid_field_sets_are_refused(bad: Any) -> None:
    """A malformed set is an error."""
    with pytest.raises(FieldSetError):
        fieldset.parse_root(bad)


def test_paths_in_messages() -> None:
    """Paths are formatted for messages."""
    path = ("f:spec", 'k:{"name":"a\\"b","port":80}', 'v:"x"', "v:null", "v:true", "i:3")
    assert fieldset.show(path) == '.spec[name="a\\"b",port=80][="x"][=null][=true][3]'


@given(st.lists(_SETS, max_size=5))
def test_union_of_many_sets(sets: list[frozenset[Any]]) -> None:
    """The union of many sets equals that of repeated unions."""
    parts = [of_paths(*each) for each in sets]
    empty: fieldset.FieldSet = {}
    assert fieldset.union_all(parts) == reduce(fieldset.union, parts, empty)
