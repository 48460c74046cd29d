"""Key ranges: text whose order is that of its UTF-8 bytes (which for valid text is the order of code points)."""

from __future__ import annotations

from sortedcontainers import SortedList

_LAST = "\U0010ffff"


def check_key(key: str) -> None:
    """Reject keys that cannot be stored; raises ValueError (UnicodeEncodeError for a lone surrogate)."""
    if not key:
        raise ValueError("a key must not be empty")
    if not key.isascii():
        key.encode()


def prefix_end(prefix: str) -> str | None:
    """The first key after all that begin with `prefix`; None without an upper bound ("" is the prefix of all)."""
    while prefix:
        last = prefix[-1]
        if last != _LAST:
            # U+D800 to U+DFFF are surrogates: no valid text lies between.
            return prefix[:-1] + ("\ue000" if last == "\ud7ff" else chr(ord(last) + 1))
        prefix = prefix[:-1]
    return None


def span(keys: SortedList, low: str, high: str | None) -> tuple[int, int]:
    """First and end position of the keys from `low` on and before `high` (None: no bound)."""
    first = keys.bisect_left(low) if low else 0
    return first, len(keys) if high is None else max(first, keys.bisect_left(high))
