"""Random suffixes of names, and random identifiers."""

from __future__ import annotations

from random import Random
from typing import Final

#: No vowels and no similar characters, so that random suffixes form no words.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
#: The digit of a UUID whose upper bits are its variant (RFC 9562, 4.1), by a random digit.
_VARIANT: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


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
    """A version 4 UUID (RFC 9562) as text."""
    digits = random.randbytes(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:]}"
