"""What the body of a request holds while it arrives."""

from __future__ import annotations

import sys

import pytest

from orchd.server.http.request_body import BufferedBody

PIECE = 16 * 1024


@pytest.mark.parametrize("count", [0, 1, 8, 40])
def test_large_bodies_are_one_block(count: int) -> None:
    """The pieces of a large body are freed as they arrive; the content is theirs, of any size."""
    body = BufferedBody(None, lambda: None)
    pieces = [bytes([number]) * PIECE for number in range(count)]
    for number in range(count):
        body.keep(pieces[number])
    # The list, the variable and the argument refer to a piece as well.
    held = sum(sys.getrefcount(piece) > 3 for piece in pieces)
    assert held == (0 if count > 16 else count)
    body.complete = True
    content = b"".join(pieces)
    assert body.size == len(content)
    read = body.read(1 << 20)
    with pytest.raises(StopIteration) as end:
        read.send(None)
    assert type(end.value.value) is bytes and end.value.value == content
    assert body.size == 0
