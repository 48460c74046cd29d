"""Cost of the regular expressions of schemas."""

from __future__ import annotations

import pytest

from orchd.kinds.objects.schema_check.patterns import MAX_OPTIONAL, optional_parts, pattern_error


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("abc", 0),
        ("a?b*c+", 2),
        ("a{3}", 0),
        ("a{3,}", 1),
        ("a{3,5}", 2),
        ("a{0,1000}" * 30, 30_000),
        ("(a{0,30}){0,30}", 930),
        ("(?i:a?){5}", 5),
        ("(?P<x>b?){5}", 5),
        ("(?i)a?", 1),
        ("(a|b){7}", 7),
        ("a|b", 1),
        ("[a?]*", 1),
        ("[]?]{2,3}", 1),
        ("[[:alpha:]?]?", 1),
        (r"\?\*\{2,9}", 0),
        (r"\Qa?b?\Ec?", 1),
        (r"\p{Greek}?\x{61}{0,3}", 4),
        ("a{0,5000}", 0),
        ("((a?", 1),
        ("a?))b?", 2),
        ("[a?", 0),
        ("(?x", 0),
    ],
)
def test_parts_that_a_match_may_leave_out(text: str, count: int) -> None:
    """Optional parts are counted as if repetitions were written out; of what cannot be parsed, any number."""
    assert optional_parts(text) == count


@pytest.mark.parametrize(
    "text", ["a{0,1000}" * 4, "(a{0,99}){0,99}", "a?" * (MAX_OPTIONAL + 1), "(a|b)*" * MAX_OPTIONAL]
)
def test_expensive_expressions_are_refused(text: str) -> None:
    """An expression with too many optional parts is refused before it is compiled."""
    assert pattern_error(text) == f"error parsing regexp: expression too large: more than {MAX_OPTIONAL} repetitions"


@pytest.mark.parametrize(
    "text",
    ["^a{0,1000}$", "a{1000}" * 10, "a?" * 1000, r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"],
)
def test_usual_expressions_are_accepted(text: str) -> None:
    """Repetitions up to the dialect's count are accepted."""
    assert pattern_error(text) == ""
