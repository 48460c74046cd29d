"""Messages in the pieces in which they arrive."""

from __future__ import annotations

import pytest

from orchd.store.grpc.framing import Deframer, prefixed
from orchd.store.grpc.status import INTERNAL, RESOURCE_EXHAUSTED, UNIMPLEMENTED, StatusError


def _messages(deframer: Deframer, data: bytes) -> list[bytes]:
    messages = []
    message = deframer.first(data)
    while message is not None:
        messages.append(message)
        message = deframer.next()
    return messages


@pytest.mark.parametrize("size", [1, 4, 5, 6, 7, 100])
def test_messages_do_not_depend_on_the_pieces(size: int) -> None:
    """Pieces may end anywhere: within a prefix, within a message, with it, or after several ones."""
    sent = [b"", b"one", b"second", b""]
    stream = b"".join(map(prefixed, sent))
    deframer = Deframer(largest=6)
    messages = [each for at in range(0, len(stream), size) for each in _messages(deframer, stream[at : at + size])]
    assert messages == sent and deframer.size == 0


def test_message_after_an_incomplete_one_belongs_to_it() -> None:
    """What would be a message by itself is content while another one is incomplete."""
    inner = prefixed(b"inner")
    deframer = Deframer()
    assert _messages(deframer, prefixed(inner)[:5]) == []
    assert _messages(deframer, inner) == [inner]


@pytest.mark.parametrize(
    ("data", "code"),
    [(prefixed(b"seven.."), RESOURCE_EXHAUSTED), (b"\1" + prefixed(b"x")[1:], UNIMPLEMENTED), (b"\2" + prefixed(b"x")[1:], INTERNAL)],
)  # fmt: skip
def test_whole_messages_are_checked(data: bytes, code: int) -> None:
    """Size and flag of a message are checked also if it arrives in one piece."""
    with pytest.raises(StatusError) as caught:
        Deframer(largest=6).first(data)
    assert caught.value.code == code
