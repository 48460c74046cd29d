"""Encodes responses as bytes. Pure except for the cached Date header."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from email.utils import formatdate

from orchd.server.http.request_head import PHRASES, BadHead
from orchd.server.pipeline.interfaces import Response

_STATUS = {code: f"HTTP/1.1 {code} {phrase}\r\n" for code, phrase in PHRASES.items()}
#: Status codes of responses without body and length.
BODILESS = frozenset({204, 304, *range(100, 200)})
#: End of the chunked coding, without trailers.
LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class DateHeader:
    """The Date line of the current second (RFC 9110, 6.6.1)."""

    __slots__ = ("_line", "_second")

    def __init__(self) -> None:
        self._second = -1
        self._line = ""

    def at(self, seconds: float) -> str:
        second = int(seconds)
        if second != self._second:
            self._second = second
            self._line = f"Date: {formatdate(second, usegmt=True)}\r\n"
        return self._line


def head(response: Response, framing: str, date: str) -> bytes:
    """Status line and headers. `framing` are lines about length and connection.

    Raises ValueError for line breaks in a header, which are a bug of the caller."""
    code = response.code
    lines = _STATUS.get(code) or f"HTTP/1.1 {code} status code {code}\r\n"
    count = 1
    for name, value in response.headers:
        lines += f"{name}: {value}\r\n"
        count += 1
    if lines.count("\n") != count or lines.count("\r") != count:
        raise ValueError("a line break in a response header")
    content_type = f"Content-Type: {response.content_type}\r\n" if response.content_type else ""
    return f"{lines}{content_type}{date}{framing}\r\n".encode("utf-8", "surrogateescape")


def refusal(bad: BadHead) -> bytes:
    """The plain response to an invalid head; the connection ends with it."""
    if bad.code == 417:
        return b"HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    return (
        f"HTTP/1.1 {bad.code} {PHRASES[bad.code]}\r\n"
        f"Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
        f"Content-Length: {len(bad.text)}\r\n\r\n{bad.text}"
    ).encode("utf-8", "replace")


def compress(pieces: Iterable[bytes]) -> list[bytes]:
    """One gzip member (RFC 1952) of all pieces, at the fastest level, to save CPU time."""
    gzip = zlib.compressobj(1, zlib.DEFLATED, 31)
    out = [done for piece in pieces if (done := gzip.compress(piece))]
    out.append(gzip.flush())
    return out


def chunk(data: bytes) -> bytes:
    """One chunk of the chunked coding. `data` must not be empty: that would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)
