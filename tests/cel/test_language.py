"""The environment of the language itself: what the specification says where clusters have something else."""

from __future__ import annotations

import pytest

from orchd.cel.releases import environment_of_release, language_environment

ENVIRONMENT = language_environment()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dyn({0: 1}[dyn(b'')]) || true", True),
        ("{1: 1}[dyn(1u)] == 1 && {'a': 1}.a == 1", True),
        ("ip('::ffff:c0a8:1') == ip('192.168.0.1')", True),
        ("has(optional.of({'c': {'d': 1}}).c) && !has(optional.of({'c': {'d': 1}}).c.missing)", True),
        ("has(optional.none().c)", False),
        ("optional.of({'c': 1}).?missing.hasValue()", False),
        ("google.protobuf.Value{null_value: google.protobuf.NullValue.NULL_VALUE} == null", True),
        ("cel.bind(x, 2, math.greatest(x, 1)) == 2", True),
        ("{'a': 1}.transformList(k, v, k + string(v)) == ['a1']", True),
    ],
)
def test_values(text: str, expected: bool) -> None:
    checked = ENVIRONMENT.compile(text)
    assert not checked.issues, checked.text
    assert checked.program().evaluate({}, 100_000).value is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{1.0: 5}[1.0]", "unsupported key type"),
        ("{true: 1, true: 3}[true]", "Failed with repeated key"),
        ("{0: 1, 0u: 2}[0.0]", "Failed with repeated key"),
        ("{'a': dyn(null)}.?a.b.hasValue()", "no such key: b"),
        ("ip('::ffff:192.168.0.1')", 'IPv4-mapped IPv6 address "::ffff:192.168.0.1" is not allowed'),
    ],
)
def test_errors(text: str, message: str) -> None:
    checked = ENVIRONMENT.compile(text)
    assert not checked.issues, checked.text
    assert checked.program().evaluate({}, 100_000).error == message


@pytest.mark.parametrize(("text", "offset", "input_"), [
    ("!-x", 2, "-x"), ("!!-(1)", 3, "-("), ("f(!-'a')", 4, "-'a'"), ("!-", 2, "-"), ("a. == 1", 3, ". =="),
    ("a. // b\n == 1", 9, ". // b\\n =="), ("a.\té == 1", 5, ".\\t =="), ("a.  ", 4, ".  "),
])  # fmt: skip
def test_what_may_not_follow_a_sign_or_dot_is_quoted_with_the_blanks_between(
    text: str, offset: int, input_: str
) -> None:
    """Only a number may follow a minus behind other signs; the text in the message is that of the expression, without
    unknown characters."""
    issues = environment_of_release((1, 35), "example").compile(text).issues
    assert (offset, f"Syntax error: no viable alternative at input '{input_}'") in [
        (i.offset, i.message) for i in issues
    ]
