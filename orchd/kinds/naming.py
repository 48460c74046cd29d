"""Random suffixes of names, and random identifiers."""

from __future__ import annotations

from random import Random
from typing import Final

#: No vowels and no similar characters, so that random suffixes form no words.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
#: The bits of a UUID that are random, and those of its version and variant (RFC 9562, 5.4).
_RANDOM_BITS: Final = 0xFFFFFFFF_FFFF_0FFF_3FFF_FFFFFFFFFFFF
_VERSION_4: Final = 0x00000000_0000_4000_8000_000000000000


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
    digits = f"{random.getrandbits(128) & _RANDOM_BITS | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
