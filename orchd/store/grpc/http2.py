"""HTTP/2 as gRPC uses it (RFC 9113): frames of one connection to calls of its owner, and back; no input or output.

Header blocks are compressed without a table of the connection, so that equal headers are equal bytes, and received
blocks are decoded once while the table of the peer does not change. What RFC 9113 forbids ends the connection; what
belongs to a stream that has ended is ignored, as its frames may have been under way.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from struct import Struct
from typing import Final, Protocol

from hpack import Decoder, Encoder, HPACKError, NeverIndexedHeaderTuple

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: Error codes (RFC 9113, 7).
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR = 0, 1, 3, 6
REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 7, 8, 9, 11

_DATA, _HEADERS, _PRIORITY, _RST_STREAM, _SETTINGS, _PUSH_PROMISE, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = (
    range(10)
)
_END_STREAM = _ACK = 1
_END_HEADERS, _PADDED, _PRIORITIZED = 4, 8, 32
_ENABLE_PUSH, _MAX_STREAMS, _INITIAL_WINDOW, _MAX_FRAME, _MAX_HEADERS = 2, 3, 4, 5, 6

#: Length and type, flags, stream.
_HEAD: Final = Struct(">IBI")
_NUMBER: Final = Struct(">I")
_SETTING: Final = Struct(">HI")
_LARGEST_WINDOW: Final = (1 << 31) - 1
#: Number of the last stream that a connection can have (5.1.1): some days of full load.
_LAST_STREAM: Final = _LARGEST_WINDOW
#: Window of a connection and of streams before anything is agreed, and the largest frame, in bytes.
_FIRST_WINDOW: Final = 65_535
_FRAME: Final = 16_384
#: Bytes of a header block, compressed or not.
_LARGEST_BLOCK: Final = 16 * 1024
#: Blocks that are remembered: those of a few methods.
_MOST_BLOCKS: Final = 64


class Http2Error(Exception):
    """The peer broke HTTP/2: the connection must be closed after what is still to be sent."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Owner(Protocol):
    """Receives the events of the streams of a connection. Methods may send."""

    def headers_received(self, stream: int, headers: Mapping[bytes, bytes], ended: bool) -> None:
        """Headers or trailers; `ended` if the peer sends no more. At a server the first ones open the stream."""

    def data_received(self, stream: int, data: bytes, ended: bool) -> None: ...

    def stream_reset(self, stream: int, code: int) -> None:
        """The peer ended a stream, which is gone."""

    def windows_opened(self) -> None:
        """The peer takes more, on some stream, or permits more streams."""

    def going_away(self, last: int, code: int) -> None:
        """The peer takes no more streams; it has not seen those above `last`."""


@dataclass(slots=True)
class _Stream:
    """`room` is what the peer takes, `expected` what it may send, in bytes."""

    room: int
    expected: int
    sent_all: bool = False
    received_all: bool = False


