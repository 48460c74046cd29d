"""JSON patch: operations, deviations of the reference from the standard, and limits."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.errors import ApiError
from orchd.kinds.patch import json_patch

_DOC: dict[str, Any] = {"a": {"b": [1, 2, {"c": 3}]}, "n": None, "s": "x", "t~/": 1}


@pytest.mark.parametrize(
    ("operations", "change"),
    [
        ([], {}),
        (None, {}),
        ([{"op": "add", "path": "/new", "value": 1}], {"new": 1}),
        ([{"op": "add", "path": "/new"}], {"new": None}),
        ([{"op": "add", "path": "/a/b/-", "value": 9}], {"a": {"b": [1, 2, {"c": 3}, 9]}}),
        ([{"op": "add", "path": "/a/b/0", "value": 9}], {"a": {"b": [9, 1, 2, {"c": 3}]}}),
        ([{"op": "add", "path": "/a/b/-1", "value": 9}], {"a": {"b": [1, 2, {"c": 3}, 9]}}),
        ([{"op": "remove", "path": "/a/b/-1"}], {"a": {"b": [1, 2]}}),
        ([{"op": "remove", "path": "/a/b/00"}], {"a": {"b": [2, {"c": 3}]}}),
        ([{"op": "replace", "path": "/a/b/2/c", "value": {}}], {"a": {"b": [1, 2, {"c": {}}]}}),
        ([{"op": "replace", "path": "/gone", "value": 1}], {"gone": 1}),
        ([{"op": "move", "from": "/a/b/0", "path": "/a/b/1"}], {"a": {"b": [2, 1, {"c": 3}]}}),
        ([{"op": "copy", "from": "/gone", "path": "/new"}], {"new": None}),
        ([{"op": "copy", "from": "/a", "path": "/z"}, {"op": "remove", "path": "/z/b/0"}], {"z": {"b": [2, {"c": 3}]}}),
        ([{"op": "test", "path": "/gone", "value": None}, {"op": "test", "path": "/n", "value": None}], {}),
        ([{"op": "test", "path": "/a/b", "value": [1, 2, {"c": 3}]}], {}),
        ([{"op": "replace", "path": "/t~0~1", "value": 2}], {"t~/": 2}),
    ],
)
def test_json_patch_operations(operations: Any, change: Any) -> None:
    """Operations follow the standard, with the reference's negative indexes, leading zeros, and lenient replace and
    copy."""
    before = copy.deepcopy(_DOC)
    assert json_patch.apply(_DOC, json.dumps(operations).encode()) == {**_DOC, **change}
    assert before == _DOC


def test_replacing_the_whole_document() -> None:
    """The root may be replaced by an object; a scalar is ignored; a list cannot become an object."""
    assert (
        json_patch.apply(_DOC, [{"op": "replace", "path": "", "value": {"a": 1}}, {"op": "remove", "path": "/a"}]) == {}
    )
    assert json_patch.apply(_DOC, [{"op": "replace", "path": "", "value": 5}]) == _DOC
    with pytest.raises(ApiError) as caught:
        json_patch.apply(_DOC, [{"op": "replace", "path": "", "value": [1]}])
    assert caught.value.code == 422 and "cannot unmarshal array" in caught.value.message


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "nope", "path": "/a"},
        {"path": "/a"},
        {"op": "add", "value": 1},
        {"op": "add", "path": 5, "value": 1},
        {"op": "add", "path": "", "value": 1},
        {"op": "add", "path": "/gone/x", "value": 1},
        {"op": "add", "path": "/n/x", "value": 1},
        {"op": "add", "path": "/s/x", "value": 1},
        {"op": "add", "path": "/a/b/4", "value": 1},
        {"op": "add", "path": "/a/b/x", "value": 1},
        {"op": "remove", "path": "/gone"},
        {"op": "remove", "path": "/a/b/3"},
        {"op": "remove", "path": "/a/b/-4"},
        {"op": "replace", "path": "/a/b/99999999999999999999", "value": 1},
        {"op": "move", "from": "/gone", "path": "/x"},
        {"op": "move", "path": "/x"},
        {"op": "copy", "from": "/a/b/7", "path": "/x"},
        {"op": "test", "path": "/s", "value": "y"},
        {"op": "test", "path": "/s"},
        {"op": "test", "path": "/a/b/0", "value": True},
        {"op": "test", "path": "/a/b/0", "value": 1.0},
    ],
)
def test_inapplicable_operations_are_refused(operation: Any) -> None:
    """All operations that do not apply are rejected with the same kind of error."""
    with pytest.raises(ApiError) as caught:
        json_patch.apply(_DOC, [operation])
    error = caught.value
    assert (error.code, error.reason, error.details) == (422, "Invalid", {})
    assert error.message == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize(
    ("document", "code", "message"),
    [
        (b'{"a":1}', 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (b"[1]", 400, "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
        (b"{{", 400, "invalid character '{' looking for beginning of object key string"),
        (b"", 400, "unexpected end of JSON input"),
        (
            json.dumps([{}] * 10_001).encode(),
            413,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
    ],
)
def test_invalid_patch_documents_are_refused(document: bytes, code: int, message: str) -> None:
    """The patch document is validated first."""
    with pytest.raises(ApiError) as caught:
        json_patch.apply({}, document)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_copies_are_bounded() -> None:
    """Repeated copies of a copy are rejected before they exceed the limits of memory and depth."""
    blow_up = [{"op": "add", "path": "/a", "value": ["x"]}] + [{"op": "copy", "from": "/a", "path": "/a/-"}] * 60
    with pytest.raises(ApiError) as caught:
        json_patch.apply({}, blow_up)
    assert caught.value.code == 422
    nest = [{"op": "add", "path": "/a", "value": {}}] + [{"op": "copy", "from": "/a", "path": "/a/a"}] * 400
    with pytest.raises(ApiError):
        json_patch.apply({}, nest)


def test_many_operations_take_linear_time() -> None:
    """Ten thousand operations visit only what they change."""
    doc = {"l": [], "other": {"x": 1}}
    out = json_patch.apply(doc, [{"op": "add", "path": "/l/-", "value": i} for i in range(10_000)])
    assert out["l"] == list(range(10_000))
    assert out["other"] is doc["other"]


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "b"]),
    lambda c: st.lists(c, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0"]), c, max_size=3),
    max_leaves=8,
)
_POINTERS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1"]), max_size=3).map(
    lambda p: "".join(f"/{x}" for x in p)
)


@given(
    _JSON,
    st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": _POINTERS},
            optional={"from": _POINTERS, "value": _JSON},
        ),
        max_size=6,
    ),
)
def test_any_patch_applies_or_is_rejected(doc: Any, operations: Any) -> None:
    """Any patch applies or is rejected, and the original document is not modified."""
    before = copy.deepcopy(doc)
    try:
        json_patch.apply(doc, operations)
    except ApiError as error:
        assert error.code == 422
    assert json_patch.equal(doc, before)


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"op": "add", "path": "/x/y", "value": 1}, 'add operation does not apply: doc is missing path: "/x/y": missing value'),
        ({"op": "add", "path": "/a/b/9", "value": 1}, "error in add for path: '/a/b/9': Unable to access invalid index: 9: invalid index referenced"),
        ({"op": "add", "path": "/a/b/z"}, "error in add for path: '/a/b/z': value was not a proper array index: 'z': strconv.Atoi: parsing \"z\": invalid syntax"),
        ({"op": "remove", "path": "/gone"}, "error in remove for path: '/gone': Unable to remove nonexistent key: gone: missing value"),
        ({"op": "remove", "path": "/x/y"}, 'remove operation does not apply: doc is missing path: "/x/y": missing value'),
        ({"op": "replace", "path": "/x/y"}, "replace operation does not apply: doc is missing path: /x/y: missing value"),
        ({"op": "replace", "path": "/a/b/7"}, "replace operation does not apply: doc is missing key: /a/b/7: missing value"),
        ({"op": "move", "from": "/gone", "path": "/s"}, "error in move for path: 'gone': Unable to remove nonexistent key: gone: missing value"),
        ({"op": "move", "from": "/s", "path": "/x/y"}, "move operation does not apply: doc is missing destination path: /x/y: missing value"),
        ({"op": "copy", "from": "/x/y", "path": "/s"}, "copy operation does not apply: doc is missing from path: /x/y: missing value"),
        ({"op": "test", "path": "/s", "value": 1}, "testing value /s failed: test failed"),
        ({"op": "test", "path": "/x/y", "value": 1}, "test operation does not apply: is missing path: /x/y: missing value"),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        ({"op": "nope", "path": "/a"}, "Unexpected kind: nope"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
    ],
)  # fmt: skip
def test_inapplicable_operation_is_named(operation: dict[str, Any], words: str) -> None:
    """The error names the operation and the reason."""
    with pytest.raises(json_patch.FailedError) as caught:
        json_patch.apply_operations(_DOC, [operation])
    assert str(caught.value) == words


def test_members_of_results_are_sorted_where_operations_look() -> None:
    """Objects on the path of an operation have sorted members; others keep their order."""
    doc = {"z": {"b": 1, "a": 2}, "y": {"d": 1, "c": 2}}
    patched = json_patch.apply(doc, [{"op": "add", "path": "/y/a", "value": {"f": 1, "e": 2}}])
    assert json.dumps(patched) == json.dumps({"y": {"a": {"f": 1, "e": 2}, "c": 2, "d": 1}, "z": {"b": 1, "a": 2}})
