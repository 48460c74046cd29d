"""Responses with values, encoded by hand: a value's bytes are handed on as they are (protobuf encoding, "Message
Structure").

Everything else is encoded by the protobuf library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.store.interfaces import DamagedValue, Event, EventType, KeyValue
from orchd.store.records import item_of, lease_of, version_of

#: The only member of the cluster that the store presents, and its election.
CLUSTER_ID: Final = 1
MEMBER_ID: Final = 1
TERM: Final = 1

#: Events that are kept until the next ones: more at once are rare and large.
_SHARED: Final = 16
_SMALL: Final = tuple(bytes((number,)) for number in range(128))


def varint(number: int) -> bytes:
    """A number from 0 to 2**64 - 1."""
    if number < 128:
        return _SMALL[number]
    if number < 16384:
        return bytes((number & 127 | 128, number >> 7))
    if number < 2097152:
        return bytes((number & 127 | 128, number >> 7 & 127 | 128, number >> 14))
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number: int) -> bytes:
    """An int64, which may be negative."""
    return varint(number & 0xFFFFFFFFFFFFFFFF)


def header(revision: int) -> bytes:
    """A ResponseHeader without tag and length."""
    return b"\x08\x01\x10\x01\x18" + varint(revision) + b"\x20\x01"


def headed(revision: int) -> bytes:
    """The field `header` of a response, which is 1 in all of them."""
    inner = header(revision)
    return b"\x0a" + _SMALL[len(inner)] + inner


def inner_headed(revision: int) -> bytes:
    """As `headed`, of a response within that of a transaction: nothing but the revision, and nothing at all for 0."""
    inner = b"\x18" + varint(revision) if revision else b""
    return b"\x0a" + _SMALL[len(inner)] + inner


def item_head(item: KeyValue, size: int) -> bytes:
    """A KeyValue up to its value of `size` bytes, which must follow; without a value for 0."""
    key = item.key.encode()
    lease = lease_of(item)
    out = [
        b"\x0a", varint(len(key)), key, b"\x10", varint(item.created), b"\x18", varint(item.revision), b"\x20",
        varint(version_of(item)),
    ]  # fmt: skip
    if lease:
        out += (b"\x30", signed(lease))
    if size:
        out += (b"\x2a", varint(size))
    return b"".join(out)


def item_pieces(tag: bytes, item: KeyValue, *, keys_only: bool = False) -> tuple[bytes, bytes]:
    """A field that is a KeyValue, in two pieces; the second is the value. A damaged value is not served: it appears as
    empty."""
    value = b"" if keys_only or item.value.__class__ is DamagedValue else item.value
    head = item_head(item, len(value))
    return tag + varint(len(head) + len(value)) + head, value


def range_tail(count: int, more: bool) -> bytes:
    """The fields `more` and `count` of a RangeResponse."""
    return (b"\x18\x01" if more else b"") + b"\x20" + varint(count)


def event_bytes(event: Event, *, previous: bool) -> bytes:
    """A field `events` of a WatchResponse."""
    if event.type is EventType.DELETE:
        key = event.key.encode()
        inner = b"\x0a" + varint(len(key)) + key + b"\x18" + varint(event.revision)
        parts = [b"\x08\x01\x12", varint(len(inner)), inner]
    else:
        item = item_of(event)
        assert item is not None, "an event that is no deletion leaves an item"
        parts = list(item_pieces(b"\x12", item))
    if previous and event.previous is not None:
        parts += item_pieces(b"\x1a", event.previous)
    return b"\x5a" + varint(sum(map(len, parts))) + b"".join(parts)


class SharedEvents:
    """The bytes of the events that several watches are told of, which are made once while they are told."""

    def __init__(self) -> None:
        self._events: Sequence[Event] = ()
        self._encoded: dict[bool, list[bytes]] = {}

    def of(self, events: Sequence[Event], *, previous: bool) -> list[bytes]:
        """`event_bytes` of each of `events`, which must not change."""
        if len(events) > _SHARED:
            return [event_bytes(event, previous=previous) for event in events]
        if events is not self._events:
            self._events, self._encoded = events, {}
        encoded = self._encoded.get(previous)
        if encoded is None:
            encoded = self._encoded[previous] = [event_bytes(event, previous=previous) for event in events]
        return encoded


def watch_head(revision: int, watch_id: int) -> bytes:
    """The beginning of a WatchResponse: its header and its watch."""
    return headed(revision) + (b"\x10" + signed(watch_id) if watch_id else b"")
