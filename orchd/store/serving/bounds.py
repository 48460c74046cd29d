"""etcd's key ranges, whose bounds are any bytes, as ranges of text keys, which are ordered by their UTF-8 bytes."""

from __future__ import annotations

from dataclasses import dataclass

from orchd.store.keys import prefix_end
from orchd.store.serving.errors import key_not_text

_LAST = 0x10FFFF
_SURROGATES = 0xD800, 0xE000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Keys from `low` on and before `high`; None: no upper bound."""

    low: str
    high: str | None

    def __contains__(self, key: str) -> bool:
        return self.low <= key and (self.high is None or key < self.high)

    @property
    def is_prefix(self) -> bool:
        """True if the range has all keys that begin with `prefix`."""
        prefix = self.prefix
        return self.low <= (prefix or "\0") and (self.high is None or self.high == prefix_end(prefix))

    @property
    def prefix(self) -> str:
        """The longest prefix that all keys of the range surely have."""
        low, high = self.low, self.high
        if high is None or high <= low:
            return ""
        if high == low + "\0" or high == prefix_end(low):
            return low
        size = 0
        for one, other in zip(low, high, strict=False):
            if one != other:
                break
            size += 1
        # "a" to "b": the keys with the prefix "a", if the bounds differ by one there.
        following = low[: size + 1]
        return following if following and high == prefix_end(following) else low[:size]


def key_text(key: bytes) -> str:
    """A key that is written or read by itself. Raises StatusError."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise key_not_text() from None


def bounds(key: bytes, end: bytes) -> Bounds:
    """The range of a request: one key without `end`, all from `key` on with the end ``\\0``, else those before
    `end`."""
    if not end:
        try:
            low = key.decode()
        except UnicodeDecodeError:
            # No such key can exist.
            return Bounds("", "")
        return Bounds(low, low + "\0")
    low_text = first_text(key)
    if low_text is None:
        return Bounds("", "")
    return Bounds(low_text, None if end == b"\0" else first_text(end))


def first_text(bound: bytes) -> str | None:
    """The first text that is not before `bound`; None if all texts are."""
    try:
        return bound.decode()
    except UnicodeDecodeError as error:
        text, rest = bound[: error.start].decode(), bound[error.start :]
    low, high = 0, _LAST + 1
    while low < high:
        middle = (low + high) // 2
        if _SURROGATES[0] <= middle < _SURROGATES[1]:
            # None of these is a character; the first one after them decides for all.
            if chr(_SURROGATES[1]).encode() > rest:
                high = _SURROGATES[0]
            else:
                low = _SURROGATES[1]
        elif chr(middle).encode() > rest:
            high = middle
        else:
            low = middle + 1
    if low == _SURROGATES[0]:
        low = _SURROGATES[1]
    return text + chr(low) if low <= _LAST else prefix_end(text)
