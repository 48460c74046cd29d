"""Names of field managers, and texts of patch errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.gotext.values import kind_name, number, plain, quote, type_name
from orchd.kinds.patch import syntax
from orchd.kinds.patch.managers import manager_from_user_agent, validate_manager
from orchd.kinds.release import SPECIFICATION


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        ("tool/v1.23 (linux/amd64)", "tool"),
        ("", ""),
        ("plain name", "plain name"),
        ("a\tb\x7fc/1", "abc"),
        ("é" * 100, "é" * 64),
        ("x" * 200 + "/1", "x" * 128),
    ],
)
def test_manager_from_user_agent(agent: str, manager: str) -> None:
    """The manager is the printable part of the user agent before the slash, at most 128 bytes."""
    assert manager_from_user_agent(agent) == manager


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("fine name", []),
        ("a" * 129, ["Too long: must have at most 128 bytes"]),
        ("a\x01b", ['Invalid value: "a\\x01b": invalid character U+0001 (at position 1)']),
        ("é\n\n", [f'Invalid value: "é\\n\\n": invalid character U+000A (at position {i})' for i in (2, 3)]),
    ],
)
def test_validate_manager(name: str, messages: list[str]) -> None:
    """Invalid length and invalid characters are each reported."""
    causes = validate_manager(name, SPECIFICATION)
    assert [c.message for c in causes] == messages
    assert all(c.field == "fieldManager" for c in causes)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, None], "a": "x y"}, "map[a:x y b:[1 <nil>]]"),
        (True, "true"),
        (1.0, "1"),
        (1.5, "1.5"),
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-07"),
        (float("inf"), "inf"),
    ],
)
def test_values_in_messages(value: Any, text: str) -> None:
    """Values are formatted as the reference formats them."""
    assert plain(value) == text
    assert number(1e300) == "1e+300"


def test_strings_are_quoted_in_messages() -> None:
    """Strings are quoted as the reference quotes them."""
    assert quote('a"\\\n\x01é\u200b') == '"a\\"\\\\\\n\\x01é\\u200b"'
    assert (type_name(None), kind_name(None), type_name([]), kind_name({})) == (
        "%!s(<nil>)",
        "invalid",
        "[]interface {}",
        "map",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{{", "invalid character '{' looking for beginning of object key string"),
        ("{a", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("nul", "unexpected end of JSON input"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ("-x", "invalid character 'x' in numeric literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
    ],
)
def test_json_syntax_errors(text: str, problem: str) -> None:
    """Invalid JSON is reported with the reference's message."""
    with pytest.raises(syntax.SyntaxProblem) as caught:
        syntax.decode(text.encode())
    assert str(caught.value) == problem


@given(st.text(alphabet='{}[]",:1tfn\\ u', max_size=12))
def test_any_document_is_decoded_or_refused(text: str) -> None:
    """Any text is decoded or raises SyntaxProblem with a message."""
    try:
        assert syntax.decode(text) == json.loads(text)
    except syntax.SyntaxProblem as problem:
        assert str(problem)
