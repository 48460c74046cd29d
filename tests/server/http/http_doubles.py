"""A pipeline that a test drives, and a parser of responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.server.pipeline.interfaces import IPipeline, ISink, IStream, Request, Response


@implementer(IStream)
class Feed:
    """A stream that a test writes to."""

    def __init__(self) -> None:
        self.sink: Any = None
        self.stopped = 0

    def start(self, sink: ISink) -> None:
        self.sink = sink

    def stop(self) -> None:
        self.stopped += 1


@implementer(IPipeline)
class Paths:
    """Responses by path, as the tests need them.

    /echo: the body, read with a limit of 1,000 bytes. /wait: when the test fires `waiting`. /stream: a `Feed`. /big:
    300,000 bytes. /ignore: responds without reading the body. /bug: raises. Others: method and path as text.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.waiting: list[Deferred[Response]] = []
        self.cancelled: list[str] = []
        self.feeds: list[Feed] = []
        self.bodies: list[bytes] = []
        self.special: dict[str, Callable[[Request], Response]] = {}

    async def handle(self, request: Request) -> Response:
        self.requests.append(request)
        path = request.path
        if path in self.special:
            return self.special[path](request)
        if path == "/echo":
            try:
                body = await request.body.read(1000)
            except ApiError as error:
                return Response(code=error.code, body=json.dumps(error.status()).encode())
            except Exception as error:
                self.cancelled.append(type(error).__name__)
                raise
            self.bodies.append(body)
            return Response(content_type="text/plain", body=body)
        if path == "/wait":
            waiting: Deferred[Response] = Deferred(lambda _: self.cancelled.append(path))
            self.waiting.append(waiting)
            return await waiting
        if path == "/stream":
            self.feeds.append(Feed())
            return Response(stream=self.feeds[-1])
        if path == "/big":
            return Response(content_type="text/plain", body=[b"0123456789" * 10000] * 3)
        if path == "/bug":
            raise ZeroDivisionError("a bug")
        return Response(content_type="text/plain", body=f"{request.method} {path}".encode())


@dataclass(frozen=True)
class Answer:
    """A response as read from the wire."""

    code: int
    headers: dict[str, str]
    body: bytes


def read_answers(wire: bytes, *, bodiless: int = 0) -> list[Answer]:
    """All complete responses in `wire`; the first `bodiless` are responses to HEAD. Fails if bytes are left over."""
    out: list[Answer] = []
    while wire:
        head, mark, wire = wire.partition(b"\r\n\r\n")
        assert mark, f"an incomplete head: {head!r}"
        status, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        code = int(status.split()[1])
        body = b""
        if code == 100 or len(out) < bodiless:
            pass
        elif headers.get("transfer-encoding") == "chunked":
            while True:
                size, _, wire = wire.partition(b"\r\n")
                length = int(size, 16)
                body, tail, wire = body + wire[:length], wire[length : length + 2], wire[length + 2 :]
                assert tail == b"\r\n"
                if not length:
                    break
        else:
            length = int(headers.get("content-length", "0"))
            assert len(wire) >= length, "an incomplete body"
            body, wire = wire[:length], wire[length:]
        out.append(Answer(code, headers, body))
    return out
