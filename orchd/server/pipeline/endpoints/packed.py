"""Documents that are kept compressed, for clients that want them otherwise."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial

from orchd.server.pipeline.interfaces import Pieces

_PIECE = 64 << 10
#: zlib's word for the format of gzip (RFC 1952).
_GZIP = 31


def unpacked(packed: bytes) -> Pieces:
    """The content of one gzip member, made while it is sent: many clients that do not read cost a piece each.

    The member says how long its content is."""
    return Pieces(int.from_bytes(packed[-4:], "little"), partial(_pieces, packed))


def _pieces(packed: bytes) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    while not unpacker.eof:
        yield unpacker.decompress(packed, _PIECE)
        packed = unpacker.unconsumed_tail
