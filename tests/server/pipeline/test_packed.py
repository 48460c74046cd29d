"""Documents that are stored compressed."""

from __future__ import annotations

import gzip
import random

import pytest

from orchd.server.pipeline.endpoints.packed import unpack


@pytest.mark.parametrize("size", [0, 1, 64 << 10, 300_001])
def test_packed_content_is_produced_in_pieces(size: int) -> None:
    """The content has the announced length, comes in small pieces, and can be read repeatedly."""
    content = random.Random(1).randbytes(size)
    body = unpack(gzip.compress(content))
    assert body.size == size
    for _ in range(2):
        pieces = list(body)
        assert b"".join(pieces) == content and all(len(piece) <= 64 << 10 for piece in pieces)
