"""Chunked coding is decoded for every division into reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.server.http.responses import LAST_CHUNK, chunk
from orchd.txkit.chunked import BadChunk, ChunkDecoder


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    st.lists(st.integers(1, 20), max_size=40),
    st.binary(max_size=10),
)
def test_chunks_may_be_split_anywhere(pieces: list[bytes], cuts: list[int], rest: bytes) -> None:
    """Content and remaining bytes are the same for every division into reads."""
    wire = b"".join(map(chunk, pieces)) + LAST_CHUNK + rest
    decoder, out, after = ChunkDecoder(), b"", b""
    while wire:
        size = cuts.pop() if cuts else len(wire)
        part, wire = wire[:size], wire[size:]
        if decoder.ended:
            after += part
        else:
            out += b"".join(decoder.feed(part))
            if decoder.ended:
                after += decoder.rest
    assert (decoder.ended, out, after) == (True, b"".join(pieces), rest)


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (b"2\r\nabc", "malformed chunked encoding"),
        (b"2\r\nab\nx", "malformed chunked encoding"),
        (b"2\nab\r\n", "malformed chunked encoding"),
        (b"zz\r\n", "invalid byte in chunk length"),
        (b"-1\r\n", "invalid byte in chunk length"),
        (b"\r\n", "invalid byte in chunk length"),
        (b"0" * 5000, "header line too long"),
        (b"0\r\n" + b"A: b\r\n" * 20000, "http: suspiciously long trailer after chunked body"),
    ],
)
def test_invalid_chunks_are_refused(wire: bytes, message: str) -> None:
    """Invalid coding is an error with the reference's message."""
    with pytest.raises(BadChunk, match=message):
        ChunkDecoder().feed(wire)


def test_extensions_and_trailers_are_skipped() -> None:
    """Chunk extensions and trailers are discarded."""
    decoder = ChunkDecoder()
    assert decoder.feed(b'3;a="b"\r\nabc\r\n0\r\nX: y\r\n\r\nNEXT') == [b"abc"]
    assert decoder.rest == b"NEXT"