def header_block(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Headers as they are sent, on any connection."""
    block: bytes = Encoder().encode([NeverIndexedHeaderTuple(*each) for each in headers], huffman=False)
    return block


class Http2:
    """One connection. `window` and `connection_window` are what the peer may send on a stream and on all, in bytes,
    `most` is the number of streams that a client may have (at a client, of those that a server may open: none)."""

    def __init__(self, owner: Owner, *, client: bool, window: int, connection_window: int, most: int = 0) -> None:
        self._owner = owner
        self._client = client
        self._window = window
        self._connection_window = connection_window
        self._most = most
        self._streams: dict[int, _Stream] = {}
        #: The last stream of the client's.
        self._last = -1
        self._out: list[bytes] = []
        #: Bytes of content that wait for `take`.
        self.unsent = 0
        # What the peer takes.
        self._room = self._first_room = _FIRST_WINDOW
        self._frame = _FRAME
        #: Number of streams that the peer takes at the same time.
        self.most_streams = _LAST_STREAM
        # What it sends.
        self._expected = connection_window
        self._rest = b""
        self._greeted = client
        self._settled = False
        self._decoder = Decoder(max_header_list_size=_LARGEST_BLOCK)
        self._blocks: dict[bytes, Mapping[bytes, bytes]] = {}
        #: A header block whose continuation must follow: its stream, flags and bytes.
        self._open_block: tuple[int, int, bytes] | None = None

    # Sending: everything is queued until `take`.

    def take(self) -> bytes:
        """Take the bytes to send to the peer."""
        data = b"".join(self._out)
        self._out.clear()
        self.unsent = 0
        return data

    def start(self) -> None:
        if self._client:
            self._out.append(PREFACE)
        settings = {_INITIAL_WINDOW: self._window, _MAX_HEADERS: _LARGEST_BLOCK}
        settings.update({_ENABLE_PUSH: 0} if self._client else {_MAX_STREAMS: self._most})
        self._add(_SETTINGS, 0, 0, b"".join(_SETTING.pack(*each) for each in settings.items()))
        self._add(_WINDOW_UPDATE, 0, 0, _NUMBER.pack(self._connection_window - _FIRST_WINDOW))

    def _add(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        self._out.append(_HEAD.pack(len(content) << 8 | kind, flags, stream))
        self._out.append(content)

    @property
    def used_up(self) -> bool:
        """True if a client has no number left for a stream."""
        return self._last + 2 > _LAST_STREAM

    def open(self) -> int:
        """The number of a new stream of a client."""
        self._last += 2
        self._streams[self._last] = _Stream(self._first_room, self._window)
        return self._last

    def send_headers(self, stream: int, block: bytes, *, last: bool = False) -> None:
        """Send a header block, which fits into a frame, on an open stream."""
        self._add(_HEADERS, _END_HEADERS | last, stream, block)
        if last:
            self._sent_all(stream)

    def send_data(self, stream: int, out: deque[bytes], *, last: bool, most: int = sys.maxsize) -> int:
        """Send as much of `out` as the windows of an open stream admit, up to about `most` bytes, and end the stream
        after it if it is the `last`; returns the number of bytes."""
        state = self._streams[stream]
        sent = 0
        while out and sent < most:
            size = min(self._room, state.room, self._frame)
            if size <= 0:
                break
            piece = out[0]
            if len(piece) <= size:
                out.popleft()
                size = len(piece)
            else:
                out[0] = memoryview(piece)[size:]  # type: ignore[assignment]  # sliced without copying the rest
                piece = piece[:size]
            ends = last and not out
            self._add(_DATA, ends, stream, piece)
            self._room -= size
            state.room -= size
            sent += size
            if ends:
                self._sent_all(stream)
        self.unsent += sent
        return sent

    def _sent_all(self, stream: int) -> None:
        state = self._streams[stream]
        state.sent_all = True
        if state.received_all:
            del self._streams[stream]

    def reset(self, stream: int, code: int) -> None:
        """End a stream, if it has not ended on both sides."""
        if self._streams.pop(stream, None) is not None:
            self._add(_RST_STREAM, 0, stream, _NUMBER.pack(code))

    def go_away(self, code: int = NO_ERROR) -> None:
        """Say that no further stream is taken."""
        self._add(_GOAWAY, 0, 0, _NUMBER.pack(0 if self._client else max(0, self._last)) + _NUMBER.pack(code))

    # Receiving.

    def receive(self, data: bytes) -> None:
        """Process what has arrived. Raises Http2Error."""
        if self._rest:
            data = self._rest + data
        at, size = 0, len(data)
        if not self._greeted:
            if data[: len(PREFACE)] != PREFACE[:size]:
                raise self._broken(PROTOCOL_ERROR, "it does not begin with HTTP/2")
            if size < len(PREFACE):
                self._rest = data
                return
            self._greeted = True
            at = len(PREFACE)
        while size - at >= 9:
            word, flags, stream = _HEAD.unpack_from(data, at)
            length = word >> 8
            if length > _FRAME:
                raise self._broken(FRAME_SIZE_ERROR, f"a frame of {length} bytes")
            begin, end = at + 9, at + 9 + length
            if end > size:
                break
            self._frame_received(word & 255, flags, stream & _LARGEST_WINDOW, data[begin:end])
            at = end
        self._rest = data[at:]

    def _broken(self, code: int, why: str) -> Http2Error:
        self.go_away(code)
        return Http2Error(code, why)

    def _frame_received(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        if self._open_block is not None and kind != _CONTINUATION:
            raise self._broken(PROTOCOL_ERROR, "a header block is not continued")
        if not self._settled and kind != _SETTINGS:
            raise self._broken(PROTOCOL_ERROR, "it does not begin with settings")
        if kind in _OF_CONNECTION:
            if stream:
                raise self._broken(PROTOCOL_ERROR, f"a frame of type {kind} on a stream")
        elif kind in _OF_STREAM and not stream:
            raise self._broken(PROTOCOL_ERROR, f"a frame of type {kind} without a stream")
        size = _SIZES.get(kind)
        if size is not None and len(content) != size:
            raise self._broken(FRAME_SIZE_ERROR, f"a frame of type {kind} with {len(content)} bytes")
        receive = _RECEIVE.get(kind)
        if receive is not None:
            receive(self, flags, stream, content)

    def _content(self, flags: int, content: bytes, prioritized: int = 0) -> bytes:
        """Without padding and, of HEADERS, the priority of `prioritized` bytes."""
        begin, end = prioritized, len(content)
        if flags & _PADDED:
            begin += 1
            end -= content[0] if content else 1
        if begin > end:
            raise self._broken(PROTOCOL_ERROR, "a frame with more padding than content")
        return content[begin:end] if begin or end < len(content) else content

    def _data(self, flags: int, stream: int, content: bytes) -> None:
        size = len(content)
        self._expected -= size
        if self._expected < 0:
            raise self._broken(FLOW_CONTROL_ERROR, "more data than the window of the connection")
        if self._expected < self._connection_window // 2:
            self._add(_WINDOW_UPDATE, 0, 0, _NUMBER.pack(self._connection_window - self._expected))
            self._expected = self._connection_window
        state = self._streams.get(stream)
        if state is None or state.received_all:
            self._gone(stream)
            return
        state.expected -= size
        if state.expected < 0:
            raise self._broken(FLOW_CONTROL_ERROR, "more data than the window of a stream")
        ended = bool(flags & _END_STREAM)
        if ended:
            self._received_all(stream, state)
        elif state.expected < self._window // 2:
            self._add(_WINDOW_UPDATE, 0, stream, _NUMBER.pack(self._window - state.expected))
            state.expected = self._window
        if flags & _PADDED:
            content = self._content(flags, content)
        self._owner.data_received(stream, content, ended)

    def _received_all(self, stream: int, state: _Stream) -> None:
        state.received_all = True
        if state.sent_all:
            del self._streams[stream]

    def _gone(self, stream: int) -> None:
        """A frame of a stream that has ended, which is ignored, or that there never was. Raises Http2Error."""
        if stream > self._last or not stream & 1:
            raise self._broken(PROTOCOL_ERROR, f"a frame of stream {stream}, which was not opened")

    def _headers(self, flags: int, stream: int, content: bytes) -> None:
        block = content
        if flags & (_PADDED | _PRIORITIZED):
            block = self._content(flags, content, 5 if flags & _PRIORITIZED else 0)
        if flags & _END_HEADERS:
            self._block(flags, stream, block)
        else:
            self._open_block = stream, flags, block

    def _continuation(self, flags: int, stream: int, content: bytes) -> None:
        if self._open_block is None or self._open_block[0] != stream:
            raise self._broken(PROTOCOL_ERROR, "a continuation of no header block")
        _, first, block = self._open_block
        block += content
        if len(block) > _LARGEST_BLOCK:
            raise self._broken(ENHANCE_YOUR_CALM, "a header block that is too large")
        if flags & _END_HEADERS:
            self._open_block = None
            self._block(first, stream, block)
        else:
            self._open_block = stream, first, block

    def _block(self, flags: int, stream: int, block: bytes) -> None:
        headers = self._blocks.get(block)
        if headers is None:
            headers = self._decoded(block)
        ended = bool(flags & _END_STREAM)
        state = self._streams.get(stream)
        if state is None and not self._client and stream > self._last and stream & 1:
            self._last = stream
            state = self._streams[stream] = _Stream(self._first_room, self._window)
            if len(self._streams) > self._most:
                self.reset(stream, REFUSED_STREAM)
                return
        if state is None or state.received_all:
            self._gone(stream)
            return
        if ended:
            self._received_all(stream, state)
        self._owner.headers_received(stream, headers, ended)

    def _decoded(self, block: bytes) -> Mapping[bytes, bytes]:
        decoder = self._decoder
        before = _table(decoder)
        try:
            headers = dict(decoder.decode(block, raw=True))
        except HPACKError as error:
            raise self._broken(COMPRESSION_ERROR, f"a header block: {error}") from None
        same = all(map(is_, before, _table(decoder)))
        if not same or len(self._blocks) >= _MOST_BLOCKS:
            self._blocks.clear()
        if same:
            self._blocks[block] = headers
        return headers

    def _settings(self, flags: int, stream: int, content: bytes) -> None:
        self._settled = True
        if flags & _ACK:
            if content:
                raise self._broken(FRAME_SIZE_ERROR, "an acknowledgement of settings with content")
            return
        if len(content) % _SETTING.size:
            raise self._broken(FRAME_SIZE_ERROR, f"settings of {len(content)} bytes")
        for name, value in _SETTING.iter_unpack(content):
            if name == _INITIAL_WINDOW:
                self._resize_windows(value)
            elif name == _MAX_FRAME:
                if not _FRAME <= value < 1 << 24:
                    raise self._broken(PROTOCOL_ERROR, f"the setting {name} is {value}")
                self._frame = value
            elif name == _MAX_STREAMS:
                self.most_streams = value
            elif name == _ENABLE_PUSH and value > 1:
                raise self._broken(PROTOCOL_ERROR, f"the setting {name} is {value}")
        self._add(_SETTINGS, _ACK, 0, b"")
        self._owner.windows_opened()

    def _resize_windows(self, size: int) -> None:
        if size > _LARGEST_WINDOW:
            raise self._broken(FLOW_CONTROL_ERROR, f"a window of {size} bytes")
        change, self._first_room = size - self._first_room, size
        for state in self._streams.values():
            state.room += change
            if state.room > _LARGEST_WINDOW:
                raise self._broken(FLOW_CONTROL_ERROR, "a window beyond the largest one")

    def _window_update(self, flags: int, stream: int, content: bytes) -> None:
        size = _NUMBER.unpack(content)[0] & _LARGEST_WINDOW
        if not stream:
            self._room += size
            if not size or self._room > _LARGEST_WINDOW:
                raise self._broken(FLOW_CONTROL_ERROR if size else PROTOCOL_ERROR, f"a window update of {size} bytes")
        else:
            state = self._streams.get(stream)
            if state is None:
                self._gone(stream)
                return
            state.room += size
            if not size or state.room > _LARGEST_WINDOW:
                code = FLOW_CONTROL_ERROR if size else PROTOCOL_ERROR
                self.reset(stream, code)
                self._owner.stream_reset(stream, code)
                return
        self._owner.windows_opened()

    def _rst_stream(self, flags: int, stream: int, content: bytes) -> None:
        if self._streams.pop(stream, None) is None:
            self._gone(stream)
        else:
            self._owner.stream_reset(stream, _NUMBER.unpack(content)[0])

    def _push_promise(self, flags: int, stream: int, content: bytes) -> None:
        raise self._broken(PROTOCOL_ERROR, "a push, which is not permitted")

    def _ping(self, flags: int, stream: int, content: bytes) -> None:
        if not flags & _ACK:
            self._add(_PING, _ACK, 0, content)

    def _goaway(self, flags: int, stream: int, content: bytes) -> None:
        if len(content) < 8:
            raise self._broken(FRAME_SIZE_ERROR, "a GOAWAY that is too short")
        self._owner.going_away(_NUMBER.unpack_from(content)[0] & _LARGEST_WINDOW, _NUMBER.unpack_from(content, 4)[0])


def _table(decoder: Decoder) -> tuple[object, ...]:
    """Identifies the state of a peer's table: its limit, its newest and its oldest entry."""
    entries = decoder.header_table.dynamic_entries
    return decoder.header_table_size, *((entries[0], entries[-1]) if entries else (None, None))


_OF_CONNECTION: Final = frozenset((_SETTINGS, _PING, _GOAWAY))
_OF_STREAM: Final = frozenset((_DATA, _HEADERS, _PRIORITY, _RST_STREAM, _PUSH_PROMISE, _CONTINUATION))
_SIZES: Final = {_PRIORITY: 5, _RST_STREAM: 4, _PING: 8, _WINDOW_UPDATE: 4}
#: What is not here is ignored (RFC 9113, 5.5).
_RECEIVE: Final = {
    _DATA: Http2._data, _HEADERS: Http2._headers, _RST_STREAM: Http2._rst_stream, _SETTINGS: Http2._settings,
    _PUSH_PROMISE: Http2._push_promise, _PING: Http2._ping, _GOAWAY: Http2._goaway,
    _WINDOW_UPDATE: Http2._window_update, _CONTINUATION: Http2._continuation,
}  # fmt: skip
