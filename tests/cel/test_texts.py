"""Tests of texts that functions and literals read: escapes, URLs, quantities, patterns. Results are those of the
reference."""

from __future__ import annotations

import re
from typing import Any

import pytest

from orchd.cel.printed import MOST, printed
from orchd.cel.releases import environment_of_release
from orchd.cel.wire import to_wire


def result(expression: str) -> Any:
    """Return the value of an expression, or the text of its error."""
    environment = environment_of_release((1, 35), "example")
    checked = environment.compile(expression)
    assert not checked.issues, checked.text
    outcome = checked.program().evaluate({}, 1_000_000)
    if outcome.error is not None:
        return outcome.error
    ((_, value),) = to_wire(outcome.value, environment.spell).items()
    return value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (r"'\u00a0ab' == '\U000000a0' + 'ab'", True),
        (r"'\u2003Ab'", "\u2003Ab"),
        (r"'\x41b\101b'", "AbAb"),
        (r"size('\u0041BCD')", "4"),
    ],
)
def test_escapes_have_a_fixed_number_of_digits(expression: str, value: object) -> None:
    assert result(expression) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:p%40@h:80/%2f?#%C3%A9", "http://u:p%40@h:80/%2f?#%C3%A9"),
        ("x:/p", "x:/p"),
        ("http://", "http:"),
        ("http:///a b?q#f g", "http:///a%20b?q#f%20g"),
        ("/p'(x)?a&b", "/p'(x)?a&b"),
        ("//h", "//h"),
    ],
)
def test_text_of_a_url(text: str, shown: str) -> None:
    assert result(f'url("{text}")') == shown


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("isURL('//hos`t/path')", True),
        ("url('//hos`t/path')", 'invalid character "`" in host name'),
        ("url('http://h/?q#%zz')", 'parse "http://h/?q#%zz": invalid URL escape "%zz"'),
        ("url('http://[fe80::1%25%7f]/')", 'invalid URL escape "%7f"'),
        ("url('http://%80').getHost()", "\ufffd"),
        ("isQuantity('Ei')", False),
        ("isQuantity('E-3005')", False),
        ("isQuantity('-')", True),
        ("quantity('00')", "0"),
        ("quantity('1000')", "1k"),
        ("quantity('1e4294967297')", "10"),
        ("quantity('1e5000')", "1e5000"),
        ("quantity('1e50000').compareTo(quantity('1'))", "quantity is too large: 1e50000"),
        ("isQuantity('1234567890123456789e50000')", False),
    ],
)
def test_texts_that_functions_read(expression: str, value: object) -> None:
    answer = result(expression)
    assert value in answer if isinstance(value, str) else answer == value


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        ("has(a.b[]", ["1:8: invalid argument to has() macro", "1:9: Syntax error: "]),
        ("has(a.b(", ["1:8: invalid argument to has() macro", "1:9: Syntax error: "]),
        ("has(a(", ["1:6: invalid argument to has() macro", "1:7: Syntax error: "]),
        ("1 'a\tb'", ["1:3: Syntax error: extraneous input ''a\\tb''"]),
        ("{01.sortBy(x, size(x))", ["1:23: Syntax error: "]),
        ("{ break)}", ["1:8: Syntax error: "]),
        ("A{?: 'x'}.b", ["1:3: unsupported ident kind", "1:4: Syntax error: "]),
        ("A{a: 'x',`b` c: 1}", ["1:3: unsupported syntax: '`'", "1:14: Syntax error: "]),
    ],
)
def test_issues_behind_repairs(expression: str, lines: list[str]) -> None:
    """What is said of calls, indexes and entries without their ends, and where."""
    text = environment_of_release((1, 35), "example").compile(expression).text
    errors = [line.removeprefix("ERROR: <input>:") for line in text.splitlines() if line.startswith("ERROR")]
    assert len(errors) == len(lines)
    assert all(issue.startswith(line) for issue, line in zip(errors, lines, strict=True)), text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("timestamp('2024-01-01T00:00:00.120Z')", "2024-01-01 00:00:00.12 +0000 UTC"),
        ("timestamp('2024-01-01T00:00:00.5-05:30')", "2024-01-01 00:00:00.5 -0530 -0530"),
        ("timestamp('0001-01-01T00:00:00Z')", "0001-01-01 00:00:00 +0000 UTC"),
        ("duration('90s')", "1m30s"),
        ("duration('1h0.5s')", "1h0m0.5s"),
        ("duration('-1.5ms')", "-1.5ms"),
        ("duration('2500ns')", "2.5µs"),
        ("duration('7ns')", "7ns"),
        ("duration('0s')", "0s"),
        ("true", "true"),
        ("null", "0"),
        ("1e6", "1e+06"),
        ("-0.0", "-0"),
        ("3u", "3"),
        ("b'ab'", "[97 98]"),
        ("[1, 2]", "[1, 2]"),
        ("[dyn(timestamp(0)), dyn([2u])]", "[1970-01-01 00:00:00 +0000 UTC, [2]]"),
        ("{'a': 1}", "{a: 1}"),
        ("optional.of(true)", "optional(true)"),
        ("quantity('1')", "1"),
    ],
)
def test_values_in_texts_of_errors(value: str, shown: str) -> None:
    assert result(f"[dyn('a'), dyn({value})].join()") == f"join: invalid input: {shown}"


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("optional.unwrap([dyn(optional.none()), dyn(true)].map(k, k))", "value true is not optional"),
        ("dyn({}).sort()", "no such overload: sort"),
        ("dyn({}).sortBy(x, x)", "no such overload: @sortByAssociatedKeys"),
        ("dyn({}).flatten()", "no such overload: map(dyn, dyn).flatten()"),
        ("dyn({}).flatten(1)", "no such overload: map(dyn, dyn).flatten(int)"),
        ("dyn(1).flatten()", "no such overload: int.flatten()"),
    ],
)
def test_values_without_a_function(expression: str, error: str) -> None:
    assert result(expression) == error


def test_the_text_of_a_value_is_bounded() -> None:
    assert len(printed(["x" * 40_000] * 1_000)) == MOST


@pytest.mark.parametrize(
    ("expression", "messages"),
    [
        ("while(while)", ["reserved identifier: while"]),
        ("(while(while)", ["reserved identifier: while", "Syntax error: missing ')' at '<EOF>'"]),
        ("while([1].map(2, 3))", ["reserved identifier: while"]),
        ("size(while, for)", ["reserved identifier: while", "reserved identifier: for"]),
    ],
)
def test_arguments_of_a_reserved_name_have_errors_of_syntax_only(expression: str, messages: list[str]) -> None:
    issues = environment_of_release((1, 35), "example").compile(expression).issues
    assert [issue.message for issue in issues] == messages


def test_a_field_without_a_value_has_errors_of_syntax_only() -> None:
    issues = environment_of_release((1, 35), "example").compile("sel{.`a.b` == 1").issues
    assert len(issues) == 2 and all(issue.message.startswith("Syntax error: ") for issue in issues)


def test_a_map_whose_end_is_missing_is_no_list_to_sort() -> None:
    text = environment_of_release((1, 35), "example").compile("{'a': 1 'b': 2}.sortBy(x, size(x))").text
    places = re.findall(r"input>:1:(\d+): (.{12})", text)
    assert places == [("1", "sortBy can o"), ("9", "Syntax error")]
