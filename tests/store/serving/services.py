"""Shared by the tests of this folder: services over a store in memory, without a connection."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.store.etcd import messages
from orchd.store.grpc.call import Call
from orchd.store.memory import MemoryStore
from orchd.store.serving.services import methods


class Connected:
    """Calls the methods of a store whose history has at most `history` events."""

    def __init__(self, history: int = 1000) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock, compaction_interval=0, history_events=history)
        self.store.start()
        self.methods = methods(self.store, self.clock, random=Random(1), urls=["http://here"])

    def call(self, path: str, request: Any, response: Any) -> Any:
        """The response to a unary call, which must be answered without waiting. Raises what it raises."""
        unary = self.methods[path.encode()].unary
        assert unary is not None
        results: list[Any] = []
        answer = unary(request.SerializeToString())
        (answer if isinstance(answer, Deferred) else Deferred.fromCoroutine(answer)).addBoth(results.append)
        for _ in range(100):
            if results:
                break
            self.clock.advance(0)
        if isinstance(results[0], list):
            return response.FromString(b"".join(results[0]))
        results[0].raiseException()
        return None

    def put(self, key: str, value: str = "", **fields: Any) -> Any:
        request = messages.PutRequest(key=key.encode(), value=value.encode(), **fields)
        return self.call(messages.PUT, request, messages.PutResponse)

    def delete(self, key: str, end: str = "", **fields: Any) -> Any:
        request = messages.DeleteRangeRequest(key=key.encode(), range_end=end.encode(), **fields)
        return self.call(messages.DELETE_RANGE, request, messages.DeleteRangeResponse)

    def range(self, key: str, end: str = "", **fields: Any) -> Any:
        request = messages.RangeRequest(key=key.encode(), range_end=end.encode(), **fields)
        return self.call(messages.RANGE, request, messages.RangeResponse)

    def stream(self, path: str, response: Any) -> Streamed:
        return Streamed(self, path, response)


class Streamed:
    """A streaming call. While `held`, the client reads nothing."""

    def __init__(self, connected: Connected, path: str, response: Any) -> None:
        self.held = False
        self.status: tuple[int, str] | None = None
        self._response = response
        self.responses: list[Any] = []
        self.call = Call(self, 1, connected.methods[path.encode()], 4 * 1024 * 1024)

    def ask(self, request: Any) -> None:
        data = request.SerializeToString()
        self.call.take(b"\0" + len(data).to_bytes(4, "big") + data)

    def read(self) -> None:
        """Read everything, and say so."""
        self.held = False
        self.pump(self.call)

    def taken(self) -> Sequence[Any]:
        """The responses since the last time."""
        taken, self.responses = self.responses, []
        return taken

    # The link of the call.

    def pump(self, call: Call) -> None:
        if self.held:
            return
        data = b"".join(call.out)
        call.out.clear()
        call.backlog = 0
        while data:
            size = int.from_bytes(data[1:5], "big")
            self.responses.append(self._response.FromString(data[5 : 5 + size]))
            data = data[5 + size :]
        if call.consumer is not None and call.status is None:
            call.consumer.drained()

    def flush(self) -> None:
        """Everything is sent at once."""

    def finished(self, call: Call, code: int, message: str) -> None:
        self.status = (code, message)
        call.release()
