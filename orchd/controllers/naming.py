"""Names that controllers make up: random suffixes and hashes of templates, in letters that spell no words."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def random_suffix(random: Random, length: int = 5) -> str:
    return "".join(random.choice(_LETTERS) for _ in range(length))


def template_hash(template: Any, collisions: int | None = None) -> str:
    """A short hash of a pod template; another one for each count of collisions."""
    value = 0x811C9DC5
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    for byte in f"{text}{'' if collisions is None else collisions}".encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(value))
