"""JSON objects in YAML bodies: the fast path gives what the YAML parser gives, or leaves the text to it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds import bounds
from orchd.kinds.codec import yaml_, yaml_json

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
#: Pieces of text that is nearly JSON.
_PIECES = st.sampled_from(
    ['{"a":', "{", "}", "[", "]", ",", ":", '"', '"b"', " ", "\t", "\n", "1", "-0", "1e5", "0x1", "~", "yes", "<<", '"<<"', "&a",
     "*a", "#", "\\", "\\u00e9", "\\/", "\\n", "true", "null", "- ", "? ", "!!str ", "%", "---", "'", "|", ">", "é",
     '"\\u003c"', '"\\ud83d"', '"\\\\"', '"\\" :"', '"\\\\" :', "\u2028", "\x85"]
)  # fmt: skip


def _by_yaml(data: bytes) -> object:
    return yaml_._Builder(data).document()


def _typed(value: object) -> str:
    """The value as text, with 1, True and 1.0 told apart."""
    return json.dumps(value, sort_keys=True)


@given(
    st.dictionaries(st.text(), _VALUES, max_size=5),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (", ", " : ")]),
)
def test_fast_path_equals_the_yaml_parser(
    value: dict[str, object], ascii_only: bool, separators: tuple[str, str]
) -> None:
    """An object that the fast path decodes equals that of the YAML parser."""
    data = json.dumps(value, ensure_ascii=ascii_only, separators=separators).encode("utf-8", "surrogatepass")
    obj = yaml_json.decode_object(data)
    if obj is not None:
        assert _typed(obj) == _typed(_by_yaml(data))


@given(st.lists(_PIECES, max_size=14))
def test_fast_path_equals_the_yaml_parser_on_odd_texts(pieces: list[str]) -> None:
    """The same for texts that may be invalid JSON or YAML."""
    data = ('{"k":' + "".join(pieces) + "}").encode()
    obj = yaml_json.decode_object(data)
    if obj is not None:
        assert _typed(obj) == _typed(_by_yaml(data))


def test_common_configurations_take_the_fast_path() -> None:
    data = (
        b'{"apiVersion":"v1","data":{"a":"x: y # \\"z\\"\\n","n":"1","u":"\\u003c\xc3\xa9","p":"\\\\d+\\" :"},'
        b'"kind":"ConfigMap","metadata":{"name":"c"},"n":[1,true,null]}\n'
    )
    assert yaml_json.decode_object(data) == _by_yaml(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1.0}', b'{"a":[{"b":1e5}]}', b'{"a":"\\ud83d\\ude00"}', b'{"a":"\\/"}', '{"a":"\x85"}'.encode(), b'{"a":\n1}', b'{"a" :1}',
        b"{a: 1}", b'{"a":1}\n---\n{"b":1}', b'{"%b":1}' % (b"k" * 171), b'{"a":{"%b":1}}' % (b"k" * 171),
        b'{"a":[%b1]}' % (b"1," * bounds.MAX_VALUES), b'{"a":%b%b}' % (b"[" * 1010, b"]" * 1010), '{"a":"\u2028"}'.encode(),
        '{"\ufeffa":1}'.encode(), b"[1]", b'"a"', b"", b'{"a":"\x7f"}',
    ],
)  # fmt: skip
def test_ambiguous_texts_use_the_yaml_parser(data: bytes) -> None:
    """Texts that YAML and JSON may read differently are left to the YAML parser."""
    assert yaml_json.decode_object(data) is None


def test_decode_uses_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_, "_Builder", None)
    assert yaml_.decode(b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize("line", ["- 1\n", "k{}: 1\n"])
def test_keys_are_no_values(line: str) -> None:
    """The limit on the values of a YAML document does not count keys, as that of JSON does not."""
    most = bounds.MAX_VALUES - 1
    lines = [line.format(number) for number in range(bounds.MAX_VALUES)]
    assert len(yaml_.decode("".join(lines[:most]).encode())) == most
    with pytest.raises(yaml_.YAMLError, match="holds more than"):
        yaml_.decode("".join([*lines, *lines[:1]]).encode())
