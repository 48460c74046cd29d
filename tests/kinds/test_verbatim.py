"""Objects whose exact JSON text matters."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.codec import json_
from orchd.kinds.codec.decode import ExpectedKind, decode_object
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.verbatim import Verbatim, member_text, preserve_text, sort_member, text_of

values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('{}[]:,"\\\\é', max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text('ad",{', max_size=2), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.text("adt", max_size=2) | st.just("data"), values, max_size=4), st.sampled_from([None, 0, 1]))
@example({"a": {"data": 1}, "data": {"b": [":", ","]}}, None)
@example({"data": ""}, 1)
def test_a_member_is_found_in_any_document(document: dict[str, Any], indent: int | None) -> None:
    """The member is found in any formatting; the same text in other members or strings is ignored."""
    text = json.dumps(document, indent=indent).encode()
    member = member_text(text, "data")
    assert b"\n" not in member
    if "data" in document:
        assert json.loads(member) == document["data"]
    else:
        assert member == b""


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (b'{"data": {"a": 1} , "x": 1}', b'{"a": 1}'),
        (b'{"x":[{"data":1}],"data":\n{\n"a":1}\n}', b'{ "a":1}'),
        (b"{}", b""),
    ],
)
def test_member_texts_are_single_line(document: bytes, text: bytes) -> None:
    """White space at the ends is stripped; line breaks become spaces."""
    assert member_text(document, "data") == text


def test_text_of_a_member_is_preserved() -> None:
    """The member keeps the text that was sent; other values are encoded compactly."""
    revision = {"kind": "ControllerRevision", "data": {"b": 1, "a": [1, 2]}}
    stored = preserve_text(revision, json.dumps(revision).encode(), "data")
    assert stored == revision and isinstance(stored["data"], Verbatim)
    assert (text_of(stored["data"]), text_of(revision["data"])) == (b'{"b": 1, "a": [1, 2]}', b'{"b":1,"a":[1,2]}')
    for other in ({"kind": "ControllerRevision", "data": [1]}, {"kind": "ControllerRevision"}):
        assert preserve_text(other, json.dumps(other).encode(), "data") is other


@pytest.mark.parametrize("text", [
    b'{"data":{"a":"\xff"}}', b'{"data":{"\xed\xa0\x80":1}}', b'{"data":{"a":"\\ud800"}}', b'{"data":{"\\udc00x":1}}',
    b'{"data":{"a":1},"data":{"a":2}}',
])  # fmt: skip
def test_texts_that_read_differently_are_not_preserved(text: bytes) -> None:
    """A text that is no UTF-8 or has lone surrogates, which decoding replaces, is not kept; nor is that of an earlier
    member."""
    obj = json_.decode(text)
    stored = preserve_text(obj, text, "data")
    assert stored is obj and not isinstance(stored["data"], Verbatim)
    orjson.dumps(stored)


def test_numbers_beyond_floats_are_no_text() -> None:
    """Data with a number beyond the range of floats, which cannot be stored, is refused; a change with one differs."""
    catalog = builtin_catalog(ORCH)
    revision = catalog.kind("apps/v1", "ControllerRevision")
    assert revision is not None
    body = b'{"apiVersion":"apps/v1","kind":"ControllerRevision","data":{"a":1e400}}'
    with pytest.raises(ApiError) as caught:
        decode_object(body, Form.JSON, ExpectedKind.of(revision), catalog=catalog)
    assert caught.value.code == 400 and "cannot unmarshal number 1e400" in caught.value.message
    assert text_of(json_.decode(body)["data"]) != text_of({"a": 1})


def test_members_are_sorted_without_a_preserved_text() -> None:
    """Values that were not sent as JSON are encoded with sorted members, and whole numbers without a fraction."""
    value = {"data": {"b": [{"d": 1.0, "c": 0.5}], "a": 1e300}}
    assert text_of(sort_member(value, "data")["data"]) == b'{"a":1e+300,"b":[{"c":0.5,"d":1}]}'
    sent = preserve_text(value, b'{"data": {"b": [{"d": 1.0, "c": 0.5}], "a": 1e300}}', "data")
    assert sort_member(sent, "data") is sent and sort_member({}, "data") == {}
