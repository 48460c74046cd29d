"""Typed values: validation, field sets, comparison, merging, extraction and removal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.ir import Type
from orchd.kinds.patch import prune, typed
from orchd.kinds.patch.fieldset import of_paths, sort_elements
from orchd.kinds.patch.typed import TypedError
from tests.kinds.patch.conftest import struct

_TEXT = Type("string")
_ITEM = struct(k=_TEXT, p=(Type("int64"), 1), v=_TEXT)
KIND = struct(
    text=_TEXT,
    count=Type("int32"),
    flag=Type("bool"),
    size=Type("quantity"),
    plain=Type("list", element=_TEXT),
    set=Type("list", element=_TEXT, list_type="set"),
    map=Type("list", element=_ITEM, list_type="map", list_keys=("p", "k")),
    merged=Type("list", element=struct(name=_TEXT, v=_TEXT), merge_strategies=frozenset(["merge"]), merge_key="name"),
    labels=Type("map", element=_TEXT),
    atomic=Type("map", element=_TEXT, atomic=True),
    inner=struct(a=_TEXT, b=_TEXT),
    whole=struct(a=_TEXT, b=_TEXT).with_semantics(atomic=True),
    any=Type("any"),
    raw=Type("raw"),
    free=Type("struct", members=(), preserve_unknown=True),
    open=Type("struct", members=struct(a=_TEXT).members, preserve_unknown=True),
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"nope": 1}, ".nope: field not declared in schema"),
        ({"inner": {"c": 1}}, ".inner.c: field not declared in schema"),
        ({"open": {"c": 1}, "free": {"x": [1]}, "any": [{}], "raw": 5}, ""),
        (
            {"text": {"a": None}},
            '.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":interface {}(nil)}}',
        ),
        ({"text": 1}, ".text: expected string, got &value.valueUnstructured{Value:1}"),
        ({"text": {"a": [1]}}, '.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{1}}}'),
        ({"count": "x"}, ".count: expected numeric (int or float), got string"),
        ({"count": True}, ".count: expected numeric (int or float), got bool"),
        ({"flag": 0}, ".flag: expected boolean, got &{0}"),
        ({"size": 1, "count": 1.5, "text": None}, ""),
        ({"labels": [1]}, ".labels: expected map, got &{[1]}"),
        ({"set": "x"}, ".set: expected list, got &{x}"),
        ({"plain": ["a", 2]}, ".plain[1]: expected string, got &value.valueUnstructured{Value:2}"),
        ({"set": ["a", "a"]}, '.set: duplicate entries for key [="a"]'),
        ({"set": [None]}, ".set: element 0: associative list without keys has an element that's an explicit null"),
        ({"set": [{}]}, ".set: element 0: associative list without keys has an element that's a map type"),
        ({"set": [[]]}, ".set: element 0: not supported: associative list with lists as elements"),
        ({"map": [{"k": "a"}, {"k": "a", "p": 1}]}, '.map: duplicate entries for key [k="a",p=1]'),
        ({"map": [{"p": 1}]}, '.map: element 0: associative list with keys has an element that omits key field "k" (and doesn\'t have default value)'),
        ({"map": [None]}, ".map: element 0: associative list with keys may not have a null element"),
        ({"map": ["x"]}, ".map: element 0: associative list with keys may not have non-map elements"),
        ({"map": [{"k": "a", "v": 1}]}, '.map[k="a",p=1].v: expected string, got &value.valueUnstructured{Value:1}'),
        ({"text": 1, "flag": 1}, "errors:\n  .text: expected string, got &value.valueUnstructured{Value:1}\n  .flag: expected boolean, got &{1}"),
    ],
)  # fmt: skip
def test_invalid_values_are_described_with_paths(value: Any, message: str) -> None:
    """Errors have the path and the reference's message."""
    if not message:
        typed.validate(value, KIND)
        return
    with pytest.raises(TypedError) as caught:
        typed.validate(value, KIND)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"text": "x"}, {"f:text": {}}),
        ({"text": None}, {"f:text": {}}),
        ({"inner": {"a": "x"}}, {"f:inner": {"f:a": {}}}),
        ({"inner": {}}, {"f:inner": {}}),
        ({"inner": None}, {"f:inner": {}}),
        ({"labels": {"x": "y"}}, {"f:labels": {"f:x": {}}}),
        ({"labels": {}}, {"f:labels": {}}),
        ({"plain": ["a"]}, {"f:plain": {}}),
        ({"set": ["a"]}, {"f:set": {'v:"a"': {}}}),
        ({"set": []}, {}),
        ({"map": [{"k": "a", "v": "x"}]}, {"f:map": {'k:{"k":"a","p":1}': {".": {}, "f:k": {}, "f:v": {}}}}),
        ({"merged": [{"name": "a"}]}, {"f:merged": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}),
        ({"atomic": {"x": "y"}, "whole": {"a": "x"}}, {"f:atomic": {}, "f:whole": {}}),
        ({"any": {"a": {"b": [1]}, "c": 1}}, {"f:any": {"f:a": {".": {}, "f:b": {}}, "f:c": {}}}),
        ({"any": [1]}, {"f:any": {}}),
        ({"raw": {"a": 1}}, {"f:raw": {}}),
        ({"open": {"a": "x", "z": {"y": 1}}}, {"f:open": {"f:a": {}, "f:z": {".": {}, "f:y": {}}}}),
    ],
)
def test_fields_of_an_applied_configuration(value: Any, fields: Any) -> None:
    """The field set of an applied configuration, by type of field."""
    assert typed.fields_of(value, KIND) == fields


