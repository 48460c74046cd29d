"""Template hashes for names, in an alphabet without vowels."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final

import orjson

from orchd.kinds.naming import ALPHABET

#: Bytes of a template above which its digest is hashed in its place: the hash is computed byte by byte.
_LONG: Final = 64 << 10


def template_hash(template: Any, collisions: int | None = None) -> str:
    """A short hash of a pod template; another one for each count of collisions."""
    value = 0x811C9DC5
    sorted_json = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    if len(sorted_json) > _LONG:
        text = sha256(sorted_json).hexdigest()
    else:
        # With escapes, as names of existing sets were made.
        text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    for byte in f"{text}{'' if collisions is None else collisions}".encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(value))
