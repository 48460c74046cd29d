"""Decoding and encoding of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.codec import json_
from orchd.kinds.gotext.json_syntax import syntax_error
from orchd.kinds.objects.strict import Members

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a":{"b":"c"', "unexpected end of JSON input"),
        (b'{"a":1} garbage', "invalid character 'g' after top-level value"),
        (b"{}{}", "invalid character '{' after top-level value"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{/*x*/"a":1}', "invalid character '/' looking for beginning of object key string"),
        (b'{"a":NaN}', "invalid character 'N' looking for beginning of value"),
        (b'"a\\x"', "invalid character 'x' in string escape code"),
        (b'"a\tb"', "invalid character '\\t' in string literal"),
        (b'\xef\xbb\xbf{"a":1}', "invalid character '\u00ef' looking for beginning of value"),
        (b"\x00\x00", "invalid character '\\x00' looking for beginning of value"),
        (b"a: b", "invalid character 'a' looking for beginning of value"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"nul", "unexpected end of JSON input"),
        (b"nulx", "invalid character 'x' in literal null (expecting 'l')"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"[" * 20000, "invalid character '[' exceeded max depth"),
        (b'{"a":' * 10_001 + b"1" + b"}" * 10_001, "invalid character '{' exceeded max depth"),
    ],
)
def test_malformed_json_errors(text: bytes, message: str) -> None:
    """Malformed JSON is rejected with the reference's messages."""
    with pytest.raises(json_.JSONError) as caught:
        json_.decode(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":1,"a":2}', {"a": 2}),
        (b' {"\\u006bind":1} ', {"kind": 1}),
        (b'"\xff\xfe\xc3"', "\ufffd" * 3),
        (b'"\\ud800x"', "\ufffdx"),
        (b"99999999999999999999", 1e20),
        (b"null", None),
    ],
)
def test_repeated_keys_and_invalid_unicode_are_accepted(text: bytes, value: object) -> None:
    """The last of repeated keys counts; invalid Unicode becomes replacement characters."""
    assert json_.decode(text) == value


def test_numbers_keep_their_spelling() -> None:
    """A number that a message has to quote keeps its spelling."""
    value = json_.decode_exact(b'{"a":[1.0,1e2,5]}')
    assert [getattr(v, "text", v) for v in value["a"]] == ["1.0", "1e2", 5] and value["a"][1] == 100


def test_strict_decoding_keeps_pairs_in_order() -> None:
    """Strict decoding returns objects as pairs in the order of the text, repeated keys included."""
    text = b' { "a" :[1,-2.5e1, "\\ud800x\xff" ,{},[ ],null,true] ,"a":false, "n": 99999999999999999999 }\n'
    assert json_.decode_members(text) == [
        ("a", [1, -25.0, "\ufffdx\ufffd", [], [], None, True]), ("a", False), ("n", 1e20),
    ]  # fmt: skip


@pytest.mark.parametrize("depth", [250, 251, 1024, 1025, 10_000])
def test_nesting_depth_is_limited(depth: int) -> None:
    """Nesting is accepted up to the reference's limit, independent of the stack; deeper values are rejected when they
    are encoded."""
    for opening, closing in ((b"[", b"]"), (b'{"a":[', b"]}")):
        levels = len(opening.replace(b'"a":', b""))
        times = depth // levels
        text = opening * times + closing * times
        value = json_.decode(text)
        for _ in range(times - 1):
            value = value[0] if isinstance(value, list) else value["a"][0]
        assert value in ([], {"a": []})
        assert json_.too_deep(json_.decode(text)) is (times * levels > 254)
        assert json_.may_be_too_deep(text) is (times * levels > 250)
        assert json_.decode_members(text)


def test_compact_and_indented_output() -> None:
    """Compact bodies end with a newline, indented ones do not; HTML characters are escaped."""
    value = {"a": "<&>\u2028", "b": {}, "c": [1]}
    assert json_.body(value) == b'{"a":"\\u003c\\u0026\\u003e\\u2028","b":{},"c":[1]}\n'
    assert json_.body({"a": [1]}, pretty=True) == b'{\n  "a": [\n    1\n  ]\n}'
    assert json_.decode(json_.encode(value)) == value


@given(VALUES)
def test_encoded_json_round_trips(value: object) -> None:
    """Encoded JSON is decoded to the same value by every decoder, and is valid for the scanner."""
    data = json_.encode(value)
    assert json_.decode(data) == value
    assert syntax_error(data) == ""
    assert json_.decode_exact(data) == value
    assert plain(json_.decode_members(data)) == value


def plain(value: Any) -> Any:
    if isinstance(value, Members):
        return {key: plain(item) for key, item in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:\\u0123eE+-.tfn ', max_size=40).map(str.encode))
def test_scanner_agrees(data: bytes) -> None:
    """The scanner reports an error exactly where the standard library does."""
    text = data.decode("utf-8", "replace")
    try:
        json.loads(text, parse_constant=lambda name: [][0])
        valid = True
    except (ValueError, IndexError):
        valid = False
    assert (syntax_error(text.encode()) == "") is valid
    try:
        json_.decode(data)
    except json_.JSONError as error:
        assert str(error)
