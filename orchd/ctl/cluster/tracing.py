"""``-v``: lines about the requests of a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from zope.interface import implementer

from orchd.client.interfaces import IByteStream, IRawClient, ISocketClient, IWebSocket, RawResponse
from orchd.client.requests import Call
from orchd.errors import ApiError

#: The lowest ``-v`` that prints requests, and the lowest that prints bodies.
QUIETEST: Final = 6
_BODIES: Final = 8
#: Characters of a body that are printed below -v9.
_MOST: Final = 1024


@implementer(IRawClient, ISocketClient)
class TracingClient:
    """A client that tells `say` of each request of another: method, path, status and time; from -v8 on bodies as well.
    Credentials are in headers, which are never printed."""

    def __init__(self, inner: Any, clock: Any, verbosity: int, say: Callable[[str], None]) -> None:
        self._inner = inner
        self._clock = clock
        self._verbosity = verbosity
        self._say = say

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def exchange(self, call: Call) -> RawResponse:
        began = self._begin(call)
        try:
            response: RawResponse = await self._inner.exchange(call)
        except ApiError as error:
            self._end(call, error.code, began)
            raise
        self._end(call, response.code, began)
        self._body("Response", response.body)
        return response

    async def stream(self, call: Call, seconds: float) -> IByteStream:
        began = self._begin(call)
        try:
            opened: IByteStream = await self._inner.stream(call, seconds)
        except ApiError as error:
            self._end(call, error.code, began)
            raise
        self._end(call, 200, began)
        return opened

    async def websocket(self, path: str, query: Any, protocols: Any) -> IWebSocket:
        query = list(query)
        self._say(f"GET {path}{'?' if query else ''}{urlencode(query)} (WebSocket)")
        opened: IWebSocket = await self._inner.websocket(path, query, protocols)
        return opened

    def _begin(self, call: Call) -> float:
        if call.body is not None:
            self._body("Request", call.body if isinstance(call.body, bytes) else orjson.dumps(call.body))
        began: float = self._clock.seconds()
        return began

    def _end(self, call: Call, code: int, began: float) -> None:
        query = urlencode(dict(call.query or {}))
        took = round((self._clock.seconds() - began) * 1000)
        self._say(f"{call.method} {call.path}{'?' if query else ''}{query} {code} in {took} ms")

    def _body(self, of: str, data: bytes) -> None:
        if self._verbosity < _BODIES:
            return
        text = data.decode("utf-8", "replace")
        rest = len(text) - _MOST
        if rest > 0 and self._verbosity == _BODIES:
            text = f"{text[:_MOST]} [{rest} characters more: -v9 prints all]"
        self._say(f"{of} body: {text.rstrip()}")
