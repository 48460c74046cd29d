"""Parsing of flag values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.config import values
from orchd.config.values import DURATION, FlagType, NamedCertKey
from orchd.kinds.gotext.durations import format_seconds

TYPES = {each.name: each for each in vars(values).values() if isinstance(each, FlagType)}


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("bool", "T", True),
        ("bool", "0", False),
        ("int", "-3", -3),
        ("float", "0.01", 0.01),
        ("duration", "1m0s", 60.0),
        ("duration", "1h30m", 5400.0),
        ("duration", "-1.5s", -1.5),
        ("duration", "0", 0.0),
        ("duration", "500ms", 0.5),
        ("string", "a,b", "a,b"),
        ("strings", "a,b", ("a", "b")),
        ("strings", '"a,b",c', ("a,b", "c")),
        ("strings", "", ()),
        ("stringArray", "a,b", ("a,b",)),
        ("mapStringBool", "A=true,B=false", {"A": True, "B": False}),
        ("mapStringString", "api/all,x=y=z", {"api/all": "", "x": "y=z"}),
        ("portRange", "30000-32767", (30000, 32767)),
        ("portRange", "100+5", (100, 105)),
        ("portRange", "80", (80, 80)),
        (
            "namedCertKey",
            "a.crt,a.key:*.x.y,z",
            (NamedCertKey(cert_file="a.crt", key_file="a.key", names=("*.x.y", "z")),),
        ),
    ],
)
def test_values_of_every_type_are_parsed(type_: str, text: str, value: object) -> None:
    """Every type accepts what the reference's flags accept."""
    assert TYPES[type_].parse(text) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("bool", "yes"),
        ("bool", ""),
        ("int", "1.5"),
        ("int", "1_0"),
        ("float", "nan"),
        ("float", "x"),
        ("duration", "5"),
        ("duration", ""),
        ("duration", "1x"),
        ("duration", "s"),
        ("ip", "1.2.3"),
        ("cidrs", "10.0.0.0/33"),
        ("mapStringBool", "A"),
        ("mapStringBool", "A=maybe"),
        ("mapStringString", "=x"),
        ("portRange", "9-8"),
        ("portRange", "1-70000"),
        ("portRange", "a"),
        ("namedCertKey", "only.crt"),
    ],
)
def test_invalid_values_are_refused(type_: str, text: str) -> None:
    """Text that is not of the type is an error."""
    with pytest.raises(ValueError, match=r"\S"):
        TYPES[type_].parse(text)


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_duration_round_trip(milliseconds: int) -> None:
    """A formatted duration parses to the same value."""
    seconds = milliseconds / 1000
    assert DURATION.parse(format_seconds(seconds)) == pytest.approx(seconds, rel=1e-5, abs=1e-3)


@given(st.sampled_from(list(TYPES)), st.text(max_size=40))
def test_any_text_is_a_value_or_an_error(type_: str, text: str) -> None:
    """Any text parses to a value, the same each time, or raises a ValueError with a message."""
    try:
        value = TYPES[type_].parse(text)
    except ValueError as error:
        assert str(error)
        return
    again = TYPES[type_].parse(text)
    assert again == value or again != again  # NaN is a float
