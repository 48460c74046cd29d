"""Row checksums of the embedded store: a 63-bit number per row, one half over the metadata and one over the value.

The halves distinguish kinds of damage: if only the value differs, the key is known and everything else can be served;
otherwise nothing in the row is reliable.
"""

from __future__ import annotations

from enum import Enum
from typing import Final
from zlib import crc32

from orchd.store.interfaces import DamagedValue

_HALF: Final = 0x7FFFFFFF


class Verdict(Enum):
    GOOD = "good"
    BAD_VALUE = "the value is not what was written"
    BAD_ROW = "the row is not what was written"


def row_sum(
    revision: int, key: str, created: int, prev: int, deleted: int, expires: float, value: bytes, *more: int | None
) -> int:
    """The checksum of a row from the columns of `log`. `more` are version, lease and txn, which only rows of
    transactions have."""
    about = crc32(b"%d %d %d %d %r %b" % (revision, created, prev, deleted, expires, key.encode()))
    if more and more[0] is not None:
        about = crc32(repr(more).encode(), about)
    return (about & _HALF) << 32 | crc32(value)


def verify(
    revision: int, key: str, created: int, prev: int, deleted: int, expires: float, value: bytes, total: int | None,
    *more: int | None,
) -> Verdict:  # fmt: skip
    """Compare a row with its checksum. Rows from before schema version 2 have none (None) and pass."""
    if total is None:
        return Verdict.GOOD
    now = row_sum(revision, key, created, prev, deleted, expires, value, *more)
    if now == total:
        return Verdict.GOOD
    return Verdict.BAD_VALUE if now >> 32 == total >> 32 and not deleted else Verdict.BAD_ROW


def check_value(value: bytes, total: int | None) -> bytes:
    """The value of a row; a DamagedValue if its checksum differs."""
    return value if total is None or total & 0xFFFFFFFF == crc32(value) else DamagedValue(value)
