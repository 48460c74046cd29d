"""Stored bytes: one canonical encoding, into which the revision is spliced."""

from __future__ import annotations

import tracemalloc
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.cache.stored_encoding import at_revision, encode, with_origin, with_revision, without_revision
from orchd.kinds.codec.sortedjson import sorted_form

#: Any text that UTF-8 can encode.
TEXT = st.characters(exclude_categories=["Cs"])
json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(TEXT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=8,
)
#: Members of metadata that must be strings, which `encode` checks.
STRINGS = ("name", "generateName", "namespace", "selfLink", "uid")
awkward = st.sampled_from(['"resourceVersion":""', "resourceVersion", '\\"resourceVersion\\":\\"\\"', "\\", '"'])
names = st.text(TEXT, max_size=20) | awkward


def test_stored_members_are_ordered() -> None:
    """Members are ordered: kind, apiVersion, metadata in the API's order, the others as they come; resourceVersion is
    left out."""
    obj = {"spec": {"a": 1}, "kind": "K", "metadata": {"name": "n", "resourceVersion": "7"}, "apiVersion": "v1"}
    assert encode(obj) == (
        b'{"kind":"K","apiVersion":"v1","metadata":{"name":"n","resourceVersion":""},"spec":{"a":1}}'
    )
    assert obj["metadata"] == {"name": "n", "resourceVersion": "7"}


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"metadata": None},
        {"metadata": []},
        {"metadata": {}, "kind": {"resourceVersion": ""}},
        {"metadata": {"name": {"resourceVersion": ""}}},
    ],
    ids=["no metadata", "null metadata", "list", "kind is no string", "name is no string"],
)
def test_values_without_kind_or_metadata_are_refused(obj: Any) -> None:
    """Without metadata there is no place for the revision; a kind that is an object could imitate metadata."""
    with pytest.raises(ValueError):
        encode(obj)


@pytest.mark.parametrize("names", [{}, {"apiVersion": "v1"}, {"kind": "K"}, {"apiVersion": "v1", "kind": 1}])
def test_custom_objects_without_names_are_refused(names: Any) -> None:
    """What the members of a custom object are sorted by must be there."""
    with pytest.raises(ValueError, match="apiVersion and kind must be strings"):
        encode({"metadata": {}, **names}, custom=True)


def test_stored_bytes_have_no_spare_capacity() -> None:
    """Stored bytes, which live as long as their object, have no spare capacity."""
    obj = {"metadata": {"name": "n"}, "data": {"a": "x" * 3000}}
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = [encode(obj) for _ in range(50)]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1.2 * sum(map(len, kept))


def test_bytes_without_a_place_for_the_revision_are_refused() -> None:
    """Bytes that `encode` did not produce raise an error."""
    with pytest.raises(ValueError):
        with_revision(b'{"metadata":{}}', 3)


@given(
    st.text(TEXT, max_size=30) | awkward,
    st.text(TEXT, max_size=30) | awkward,
    st.dictionaries(names.filter(lambda name: name not in STRINGS), json_values | awkward),
    st.dictionaries(names, json_values | awkward),
    st.integers(1, 2**62),
)
def test_only_the_revision_changes(version: str, kind: str, metadata: Any, rest: Any, revision: int) -> None:
    """Decoding returns the encoded object, whatever it contains, with the revision as its resourceVersion."""
    obj = {**rest, "apiVersion": version, "kind": kind, "metadata": metadata}
    expected = {**obj, "metadata": {**metadata, "resourceVersion": str(revision)}}
    got = with_revision(encode(obj), revision)
    assert orjson.loads(got) == expected
    expected["metadata"]["resourceVersion"] = str(revision + 1)
    assert orjson.loads(at_revision(got, revision, revision + 1)) == expected


MARK = '{"resourceVersion":"","uid":"u"}'
CUSTOM: dict[str, Any] = {
    "kind": "K",
    "spec": {"b": 1.0, "a": [{"z": "<&>", "y": 1e21}]},
    "metadata": {
        "uid": "u", "name": "n", "resourceVersion": "7",
        "annotations": {"resourceVersion": "", "x": MARK, "a": '"resourceVersion": ""'},
    },
    "apiVersion": "x/v1",
    "alpha": {"resourceVersion": ""},
}  # fmt: skip


