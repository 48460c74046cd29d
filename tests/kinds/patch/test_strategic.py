"""Strategic merge patch: every directive, merge keys, order, and the reference's errors."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog
from orchd.kinds.ir import Type
from orchd.kinds.objects import shape
from orchd.kinds.patch import decode_result, strategic
from orchd.kinds.release import NEWEST, SPECIFICATION
from tests.kinds.patch.conftest import struct

_TEXT = Type("string")
_MERGE = frozenset(["merge"])
_ITEM = struct(
    name=_TEXT, v=_TEXT, inner=struct(a=_TEXT, b=_TEXT), tags=Type("list", element=_TEXT, merge_strategies=_MERGE)
)
KIND = Type(
    "struct",
    name="test/v1.Thing",
    members=struct(
        text=_TEXT,
        labels=Type("map", element=_TEXT),
        items=Type("list", element=_ITEM, merge_strategies=_MERGE, merge_key="name"),
        tags=Type("list", element=_TEXT, merge_strategies=_MERGE),
        plain=Type("list", element=_TEXT),
        whole=struct(a=_TEXT, b=_TEXT).with_semantics(merge_strategies=frozenset(["replace"])),
        keyless=Type("list", element=_ITEM, merge_strategies=_MERGE),
        union=struct(a=_TEXT, b=_TEXT).with_semantics(merge_strategies=frozenset(["retainKeys"])),
    ).members,
)


def _named(*names: str) -> list[dict[str, str]]:
    return [{"name": n} for n in names]


@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        # Scalars, maps, nulls.
        ({"text": "x"}, {"text": "y"}, {"text": "y"}),
        ({"text": "x"}, {"text": None, "labels": None}, {}),
        ({"labels": {"a": "1"}}, {"labels": {"b": "2"}}, {"labels": {"a": "1", "b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": "odd"}, {"labels": "odd"}),
        ({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
        # $patch on objects.
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "replace", "b": "2"}}, {"labels": {"b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "delete"}}, {"labels": {}}),
        ({"text": "x"}, {"$patch": "replace", "labels": {}}, {"labels": {}}),
        ({"text": "x"}, {"$patch": "delete"}, {}),
        # Lists by key.
        (
            {"items": [{"name": "a", "v": "1"}]},
            {"items": [{"name": "a", "v": "2"}]},
            {"items": [{"name": "a", "v": "2"}]},
        ),
        ({"items": _named("a", "b")}, {"items": _named("c")}, {"items": _named("c", "a", "b")}),
        ({"items": _named("a", "b")}, {"items": _named("c", "a")}, {"items": _named("c", "a", "b")}),
        ({"items": _named("a", "b", "c")}, {"items": _named("b", "x")}, {"items": _named("a", "b", "x", "c")}),
        ({"items": _named("a", "b")}, {"items": [{"name": "a", "$patch": "delete"}]}, {"items": _named("b")}),
        ({"items": _named("a")}, {"items": [{"name": "z", "$patch": "delete"}]}, {"items": _named("a")}),
        ({"items": _named("a")}, {"items": [{"$patch": "replace"}, {"name": "b"}]}, {"items": _named("b")}),
        ({"items": _named("a")}, {"items": []}, {"items": _named("a")}),
        (
            {"items": [{"name": "a", "inner": {"a": "1"}, "tags": ["x"]}]},
            {"items": [{"name": "a", "inner": {"b": "2"}, "tags": ["y"]}]},
            {"items": [{"name": "a", "inner": {"a": "1", "b": "2"}, "tags": ["y", "x"]}]},
        ),
        # Lists of scalars.
        ({"tags": ["a"]}, {"tags": ["b", "a"]}, {"tags": ["b", "a"]}),
        ({"tags": ["a", "b"]}, {"$deleteFromPrimitiveList/tags": ["a", "z"]}, {"tags": ["b"]}),
        ({}, {"$deleteFromPrimitiveList/tags": ["a"]}, {}),
        ({"plain": ["a"]}, {"plain": ["b"]}, {"plain": ["b"]}),
        # Order.
        ({"items": _named("a", "b")}, {"$setElementOrder/items": _named("b", "a")}, {"items": _named("b", "a")}),
        (
            {"items": _named("a", "x", "b")},
            {"$setElementOrder/items": _named("b", "a")},
            {"items": _named("x", "b", "a")},
        ),
        (
            {"items": _named("a", "b")},
            {"$setElementOrder/items": _named("c", "b", "a"), "items": _named("c")},
            {"items": _named("c", "b", "a")},
        ),
        ({"tags": ["a", "b"]}, {"$setElementOrder/tags": ["b", "a"], "tags": ["b"]}, {"tags": ["b", "a"]}),
        ({}, {"$setElementOrder/items": _named("a"), "items": _named("a")}, {"items": _named("a")}),
        ({}, {"$setElementOrder/items": _named("a")}, {}),
        # An empty order list or patch has no effect; new items with $patch delete stay, last, and lose the directive
        # later.
        ({"items": _named("a")}, {"$setElementOrder/items": [], "items": _named("b")}, {"items": _named("a", "b")}),
        (
            {},
            {"$setElementOrder/items": _named("a", "b"), "items": [{"name": "a", "$patch": "delete"}, {"name": "b"}]},
            {"items": [{"name": "b"}, {"name": "a", "$patch": "delete"}]},
        ),
        # $retainKeys.
        ({"union": {"a": "1"}}, {"union": {"$retainKeys": ["b"], "b": "2"}}, {"union": {"b": "2"}}),
        ({"union": {"a": "1"}}, {"union": {"$retainKeys": ["a"]}}, {"union": {"a": "1"}}),
        ({"union": {"a": "1"}}, {"union": {"$retainKeys": [], "a": None}}, {"union": {}}),
    ],
)
def test_strategic_merge_directives(doc: Any, patch: Any, result: Any) -> None:
    """Each directive and each type of field has the reference's result."""
    before, sent = copy.deepcopy(doc), copy.deepcopy(patch)
    assert strategic.apply(doc, patch, KIND) == result
    assert (doc, patch) == (before, sent)


