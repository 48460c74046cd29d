"""Random suffixes of names."""

from __future__ import annotations

from random import Random
from typing import Final

#: No vowels and no similar characters, so that random suffixes form no words.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def random_suffix(random: Random, length: int = 5) -> str:
    """`length` random characters of `ALPHABET`."""
    return "".join(random.choice(ALPHABET) for _ in range(length))
