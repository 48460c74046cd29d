"""`LocalClient`: a client that calls the pipeline without a socket; all policy applies (docs/decisions.md 6).

Every stage runs as for a request over HTTP; only the user is preset, and bodies are passed as values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import orjson
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from orchd.client import requests
from orchd.client.interfaces import IByteStream, IRawClient, IWatchStream, RawResponse, ResourceRef, WatchEvent
from orchd.client.methods import Methods
from orchd.client.requests import Call
from orchd.client.statuses import error_of, warning_text
from orchd.errors import ApiError
from orchd.kinds.codec.frames import decode_metadata, decode_object_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline.interfaces import IBody, IPipeline, ISink, ListPieces, Request, Response, size_of, whole
from orchd.server.pipeline.query import Query
from orchd.txkit.collection import make_large
from orchd.txkit.turns import TurnBudget

#: Bytes of a response or watch event above which it is decoded in a turn of its own.
LARGE = 64 << 10
#: Pending events of a local watcher at which its watch ends; the watcher then lists again.
_MOST_EVENTS = 10_000


@implementer(IBody)
class ValueBody:
    """A body that is a value. Objects are passed without encoding; `read` encodes bodies that verbs need as text:
    patches and options."""

    def __init__(self, data: Any) -> None:
        self.value = data if isinstance(data, dict) else None
        self.length = 0 if data is None else None
        self.arrival = None
        self._data = data

    async def read(self, limit: int) -> bytes:
        return await self.piece()

    async def piece(self) -> bytes:
        data, self._data = self._data, None
        return b"" if data is None else orjson.dumps(data)


@implementer(IPipeline)
class PipelineEntrance:
    """Forwards to a pipeline that is built later. Requests before `connect` raise RuntimeError."""

    def __init__(self) -> None:
        self._pipeline: IPipeline | None = None

    def connect(self, pipeline: IPipeline) -> None:
        """Forward to `pipeline` from now on."""
        self._pipeline = pipeline

    async def handle(self, request: Request) -> Response:
        if self._pipeline is None:
            raise RuntimeError("the pipeline is not composed yet")
        response: Response = await self._pipeline.handle(request)
        return response


@implementer(IRawClient)
class LocalClient(Methods):
    """A client that acts as one user. `agent` is the user agent, from which field managers are named. `turns`, shared
    by the clients of a process, keeps callers that ask, or get responses, together from doing so in one reactor
    turn."""

    def __init__(
        self,
        pipeline: IPipeline,
        user: User,
        *,
        agent: str,
        clock: Callable[[], float],
        turns: TurnBudget | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._user = user
        self._headers = {"user-agent": (agent,), "accept": ("application/json",), "content-type": ("application/json",)}
        self._clock = clock
        self._turns = turns

    async def _handle(self, call: Call) -> Response:
        if self._turns is not None:
            await self._turns.wait()
        response: Response = await self._pipeline.handle(self._request(call))
        if self._turns is not None:
            await self._turns.wait()
        return response

    def _request(self, call: Call) -> Request:
        headers = self._headers
        if call.content_type != "application/json" or call.accept != "application/json":
            headers = {**headers, "content-type": (call.content_type,), "accept": (call.accept,)}
        return Request(
            method=call.method,
            path=unquote(call.path),
            raw_path=call.path,
            query=Query.of({k: (v,) for k, v in call.query.items()}),
            headers=headers,
            body=ValueBody(call.body),
            credentials=Credentials(headers=headers),
            received=self._clock(),
            user=self._user,
            need_response=call.need_response,
        )

    async def _call(self, call: Call) -> Object:
        response = await self._handle(call)
        if not call.need_response and response.code < 400 and response.stream is None:
            return {}
        if isinstance(response.body, ListPieces) and response.code < 400:
            return await self._list(response.body, call)
        if self._turns is not None and size_of(response.body) > LARGE:
            small = call.object_metadata_only and response.code < 400
            decode = decode_object_metadata if small else _json
            body = await make_large(self._turns, lambda: decode(whole(response.body)), small=small)
        else:
            body = _value(response)
        if response.stream is not None:
            # Of another server, behind API aggregation.
            body = _json(await _read_all(response.stream))
        if response.code >= 400 or not isinstance(body, dict):
            raise error_of(body, response.code)
        return body

    async def _list(self, pieces: ListPieces, call: Call) -> Object:
        """Decode a large list, large items each in a turn of its own."""
        out: Object = orjson.loads(pieces.empty)
        items: list[Any] = out["items"]
        for text in pieces.items():
            items.append(await self._decode(text, decode_object_metadata if call.metadata_only else orjson.loads))
        return out

    async def _decode(self, text: bytes, decode: Callable[[bytes], Any]) -> Any:
        if self._turns is None:
            return decode(text)
        if len(text) > LARGE:
            return await make_large(self._turns, lambda: decode(text))
        await self._turns.wait()
        return decode(text)

    async def exchange(self, call: Call) -> RawResponse:
        response = await self._handle(call)
        if response.code >= 400:
            raise error_of(_value(response), response.code)
        warnings = (warning_text(value) for name, value in response.headers if name.lower() == "warning")
        body = whole(response.body)
        if response.stream is not None:
            body = await _read_all(response.stream)
        return RawResponse(
            code=response.code, content_type=response.content_type, body=body, warnings=tuple(filter(None, warnings))
        )

    async def stream(self, call: Call, seconds: float) -> IByteStream:
        """As `IRawClient.stream`; the pipeline itself ends what takes too long."""
        response: Response = await self._pipeline.handle(self._request(call))
        if response.code >= 400:
            raise error_of(_value(response), response.code)
        sink = _ByteSink(response.stream, whole(response.body))
        if response.stream is not None:
            response.stream.start(sink)
        stream: IByteStream = sink
        return stream

    async def watch(
        self, ref: ResourceRef, namespace: str = "", *, metadata_only: bool = False, **options: Any
    ) -> IWatchStream:
        response: Response = await self._pipeline.handle(self._request(requests.watch(ref, namespace, **options)))
        if response.stream is None:
            raise error_of(_value(response), response.code)
        # Frames of complete objects are shared by all watches: the server has to make none for this one.
        sink = _EventSink(response.stream, self._turns, metadata_only=metadata_only)
        response.stream.start(sink)
        stream: IWatchStream = sink
        return stream


def _value(response: Response) -> Any:
    """The JSON value of a complete response; its text when it is not JSON."""
    return _json(whole(response.body))


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace")


async def _read_all(stream: Any) -> bytes:
    """The complete body of a finite stream."""
    sink = _ByteSink(stream, b"")
    stream.start(sink)
    pieces = []
    while (piece := await sink.next()) is not None:
        pieces.append(piece)
    return b"".join(pieces)


@implementer(ISink)
class _Sink:
    """Buffers the output of a stream until it is read."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._frames: deque[bytes] = deque()
        self._waiting: Deferred[None] | None = None
        self._over = False
        self._cut: ApiError | None = None
        self.buffered = 0

    def write(self, data: bytes) -> None:
        if self._over:
            return
        if len(self._frames) >= _MOST_EVENTS:
            self._cut = ApiError(410, "Expired", "the watcher fell behind")
            self.close()
            return
        self._frames.append(data)
        self._wake()

    def writable(self) -> Deferred[None]:
        return succeed(None)

    def finish(self) -> None:
        self._over = True
        self._wake()

    def abort(self) -> None:
        self._cut = ApiError(410, "Expired", "the watch was cut")
        self.finish()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)

    async def _frame(self) -> bytes | None:
        """The next piece that was written; None at the end. Raises ApiError for a stream that was cut."""
        while not self._frames:
            if self._over:
                if self._cut is not None:
                    raise self._cut
                return None
            self._waiting = Deferred()
            await self._waiting
        return self._frames.popleft()

    def close(self) -> None:
        if not self._over:
            self._over = True
            if self._stream is not None:
                self._stream.stop()
            self._wake()


@implementer(IByteStream)
class _ByteSink(_Sink):
    """Returns the pieces unchanged: first `body`, then those of the stream, if any."""

    def __init__(self, stream: Any, body: bytes) -> None:
        super().__init__(stream)
        if body:
            self._frames.append(body)
        self._over = stream is None

    async def next(self) -> bytes | None:
        return await self._frame()


@implementer(IWatchStream)
class _EventSink(_Sink):
    """Buffers watch frames, and returns decoded events; with `metadata_only` large objects are reduced to their
    metadata."""

    def __init__(self, stream: Any, turns: TurnBudget | None, *, metadata_only: bool) -> None:
        super().__init__(stream)
        self._turns = turns
        self._metadata_only = metadata_only

    async def next(self) -> WatchEvent | None:
        frame = await self._frame()
        if frame is None:
            return None
        decode = decode_metadata if self._metadata_only else orjson.loads
        if self._turns is not None and len(frame) > LARGE:
            # The frame was written in the turn of the object's writer.
            event = await make_large(self._turns, lambda: decode(frame), small=self._metadata_only)
        else:
            event = decode(frame)
        if event["type"] == "ERROR":
            self.close()
            raise error_of(event["object"], 500)
        return WatchEvent(event["type"], event["object"])
