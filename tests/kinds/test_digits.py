"""Numbers and texts of any length in requests take bounded time and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.kinds.codec import json_, yaml_
from orchd.kinds.codec.mediatype import parse_accept
from orchd.kinds.digits import BEYOND, int64, integer, is_whole
from orchd.kinds.gotext.durations import DurationError, parse_duration
from orchd.kinds.objects import list_options, scalars
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.objects.validate import names
from orchd.kinds.patch import fieldset
from orchd.kinds.shorttexts import LONGEST, remember_short

#: More digits than Python converts to an int.
MANY = "1" * 5000


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-12", -12),
        ("+7", 7),
        ("0" * 5000 + "12", 12),
        (MANY, BEYOND),
        ("-" + MANY, -BEYOND),
        ("+" + MANY, BEYOND),
    ],
)
def test_ascii_digits_are_parsed(text: str, number: int) -> None:
    """ASCII digits are parsed; numbers beyond every range become one large value."""
    assert integer(text) == number


@pytest.mark.parametrize(
    "text", ["", "-", "1_000", "\u00b2", "\u0661", "a", "-" * 5000, MANY + "a", MANY + "_1", " 1", "1 ", "1\n", "\x1c1"]
)
def test_other_digits_are_refused(text: str) -> None:
    """Only ASCII digits are accepted, although Python parses others."""
    assert not is_whole(text)
    with pytest.raises(ValueError, match=r"not a number|invalid literal"):
        integer(text)


@pytest.mark.parametrize(
    "read",
    [
        lambda: json_.decode(f'{{"a":{MANY}}}'.encode()),
        lambda: json_.decode_exact(f'{{"a":{MANY}}}'.encode()),
        lambda: yaml_.decode(f"a: {MANY}\n0{MANY}: 1\n".encode()),
        lambda: scalars.Quantity.parse(MANY),
        lambda: scalars.Quantity.parse(f"1.{MANY}"),
        lambda: scalars.Quantity.parse(f"1e{MANY}"),
        lambda: parse_duration(f"{MANY}s"),
        lambda: parse_duration(f"1.{MANY}s"),
        lambda: scalars.percent(f"{MANY}%"),
        lambda: list_options.parse_version(MANY),
        lambda: LabelSelector.parse(f"a>{MANY}"),
        lambda: names.parse_cidr(f"10.0.0.0/{MANY}"),
        lambda: names.parse_ip(f"10.0.0.{MANY}"),
        lambda: fieldset.parse({f"i:{MANY}": {}}),
        lambda: fieldset.parse({"i:--1": {}}),
    ],
)
def test_parsers_accept_or_refuse_huge_numbers(read: Callable[[], Any]) -> None:
    """A number of thousands of digits is parsed or rejected with the parser's own error."""
    try:
        read()
    except (
        json_.JSONError,
        yaml_.YAMLError,
        scalars.ScalarError,
        DurationError,
        ApiError,
        fieldset.FieldSetError,
    ) as error:
        assert "Exceeds the limit" not in str(error)


def test_resource_versions_have_64_bits() -> None:
    """A resourceVersion is an unsigned 64-bit integer."""
    assert list_options.parse_version(str(2**64 - 1)) == 2**64 - 1
    with pytest.raises(ApiError, match="value out of range"):
        list_options.parse_version(str(2**64))


def test_long_texts_are_not_cached() -> None:
    """Long texts are not cached, so that a client cannot fill the memory with different ones."""
    made: list[int] = []

    @remember_short(10)
    def length(text: str) -> int:
        made.append(len(text))
        return len(text)

    for _ in range(3):
        length("a" * LONGEST)
        length("a" * (LONGEST + 1))
    assert made == [LONGEST, LONGEST + 1, LONGEST + 1, LONGEST + 1]


def test_accept_header_clauses_are_bounded() -> None:
    """The number of Accept clauses that are considered, and so the time to sort them, is bounded."""
    text = ",".join(f"a/b{i};q=0.{i}" for i in range(1000))
    assert len(parse_accept(text)) == 64


@pytest.mark.parametrize(
    ("text", "number"),
    [("9223372036854775807", 2**63 - 1), ("9223372036854775808", None), (MANY, None), ("x", None), ("", None)],
)
def test_numbers_of_64_bits(text: str, number: int | None) -> None:
    """Texts beyond 64 bits are no such numbers."""
    assert int64(text) == number
