"""Decoding and encoding of YAML."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.codec import yaml_

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]) | st.just("\n")),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(codec="ascii", categories=["L", "N", "P"])), inner)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", None),
        (b"a: yes\nb: No\nc: on\nd: y\ne: 'y'", {"a": True, "b": False, "c": True, "d": True, "e": "y"}),
        (b"[0x1F, 010, 0o10, 0b11, 1_000, -5, 1e3, .5, 1.]", [31, 8, 8, 3, 1000, -5, 1000.0, 0.5, 1.0]),
        (
            b"[2020-01-01, 2020-01-01T00:00:00Z, 1.2.3, 1:30, ~, null, '', !!str 5, !!int 5]",
            ["2020-01-01", "2020-01-01T00:00:00Z", "1.2.3", "1:30", None, None, "", "5", 5],
        ),
        (b"a: 1\n---\nb: 2\n", {"a": 1}),
        (b"1: a\ntrue: b\n1.5: c", {"1": "a", "true": "b", "1.5": "c"}),
        (
            b"a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\ne: *x",
            {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}, "e": {"b": 1, "c": 2}},
        ),
        (b"a: 1\na: 2", {"a": 2}),
        (b'{"a": [1, "b"]}', {"a": [1, "b"]}),
        (b"a: |\n  x\n  y\n", {"a": "x\ny\n"}),
    ],
)
def test_yaml_1_1_decoding(text: bytes, value: object) -> None:
    """YAML 1.1 scalars, timestamps as text, the first document only, keys as text, merge keys; the last of repeated
    keys counts."""
    assert yaml_.decode(text) == value


def test_whole_numbers_are_no_fractions() -> None:
    """Numbers with a fraction or exponent become those that JSON would have: integers where they are whole and JSON
    writes no exponent."""
    value = yaml_.decode(b"[1e3, 1.0, -2.0, 1e20, 1e21, 1.5]")
    assert [type(each) for each in value] == [int, int, int, int, float, float]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: b: c\n  - x", "yaml: mapping values are not allowed in this context"),
        (b"apiVersion: v1\nkind: [", "yaml: line 2: did not find expected node content"),
        (b"a: [", "yaml: line 1: did not find expected node content"),
        (b"a: *n", "yaml: unknown anchor 'n' referenced"),
        (b"a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        (b"x: .nan", "json: unsupported value: NaN"),
        (b"? [a]\n: b", 'yaml: invalid map key: []interface {}{"a"}'),
    ],
)
def test_malformed_yaml_errors(text: bytes, message: str) -> None:
    """Malformed YAML is rejected with the reference's messages."""
    with pytest.raises(yaml_.YAMLError) as caught:
        yaml_.decode(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", [b"- " * 30000, b"[" * 30000, b"x: 1\ny:\n " + b"[\n" * 10_002])
def test_deep_documents_are_refused(text: bytes) -> None:
    """Collections deeper than 10,000 are refused with the reference's message; libyaml refuses them itself from 0.2.6
    on."""
    with pytest.raises(yaml_.YAMLError, match=r"exceeded max(imum nesting depth| depth of 10000)$"):
        yaml_.decode(text)


def test_alias_expansion_is_bounded() -> None:
    """Aliases cannot expand a small document to a huge one."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    with pytest.raises(yaml_.YAMLError, match="excessive aliasing"):
        yaml_.decode("\n".join(lines).encode())


def test_yaml_output_style() -> None:
    """Keys are sorted, lists are not indented, ambiguous text is quoted, multi-line text is a block."""
    value = {"b": ["1", 1, True, None, "true", "y", "a\nb\n", ""], "a": {}, "t": "2020-01-01T00:00:00Z", "l": []}
    assert yaml_.encode(value) == (
        b'a: {}\nb:\n- "1"\n- 1\n- true\n- null\n- "true"\n- "y"\n- |\n  a\n  b\n- ""\nl: []\nt: "2020-01-01T00:00:00Z"\n'
    )


@given(VALUES)
def test_encoded_yaml_round_trips(value: object) -> None:
    """Encoded YAML is decoded to the same value."""
    assert yaml_.decode(yaml_.encode(value)) == value


@given(st.binary(max_size=80) | st.text(alphabet="ab:-[]{}&*!|>'\"\n ,#%@<0x1.", max_size=60).map(str.encode))
def test_any_bytes_are_a_value_or_a_yaml_error(data: bytes) -> None:
    """Any bytes decode to a value or raise YAMLError."""
    try:
        yaml_.decode(data)
    except yaml_.YAMLError as error:
        assert str(error)


@pytest.mark.parametrize(("text", "lines"), [
    ("a: 1\nb: 2", []), ("a: 1\na: 2\n", ['line 2: key "a"']), ("a: {b: 1, b: 2}\na: 3", ['line 1: key "b"', 'line 2: key "a"']),
    ("- a: 1\n  a: 2", ['line 2: key "a"']), ("a:\n  1.5: x\n  1.5: y\n  yes: 1\n  true: 2\n  '1': z\n  1: b", [
        "line 3: key 1.5", "line 5: key true"]),
    ("s:\n  p: 1\n  'p': true\n  \"p\":\n    x: 1\n    x: 2", ['line 3: key "p"', 'line 6: key "x"', 'line 5: key "p"']),
    ("a: &x 1\nb: *x\nb: *x", ['line 3: key "b"']), ('{"a": 1,\n"b": 2,\n"a": {}}', ['line 3: key "a"']),
])  # fmt: skip
def test_strict_decoding_names_repeated_keys(text: str, lines: list[str]) -> None:
    """Strict decoding reports repeated keys with the line of the later value; keys are compared before their conversion
    to text."""
    expected = (
        "\n  ".join(["yaml: unmarshal errors:", *(f"{line} already set in map" for line in lines)]) if lines else ""
    )
    assert yaml_.duplicates(text.encode()) == expected


@given(VALUES)
def test_edited_yaml_round_trips(value: object) -> None:
    """YAML for people is decoded to the same value, and has no character that is not seen."""
    text = yaml_.encode_edited(value)
    assert yaml_.decode_edited(text) == yaml_.decode(text) == value
    assert not re.search("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]", text.decode())


@pytest.mark.parametrize("text", [
    "a\u00ad", "\u3164", "\u115f", "a\u180e", "a\u206a", "a\ufff9", "a\U000e0041", "a\u200d", "a\ufe0f", "\u200c", "é\u200d\u200d",
])  # fmt: skip
def test_edited_yaml_escapes_characters_that_are_drawn_as_nothing(text: str) -> None:
    """Fillers, tags and joiners that join nothing are escapes in texts and keys, beyond the basic plane as well."""
    written = yaml_.encode_edited({text: text})
    escape = f"\\{'u' if text[-1] < chr(0x10000) else 'U000'}{ord(text[-1]):04x}"
    assert written.decode().lower().count(escape.lower()) == 2
    assert yaml_.decode_edited(written) == {text: text}


@pytest.mark.parametrize("text", ["क्\u200cष", "❤\ufe0f", "क्\u200d"])
def test_edited_yaml_keeps_joiners(text: str) -> None:
    """Joiners and variation selectors after a character of another script or an emoji are part of it."""
    assert yaml_.encode_edited(text).decode() == f"{text}\n"


def test_edited_yaml_style() -> None:
    """Keys keep their order, no line is continued, and characters that are not seen are escapes, in pieces as well."""
    value = {
        "b": "word " * 40 + "x",
        "a": "role-\u202enimda\u200b",
        "k\u2066": "\u200bx\ny\n",
        "é": {"z": 1, "w": [{"d": 2, "c": 3}]},
    }
    expected = (
        f"b: {'word ' * 40}x\n"
        r'a: "role-\u202enimda\u200b"'
        "\n"
        r'"k\u2066": "\u200bx\ny\n"'
        "\né:\n  z: 1\n  w:\n  - d: 2\n    c: 3\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        for size in (1 << 30, 8):
            patch.setattr(yaml_, "_PIECE", size)
            assert yaml_.encode_edited(value).decode() == expected


@pytest.mark.parametrize(
    "names",
    [
        ["a", "a1", "a2", "a10"],
        ["-a", ".inf", "07", "08", "0x1f", "1-1", "1.", "1_0", "1e3", "2020", "a", "ab"],
        ["k_x", "k5", "k33", "kB", "ka", "kx"],
        ["b1", "b01", "b001", "b2"],
        ["c100", "c101", "c110", "c1001"],
        ["d1.5", "d1.10", "d01"],
    ],
)
def test_members_are_in_the_order_of_yaml(names: list[str]) -> None:
    """Letters are after other characters, and numbers by value, as in documents of the reference; documents that people
    edit keep the order of the value."""
    for mixed in (dict.fromkeys(sorted(names), 1), dict.fromkeys(names[::-1], 1)):
        assert list(yaml_.decode(yaml_.encode(mixed))) == names
        assert list(yaml_.decode(yaml_.encode_edited(mixed))) == list(mixed)
    large = {name: ["x" * 20_000] for name in names[::-1]}
    assert list(yaml_.decode(yaml_.encode(large))) == names
