"""Regular expressions: what their size is, and that neither compiling nor matching takes longer than it should."""

from __future__ import annotations

import pytest

from orchd.cel.costs import Meter
from orchd.cel.patternsize import MAX_OPTIONAL, pattern_size
from orchd.cel.regex import Pattern, PatternError, dynamic_pattern
from orchd.cel.values import Cancelled


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
        ("(a?|b){7}", 7),
        ("a|b*", 1),
        ("[a?]*", 1),
        ("[]?]{2,3}", 1),
        ("[[:alpha:]?]?", 1),
        (r"\?\*\{2,9}", 0),
        (r"\Qa?b?\Ec?", 1),
        (r"\p{Greek}?\x{61}{0,3}", 34),
        ("a{0,5000}", 0),
        ("((a?", 1),
        ("a?))b?", 2),
        ("[a?", 0),
        ("(?x", 0),
        (r"\pL{2}", 60),
        (r"[^\p{Greek}x]?", 31),
        (f"[{'x' * 998}]", 31),
    ],
)
def test_parts_that_a_match_may_leave_out(text: str, count: int) -> None:
    """Optional parts are counted as if repetitions were written out; of what cannot be parsed, any number."""
    assert pattern_size(text).optional == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("abc", 3),
        ("a{3}b", 4),
        ("(ab){2,5}c*", 11),
        ("[abc]{1000}", 1000),
        ("((a{10}){10}){10}", 1000),
        ("a{0,5000}", 0),
    ],
)
def test_parts(text: str, count: int) -> None:
    """Parts are counted as if repetitions were written out."""
    assert pattern_size(text).parts == count


@pytest.mark.parametrize(
    "text",
    [
        "a{0,1000}" * 4,
        "(a{0,99}){0,99}",
        "a?" * (MAX_OPTIONAL + 1),
        "(a|b)*" * (MAX_OPTIONAL + 1),
        r"\pL" * 101,
        r"[\pL]|" * 101,
    ],
)
def test_expensive_patterns_are_refused(text: str) -> None:
    """A pattern that would take long to compile is refused."""
    with pytest.raises(PatternError, match=f"expression too large: more than {MAX_OPTIONAL} repetitions"):
        Pattern(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("^a{0,1000}$", "a" * 999),
        ("a{1000}" * 10, "a" * 10_000),
        ("^" + "a?" * 1000 + "$", "a"),
        (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a-b.c"),
        ("^(" + "|".join(map(str, range(10_000))) + ")$", "9999"),
        (r"^[\p{L}\p{N}]{1,63}$", "\u00e9"),
    ],
)
def test_usual_patterns_are_accepted(text: str, match: str) -> None:
    """Repetitions up to the dialect's count, and any number of alternatives, are accepted."""
    pattern = Pattern(text)
    assert pattern.matches(match) and not pattern.matches("-")


def _meter(work: int) -> Meter:
    return Meter([0, work, None])


def test_matching_many_groups_takes_no_memory_for_them() -> None:
    """A match of 1,400 groups takes what a match without groups takes: captures of all would be gigabytes for some
    thousand."""
    assert Pattern("(a|b)*" * 1400).matches("ab" * 1000)


def test_searches_are_work() -> None:
    """A search through a long text with a pattern of many parts is not begun when it is more work than is left."""
    text = "ab" * 1000
    pattern = Pattern("(a|b)*a(a|b){900}c")
    for search in (pattern.search, pattern.find, pattern.find_all):
        with pytest.raises(Cancelled):
            search(_meter(10_000), text)
        assert not search(_meter(20_000), text)


def test_compiling_a_pattern_of_an_evaluation_is_work() -> None:
    """Patterns that are not known before the evaluation count by their length and in the square of their optional
    parts, once."""
    text = "x{0,900}y"
    with pytest.raises(Cancelled):
        dynamic_pattern(_meter(6_000), text, "")
    assert dynamic_pattern(_meter(7_000), text, "") is dynamic_pattern(_meter(0), text, "")
