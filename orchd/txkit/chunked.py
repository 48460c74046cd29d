"""Incremental decoder of the chunked transfer coding (RFC 9112, 7.1). Pure."""

from __future__ import annotations

import re

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(;[^\x00-\x08\x0a-\x1f\x7f]*)?")
#: Maximum length of a chunk's size line and of each trailer.
_LINE = 4096
_TRAILERS = 64 << 10


class BadChunk(Exception):
    """An invalid coding; the text is the reference's."""


class ChunkDecoder:
    """Decodes input piece by piece. `rest` holds the bytes after the body once `ended` is True."""

    __slots__ = ("_buffer", "_left", "_trailer", "ended", "rest")

    def __init__(self) -> None:
        self._buffer = b""
        #: Remaining bytes of the current chunk; -1: a size line is next; -2: the line end after a chunk.
        self._left = -1
        #: Bytes of trailers read, -1 before the last chunk.
        self._trailer = -1
        self.ended = False
        self.rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The content in `data`, as pieces. Raises BadChunk."""
        out: list[bytes] = []
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        at = 0
        while at < len(data):
            if self._left > 0:
                piece = data[at : at + self._left]
                out.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left == 0:
                    self._left = -2
                continue
            if self._left == -2:
                if len(data) - at < 2:
                    if data[at:] != b"\r":
                        raise BadChunk("malformed chunked encoding")
                    break
                if data[at : at + 2] != b"\r\n":
                    raise BadChunk("malformed chunked encoding")
                at += 2
                self._left = -1
                continue
            end = data.find(b"\n", at)
            if end < 0:
                if len(data) - at > _LINE:
                    raise BadChunk("header line too long")
                break
            if end == at or data[end - 1 : end] != b"\r":
                raise BadChunk("malformed chunked encoding")
            line = data[at : end - 1]
            at = end + 1
            if self._trailer >= 0:
                if not line:
                    self.ended = True
                    self.rest = data[at:]
                    return out
                self._trailer += len(line)
                if self._trailer > _TRAILERS:
                    raise BadChunk("http: suspiciously long trailer after chunked body")
                continue
            if len(line) > _LINE:
                raise BadChunk("header line too long")
            size = _SIZE.fullmatch(line)
            if size is None:
                raise BadChunk("invalid byte in chunk length")
            self._left = int(size.group(1), 16)
            if self._left == 0:
                self._trailer = 0
        self._buffer = data[at:]
        return out