@pytest.mark.parametrize("text", ["plain", "<escaped>", "\u2028"])
@pytest.mark.parametrize("custom", [False, True])
def test_stored_bytes_are_found_in_what_is_served(custom: bool, text: str) -> None:
    """The origin of served bytes yields the stored ones; escaped bytes have none."""
    value = encode({**CUSTOM, "spec": {"text": text}}, custom=custom)
    served, lent = with_origin(value, 1234)
    assert served == with_revision(value, 1234)
    if text != "plain":
        assert lent is None
        return
    assert lent is not None and lent.text is served
    assert lent.text[: lent.start] + lent.former + lent.text[lent.stop :] == value


def test_custom_kind_members_are_sorted() -> None:
    """Members of custom objects are sorted and their numbers formatted as the reference does; the revision is found at
    any place."""
    served = with_revision(encode(CUSTOM, custom=True), 9)
    metadata = CUSTOM["metadata"]
    assert served == (
        b'{"alpha":{"resourceVersion":""},"apiVersion":"x/v1","kind":"K","metadata":{"annotations":'
        + orjson.dumps(metadata["annotations"], option=orjson.OPT_SORT_KEYS)
        + b',"name":"n","resourceVersion":"9","uid":"u"},'
        b'"spec":{"a":[{"y":1e+21,"z":"\\u003c\\u0026\\u003e"}],"b":1}}'
    )


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("version", ["9", "7", ""])
def test_revision_of_objects_is_replaced_in_place(version: str, custom: bool) -> None:
    """Only the revision changes, whatever a client wrote into annotations and before them."""
    metadata = {**CUSTOM["metadata"], "annotations": {"resourceVersion": version}}
    obj = {**CUSTOM, "metadata": metadata, "alpha": {"resourceVersion": version}}
    moved = orjson.loads(at_revision(with_revision(encode(obj, custom=custom), 9), 9, 10))
    assert moved["metadata"].pop("resourceVersion") == "10"
    assert moved["metadata"]["annotations"] == {"resourceVersion": version} == moved["alpha"]


def test_revision_is_the_first_of_two() -> None:
    """What a sorted object has before its metadata may look like its revision."""
    obj = {**CUSTOM, "metadata": {"name": "n"}, "alpha": {"resourceVersion": "9"}}
    moved = orjson.loads(at_revision(with_revision(encode(obj, custom=True), 9), 9, 10))
    assert (moved["alpha"], moved["metadata"]["resourceVersion"]) == ({"resourceVersion": "9"}, "10")


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("sent", ["", 'v1/"x"<'])
def test_version_of_dry_run_objects(custom: bool, sent: str) -> None:
    """The object of a dry run has the version that was sent; members that look like it stay."""
    like = {"resourceVersion": "", "x": 1}
    obj = {"apiVersion": "x/v1", "kind": "K", "metadata": {"name": "n", "uid": "u"}, "spec": like, "status": like}
    shown = without_revision(encode(obj, custom=custom), sent)
    assert orjson.loads(shown)["metadata"].pop("resourceVersion", "") == sent
    assert orjson.loads(shown)["spec"] == orjson.loads(shown)["status"] == like and b"<" not in shown


def test_dry_run_objects_have_no_version() -> None:
    """Objects of a dry run have no resourceVersion."""
    for custom in (False, True):
        shown = orjson.loads(without_revision(encode(CUSTOM, custom=custom)))
        del shown["metadata"]["annotations"]
        assert shown["metadata"] == {"name": "n", "uid": "u"}
        assert shown["alpha"] == {"resourceVersion": ""}


def test_values_of_earlier_releases() -> None:
    """Custom objects that an earlier release stored in the form of built-in ones are read, and served sorted."""
    served = with_revision(encode(CUSTOM), 9)
    assert served.startswith(b'{"kind":')
    assert sorted_form(served) == with_revision(encode(CUSTOM, custom=True), 9)


def test_html_characters_are_escaped_when_served() -> None:
    """HTML characters are escaped in responses and not in the store."""
    obj = {"kind": "K", "apiVersion": "v1", "metadata": {"name": "n"}, "data": {"k": "<a&b>\u2028"}}
    assert b"<a&b>" in encode(obj)
    assert b'"k":"\\u003ca\\u0026b\\u003e\\u2028"' in with_revision(encode(obj), 3)