@pytest.mark.parametrize(
    ("doc", "patch", "code", "message"),
    [
        ({"items": []}, {"items": [{"v": "x"}]}, 500, "map: map[v:x] does not contain declared merge key: name"),
        ({"items": []}, {"items": [{"$patch": "delete"}]}, 500, "map: map[$patch:delete] does not contain declared merge key: name"),
        ({"items": []}, {"items": [{"name": "a", "$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch"),
        ({"items": []}, {"items": [{"name": "a", "$patch": "no"}]}, 500, "unknown patch type: no in map: map[$patch:no name:a]"),
        ({"labels": {}}, {"labels": {"$patch": None}}, 500, "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]"),
        ({"items": []}, {"items": [1]}, 500, "expected a map[string]interface {}, but received a int64"),
        ({"tags": []}, {"tags": [], "$setElementOrder/tags": []}, 500, "no elements in any of the given slices"),
        ({"labels": {}}, {"labels": {"$patch": ["a", 5, {"b": None}]}}, 500,
         "unknown patch type: [a %!s(int64=5) map[b:%!s(<nil>)]] in map: map[$patch:[a 5 map[b:<nil>]]]"),
        ({"labels": {}}, {"labels": {"$patch": 5}}, 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        ({"items": _named("a")}, {"items": ["x"]}, 500, "list element types are not identical: [[map[name:a]] [x]]"),
        ({"tags": []}, {"tags": [[]]}, 422, "the server rejected our request due to an error in our request"),
        ({"keyless": _named("a")}, {"keyless": _named("b")}, 500, "cannot merge lists without merge key for struct"),
        ({"union": {}}, {"union": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"union": {}}, {"union": {"$retainKeys": [], "a": "1"}}, 400, "invalid patch format of retainKeys"),
        ({}, {"$setElementOrder/items": "x"}, 500, "expected a []interface {}, but received a string"),
        ({}, {"$setElementOrder/items": {}}, 500, "expected a []interface {}, but received a map[string]interface {}"),
        ({}, {"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({}, {"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        (
            {"items": _named("a")},
            {"$setElementOrder/items": _named("a"), "items": _named("b")},
            500,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
        ({"x": []}, {"x": []}, 500, 'unable to find api field in struct Thing for the json field "x"'),
        ({}, [1], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)  # fmt: skip
def test_invalid_patch_errors(doc: Any, patch: Any, code: int, message: str) -> None:
    """Invalid patches have the reference's errors."""
    with pytest.raises(ApiError) as caught:
        strategic.apply(doc, patch, KIND)
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"text": 1}, "cannot convert int64 to string"),
        ({"text": True}, "unrecognized type: string"),
        ({"text": []}, "unrecognized type: string"),
        ({"labels": []}, "cannot restore map from slice"),
        ({"labels": {"a": {}}}, "unrecognized type: string"),
        ({"tags": "x"}, "cannot restore slice from string"),
        ({"items": [1]}, "cannot restore struct from: int64"),
        ({"items": [{"name": "a"}], "text": None, "unknown": 1}, ""),
    ],
)
def test_patched_objects_that_do_not_fit_their_type(value: Any, message: str) -> None:
    """The error says why a patched object does not fit its type."""
    try:
        assert decode_result.restore(value, KIND) is value
        found = ""
    except decode_result.RestoreError as error:
        found = str(error)
    assert found == message


@pytest.mark.parametrize(("field", "given", "result"), [
    ("imagePullPolicy", 5, "cannot convert int64 to v1.PullPolicy"), ("stdin", "x", "unrecognized type: bool"),
    ("ports", [{"containerPort": 80.0}], [{"containerPort": 80}]), ("ports", [{"protocol": 1}], "cannot convert int64 to v1.Protocol"),
    ("ports", [{"containerPort": 99_999_999_999}], [{"containerPort": 1_215_752_191}]),
    ("ports", [{"containerPort": 1.5}], "cannot convert float64 to int32"), ("command", ["a"], ["a"]),
])  # fmt: skip
def test_restore_names_built_in_types(field: str, given: Any, result: Any, catalog: Catalog) -> None:
    """Errors name the Go types; integers keep values within their range."""
    container = catalog.type("core/v1.Container")
    try:
        assert decode_result.restore({field: given}, container) == {field: result}
    except decode_result.RestoreError as error:
        assert str(error) == result


@pytest.mark.parametrize(
    ("given", "restored", "why_patched", "decoded", "why_sent"),
    [
        ("YQ==", "YQ==", "", "YQ==", ""),
        ("Y\nQ==", "YQ==", "", "YQ==", ""),
        ("!", "", "error decoding from json: illegal base64 data at input byte 0", "", "illegal base64 data at input byte 0"),
        ([1, None], "AQA=", "", "AQA=", ""),
        ([1, 300], "ASw=", "", "", "json: cannot unmarshal number 300 into Go struct field Secret.data of type uint8"),
        ([1.5], "", "cannot convert float64 to uint8", "", "json: cannot unmarshal number 1.5 into Go struct field Secret.data of type uint8"),
        (["x"], "", "unrecognized type: uint8", "", "json: cannot unmarshal string into Go struct field Secret.data of type uint8"),
        ({}, "", "cannot restore slice from map", "", "json: cannot unmarshal object into Go struct field Secret.data of type []uint8"),
    ],
)  # fmt: skip
def test_bytes_are_base64_or_lists_of_numbers(
    given: Any, restored: str, why_patched: str, decoded: str, why_sent: str, catalog: Catalog
) -> None:
    """Patched objects and sent ones are decoded with rules of their own."""
    secret = catalog.type("core/v1.Secret")
    for decode, result, why in ((decode_result.restore, restored, why_patched), (shape.canonical, decoded, why_sent)):
        try:
            assert decode({"data": {"a": given}}, secret)["data"]["a"] == result
            found = ""
        except (decode_result.RestoreError, shape.ShapeError) as error:
            found = str(error)
        assert found == why


def test_restore_refuses_times_that_are_no_text(catalog: Catalog) -> None:
    """A time must be a string."""
    with pytest.raises(
        decode_result.RestoreError, match=r"^json: cannot unmarshal number into Go value of type string$"
    ):
        decode_result.restore({"creationTimestamp": 5}, catalog.type("meta/v1.ObjectMeta"))


@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        ({}, {"labels": {"a": None, "b": "c"}}, {"labels": {"b": "c"}}),
        ({}, {"labels": {"a": None}}, {"labels": {}}),
        ({}, {"items": [{"name": "a", "labels": None}]}, {"items": [{"name": "a"}]}),
        ({"labels": "x"}, {"labels": {"a": None}}, {"labels": {}}),
        ({}, {"labels": {"$patch": "delete"}}, {}),
        ({"text": "x"}, {"text": {"$patch": "replace"}}, {}),
        ({}, {"items": [{"name": "a", "$patch": "delete"}, {"name": "b"}]}, {"items": [{"name": "b"}]}),
        # Nulls of an object that a list gets remain.
        ({"items": [{"name": "a"}]}, {"items": [{"name": "b", "labels": None}]}, {"items": [{"name": "b", "labels": None}, {"name": "a"}]}),
    ],
)  # fmt: skip
def test_nulls_and_directives_of_new_members(doc: Any, patch: Any, result: Any) -> None:
    """Release 1.35 removes them, where that of the specification takes new members as they are sent."""
    assert strategic.apply(doc, patch, KIND, NEWEST.choose(strategic.NEW_MEMBERS)) == result
    as_sent = strategic.apply(doc, patch, KIND, SPECIFICATION.choose(strategic.NEW_MEMBERS))
    assert as_sent == (result if doc.get("items") else {**doc, **patch})


_NAMES = st.sampled_from("abcd")
_LISTS = st.lists(_NAMES, unique=True, max_size=4)
_ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 1) | _NAMES,
    lambda c: st.lists(c, max_size=2)
    | st.dictionaries(
        st.sampled_from(
            ["text", "labels", "items", "tags", "name", "$patch", "$retainKeys", "$setElementOrder/items", "$setElementOrder/tags",
             "$deleteFromPrimitiveList/tags", "union", "keyless"]
        ),
        c,
        max_size=3,
    ),
    max_leaves=10,
)  # fmt: skip


@given(_LISTS, _LISTS)
def test_merged_lists(live: list[str], patch: list[str]) -> None:
    """No item is lost or duplicated, the patch's items keep its order, the others theirs; applying twice changes
    nothing more."""
    doc = {"items": _named(*live), "tags": live}
    once = strategic.apply(doc, {"items": _named(*patch), "tags": patch}, KIND)
    names = [i["name"] for i in once["items"]]
    assert sorted(names) == sorted({*live, *patch})
    assert [n for n in names if n in patch] == patch
    assert [n for n in names if n not in patch] == [n for n in live if n not in patch]
    assert once["tags"] == names
    assert strategic.apply(once, {"items": _named(*patch), "tags": patch}, KIND) == once


def restored(value: Any) -> None:
    with contextlib.suppress(decode_result.RestoreError):
        decode_result.restore(value, KIND)


@given(st.dictionaries(st.sampled_from(["items", "tags", "labels", "union", "text"]), _ODD, max_size=4), _ODD)
def test_any_patch_applies_or_is_rejected(doc: Any, patch: Any) -> None:
    """Any patch to any document applies or raises ApiError."""
    before = copy.deepcopy(doc)
    with contextlib.suppress(ApiError):
        restored(strategic.apply(doc, patch, KIND))
    assert doc == before
