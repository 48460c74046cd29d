"""Random suffixes of names, and random identifiers."""

from __future__ import annotations

from random import Random
from typing import Final

#: No vowels and no similar characters, so that random suffixes form no words.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def random_suffix(random: Random, length: int = 5) -> str:
    """`length` random characters of `ALPHABET`."""
    # One number for all characters: with a system source each is a system call.
    number = random.randrange(len(ALPHABET) ** length)
    out = ""
    for _ in range(length):
        number, index = divmod(number, len(ALPHABET))
        out += ALPHABET[index]
    return out


def random_uuid(random: Random) -> str:
    """A version 4 UUID (RFC 4122) as text."""
    digits = f"{random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