@pytest.mark.parametrize(
    ("left", "right", "added", "modified", "removed"),
    [
        ({}, {"text": "x"}, {"f:text": {}}, {}, {}),
        ({"text": "x"}, {"text": "y"}, {}, {"f:text": {}}, {}),
        ({"text": "x"}, {}, {}, {}, {"f:text": {}}),
        ({"text": None}, {"text": "x"}, {}, {"f:text": {}}, {}),
        ({}, {"inner": {"a": "x"}}, {"f:inner": {".": {}, "f:a": {}}}, {}, {}),
        ({"inner": {}}, {"inner": {"a": "x"}}, {"f:inner": {"f:a": {}}}, {}, {}),
        ({"inner": {"a": "x"}}, {"inner": {}}, {}, {}, {"f:inner": {"f:a": {}}}),
        ({"inner": None}, {"inner": {}}, {}, {"f:inner": {}}, {}),
        ({}, {"labels": {}}, {"f:labels": {}}, {}, {}),
        ({"plain": ["a"]}, {"plain": ["b"]}, {}, {"f:plain": {}}, {}),
        ({}, {"set": ["a"]}, {"f:set": {".": {}, 'v:"a"': {}}}, {}, {}),
        ({"set": ["a", "b"]}, {"set": ["b", "c"]}, {"f:set": {'v:"c"': {}}}, {}, {"f:set": {'v:"a"': {}}}),
        ({"set": ["a", "b"]}, {"set": ["b", "a"]}, {}, {}, {}),
        (
            {"map": [{"k": "a", "v": "1"}]},
            {"map": [{"k": "a", "p": 1, "v": "2"}, {"k": "b"}]},
            {"f:map": {'k:{"k":"a","p":1}': {"f:p": {}}, 'k:{"k":"b","p":1}': {".": {}, "f:k": {}}}},
            {"f:map": {'k:{"k":"a","p":1}': {"f:v": {}}}},
            {},
        ),
        ({"whole": {"a": "x"}}, {"whole": {"b": "x"}}, {}, {"f:whole": {}}, {}),
        ({"any": {"a": 1}}, {"any": {"a": True}}, {}, {"f:any": {"f:a": {}}}, {}),
        ({"any": 1}, {"any": 1.0}, {}, {}, {}),
        ({"any": [1]}, {"any": {"a": 1}}, {"f:any": {"f:a": {}}}, {"f:any": {}}, {}),
        ({"any": {"a": 1}}, {"any": "x"}, {}, {"f:any": {}}, {"f:any": {"f:a": {}}}),
        ({"any": {"a": 1}}, {"any": None}, {}, {}, {"f:any": {"f:a": {}}}),
        ({"any": {}}, {"any": [1]}, {}, {"f:any": {}}, {}),
    ],
)
def test_comparison_by_leaf_and_list_key(left: Any, right: Any, added: Any, modified: Any, removed: Any) -> None:
    """Additions count with all descendants, modifications by leaf, and keyed lists by item whatever their order."""
    assert typed.compare(left, right, KIND) == (added, modified, removed)


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ([], ["a"], ["a"]),
        (["a", "b"], ["c", "b"], ["a", "c", "b"]),
        (["a", "b", "c"], ["c", "a"], ["c", "a", "b"]),
        (["a", "b", "c"], ["b"], ["a", "b", "c"]),
        (["a", "b"], ["b", "a", "c"], ["b", "a", "c"]),
        (["x", "a", "y", "b", "z"], ["b", "n", "a"], ["x", "y", "b", "n", "a", "z"]),
        (["a"], [], ["a"]),
        (["a"], None, ["a"]),
    ],
)
def test_merged_lists_follow_the_order_applied(left: Any, right: Any, merged: Any) -> None:
    """Applied items keep their order; others stay as near to their position as possible."""
    out = typed.merge({"set": left}, {"set": right}, KIND)["set"]
    assert sorted(out) == sorted(merged)
    assert [i for i in out if i in (right or [])] == (right or [])
    keyed = typed.merge({"map": [{"k": i} for i in left]}, {"map": [{"k": i, "v": "n"} for i in right or []]}, KIND)
    assert [i["k"] for i in keyed["map"]] == out


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ({"text": "x"}, {"text": "y"}, {"text": "y"}),
        ({"text": "x"}, {"text": None}, {"text": None}),
        ({"labels": {"a": "1"}}, {"labels": {"b": "2"}}, {"labels": {"a": "1", "b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": None}, {"labels": {"a": "1"}}),
        ({"labels": None}, {"labels": {}}, {"labels": {}}),
        ({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
        ({"plain": ["a"]}, {"plain": ["b"]}, {"plain": ["b"]}),
        ({"any": {"a": {"b": 1}}}, {"any": {"a": {"c": 2}}}, {"any": {"a": {"b": 1, "c": 2}}}),
        ({"any": {"a": 1}}, {"any": [2]}, {"any": [2]}),
        ({"any": [2]}, {"any": {"a": 1}}, {"any": {"a": 1}}),
        ({"raw": {"a": 1}}, {"raw": {"b": 1}}, {"raw": {"b": 1}}),
    ],
)
def test_granular_values_merge_and_atomic_ones_are_replaced(left: Any, right: Any, merged: Any) -> None:
    """Granular values are merged, atomic ones replaced."""
    assert typed.merge(left, right, KIND) == merged


def _containers(count: int) -> list[dict[str, Any]]:
    return [{"name": f"c{i}", "image": "i", "env": [{"name": "Z"}, {"name": "A"}]} for i in range(count)]


def test_fields_of_equal_lists_are_found_once() -> None:
    """Pods of one template have the same containers: their fields are computed for the first one, unless there are too
    many to be remembered."""
    resource = builtin_catalog(ORCH).resource("", "v1", "pods")
    assert resource is not None
    remembered = typed._fields_of_text
    for count, lists in ((2, 1), (500, 0)):
        remembered.cache_clear()
        fields = [
            typed.compare({"spec": {"containers": None}}, {"spec": {"containers": _containers(count)}}, resource.type)
            for _ in range(2)
        ]
        assert fields[0] == fields[1]
        assert (remembered.cache_info().hits, remembered.cache_info().currsize) == (lists, lists)
        added = fields[0][0]["f:spec"]["f:containers"]
        assert added.keys() == {f'k:{{"name":"c{i}"}}' for i in range(count)}
        assert list(added['k:{"name":"c0"}']["f:env"]) == [".", 'k:{"name":"A"}', 'k:{"name":"Z"}']


def test_items_without_identity_are_reported_before_repeated_ones() -> None:
    """The first item without identity is named, then the first identity that is repeated."""
    items: list[Any] = [{"name": "a"}, {"name": "b"}, {"name": "b"}, {"name": "a"}]
    with pytest.raises(TypedError, match=r'duplicate entries for key \[name="b"\]'):
        typed.compare({}, {"merged": items}, KIND)
    with pytest.raises(TypedError, match=r"element 4: .* may not have a null element"):
        typed.compare({}, {"merged": [*items, None, None]}, KIND)


_WORDS = st.sampled_from(["a", "b", "c"])
_MAPS = st.dictionaries(_WORDS, _WORDS, max_size=3)
_VALUES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "text": _WORDS,
        "plain": st.lists(_WORDS, max_size=2),
        "set": st.lists(_WORDS, unique=True, max_size=3),
        "map": st.lists(
            st.fixed_dictionaries({"k": _WORDS}, optional={"v": _WORDS}), unique_by=lambda i: str(i["k"]), max_size=3
        ),
        "labels": _MAPS,
        "atomic": _MAPS,
        "inner": st.fixed_dictionaries({}, optional={"a": _WORDS, "b": _WORDS}),
        "any": st.recursive(_WORDS, lambda c: st.dictionaries(_WORDS, c, max_size=2), max_leaves=4),
        "free": st.dictionaries(_WORDS, st.integers(0, 2), max_size=2),
    },
)


