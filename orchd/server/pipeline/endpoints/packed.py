"""Documents that are stored compressed, for clients that accept no compression."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial

from orchd.server.pipeline.interfaces import Pieces

_PIECE = 64 << 10
#: zlib's window size argument for the gzip format (RFC 1952).
_GZIP = 31


def unpack(packed: bytes) -> Pieces:
    """The content of one gzip member, decompressed while it is sent: slow clients cost one piece of memory each.

    The member states the length of its content."""
    return Pieces(int.from_bytes(packed[-4:], "little"), partial(_pieces, packed))


def _pieces(packed: bytes) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    while not unpacker.eof:
        yield unpacker.decompress(packed, _PIECE)
        packed = unpacker.unconsumed_tail
