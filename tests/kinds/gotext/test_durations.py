"""Durations in Go's form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.cel.durations import format_duration
from orchd.kinds.gotext.durations import DurationError, canonical_duration, parse_duration

DURATIONS = [
    ("0", "0s"), ("0s", "0s"), ("1h", "1h0m0s"), ("90s", "1m30s"), ("1.5s", "1.5s"), ("100ms", "100ms"),
    ("1500us", "1.5ms"), ("1ns", "1ns"), ("-1m", "-1m0s"), ("1h1m1.001s", "1h1m1.001s"), ("3µs", "3µs"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), DURATIONS)
def test_durations_are_canonical(text: str, canonical: str) -> None:
    """A duration has one canonical text."""
    assert canonical_duration(text) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("x", 'time: invalid duration "x"'),
        ("1", 'time: missing unit in duration "1"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("9223372036854775808", 'time: missing unit in duration "9223372036854775808"'),
        ("9223372036854775809", 'time: invalid duration "9223372036854775809"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("-9223372036854775809ns", 'time: invalid duration "-9223372036854775809ns"'),
        ('ä"\n', 'time: invalid duration "\\xc3\\xa4\\"\\x0a"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
    ],
)
def test_invalid_durations_are_refused(text: str, message: str) -> None:
    """The error says what is wrong with the duration."""
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@given(st.integers(-(2**63), 2**63 - 1))
def test_durations_round_trip(nanoseconds: int) -> None:
    """Formatting and parsing a duration is lossless."""
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