@given(_VALUES, _VALUES)
def test_merge_is_idempotent(left: Any, right: Any) -> None:
    """Merging a configuration into its own result changes nothing and returns the same value."""
    once = typed.merge(left, right, KIND)
    assert typed.merge(once, right, KIND) is once
    assert typed.compare(once, once, KIND) == ({}, {}, {})


@given(_VALUES, _VALUES)
def test_comparison_is_symmetric(left: Any, right: Any) -> None:
    """Added fields are removed ones in the other direction; modified fields are the same."""
    added, modified, removed = typed.compare(left, right, KIND)
    assert typed.compare(right, left, KIND) == (removed, modified, added)


@given(_VALUES, _VALUES)
def test_sets_of_values_are_in_stored_order(left: Any, right: Any) -> None:
    """Sets that are computed from values need not be sorted to be stored."""
    for fields in (*typed.compare(left, right, KIND), typed.fields_of(left, KIND)):
        assert json.dumps(fields) == json.dumps(sort_elements(fields))


@given(_VALUES)
def test_removing_all_fields_leaves_nothing(value: Any) -> None:
    """Removing all fields of a value leaves no leaf."""
    fields = typed.fields_of(value, KIND)
    # An empty list that merges by item has no owner.
    unowned = {k: v for k, v in value.items() if k in ("set", "map") and not v}
    assert prune.remove(value, prune.with_named_members(fields, KIND), KIND) == (unowned or ({} if not value else None))


