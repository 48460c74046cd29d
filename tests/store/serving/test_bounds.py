"""Key ranges of requests as ranges of text."""

from __future__ import annotations

import random

import pytest

from orchd.store.grpc.status import INVALID_ARGUMENT, StatusError
from orchd.store.keys import prefix_end
from orchd.store.serving.bounds import Bounds, bounds, first_text, key_text

CHARACTERS = "\0\1aé\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"


@pytest.mark.parametrize("seed", range(20))
def test_ranges_hold_the_same_keys_as_bytes(seed: int) -> None:
    """A key is in the range of text exactly if its bytes are in the range of bytes, whatever the bounds."""
    chance = random.Random(seed)
    texts = ["".join(chance.choices(CHARACTERS, k=chance.randrange(1, 4))) for _ in range(200)]
    ends = [text.encode() for text in texts[:40]]
    ends += [bytes(chance.choices(range(256), k=chance.randrange(1, 4))) for _ in range(80)]
    ends += [end[:-1] + bytes((min(255, end[-1] + 1),)) for end in ends]
    for _ in range(400):
        low, high = chance.choice(ends), chance.choice([*ends, b"\0"])
        asked = bounds(low, high)
        for text in chance.sample(texts, 20):
            expected = low <= text.encode() and (high == b"\0" or text.encode() < high)
            assert (text in asked) == expected, (low, high, text)


@pytest.mark.parametrize("seed", range(5))
def test_prefix_of_a_range_holds_for_all_its_keys(seed: int) -> None:
    """Every key of a range begins with the prefix of the range."""
    chance = random.Random(seed)
    texts = ["".join(chance.choices("ab/" + CHARACTERS, k=chance.randrange(1, 5))) for _ in range(300)]
    for _ in range(2000):
        low, high = chance.choice(texts), chance.choice([*texts, None])
        bounds = Bounds(low, high)
        assert all(text.startswith(bounds.prefix) for text in texts if text in bounds), bounds


@pytest.mark.parametrize(
    ("low", "high", "prefix"),
    [
        ("/pods/", "/pods0", "/pods/"),
        ("/pods/a", "/pods/a\0", "/pods/a"),
        ("/pods/a/", "/pods0", "/pods/"),
        ("/a", "/b", "/a"),
        ("a", None, ""),
        ("b", "a", ""),
        ("é", prefix_end("é"), "é"),
    ],
)
def test_prefix_of_a_range_is_long(low: str, high: str | None, prefix: str) -> None:
    """The prefix of a range is the longest one that its bounds imply, so that other keys are not looked at."""
    assert Bounds(low, high).prefix == prefix


def test_bound_beyond_all_text_is_none() -> None:
    """A bound after every text is no bound."""
    assert first_text(b"\xf4\x8f\xbf\xbf\xff") is None
    assert first_text(b"\xff") is None
    assert first_text(b"a\xff") == "b"


def test_keys_are_text() -> None:
    """A key that is no text is refused by a status that says so."""
    with pytest.raises(StatusError, match="UTF-8") as caught:
        key_text(b"\xff")
    assert caught.value.code == INVALID_ARGUMENT
    assert "\xff" not in bounds(b"\xff", b"")