def test_removal_by_key() -> None:
    """Items are found by key; a value that loses its last part stays as null."""
    value = {"map": [{"k": "a", "v": "x"}, {"k": "b"}], "labels": {"a": "1"}, "set": ["a", "b"]}
    gone = of_paths(
        ("f:map", 'k:{"k":"a","p":1}', "f:v"), ("f:map", 'k:{"k":"b","p":1}'), ("f:labels", "f:a"), ("f:set", 'v:"a"')
    )
    assert prune.remove(value, gone, KIND) == {"map": [{"k": "a"}], "labels": None, "set": ["b"]}
    whole = of_paths(("f:set", 'v:"a"'), ("f:set", 'v:"b"'), ("f:map",), ("f:labels",))
    assert prune.remove(value, whole, KIND) == {"set": None}


def test_named_members_of_field_paths() -> None:
    """Declared fields on the path count as members, map keys and list items do not."""
    fields = of_paths(("f:inner", "f:a"), ("f:any", "f:x", "f:y"), ("f:map", 'k:{"k":"a","p":1}', "f:v"))
    assert prune.with_named_members(fields, KIND) == {
        "f:inner": {".": {}, "f:a": {}},
        "f:any": {".": {}, "f:x": {"f:y": {}}},
        "f:map": {".": {}, 'k:{"k":"a","p":1}': {"f:v": {}}},
    }


@pytest.mark.parametrize(
    ("owned", "now"),
    [
        # Granular became atomic.
        ({"f:atomic": {"f:x": {}}}, {"f:atomic": {}}),
        ({"f:whole": {".": {}, "f:a": {}}}, {"f:whole": {}}),
        ({"f:plain": {'v:"a"': {}}}, {"f:plain": {}}),
        # Atomic became granular, as if it had always been.
        ({"f:labels": {}}, None),
        ({"f:set": {}}, None),
        # No change.
        ({"f:labels": {".": {}, "f:a": {}}, "f:text": {}}, None),
        ({"f:any": {"f:x": {}}, "f:gone": {"f:y": {}}}, None),
    ],
)
def test_field_sets_follow_schema_changes(owned: Any, now: Any) -> None:
    """Field sets are adapted to a type that became atomic, and otherwise unchanged."""
    after = prune.reconcile(owned, KIND)
    if now is None:
        assert after is owned
    else:
        assert after == now


def test_a_kind_within_a_kind_has_its_names() -> None:
    """Claim templates of stateful sets declare apiVersion and kind, pod templates do not."""
    type = builtin_catalog(ORCH).type("apps/v1.StatefulSet")
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    typed.validate({"spec": {"volumeClaimTemplates": [claim]}}, type)
    with pytest.raises(typed.TypedError, match=r"\.spec\.template\.kind: field not declared in schema"):
        typed.validate({"spec": {"template": {"kind": "Pod"}}}, type)
