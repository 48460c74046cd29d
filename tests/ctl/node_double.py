"""A node at the other end of a WebSocket: what a test lets it send, and what it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from zope.interface import alsoProvides, implementer

from orchd.client.interfaces import ISocketClient, IWebSocket
from orchd.errors import ApiError
from tests.ctl.ctl_runner import Ctl


@implementer(IWebSocket)
class Socket:
    """`messages` are sent in their order; then the socket waits for more until it is closed, or `ended` by the node."""

    def __init__(self, *messages: bytes, protocol: str = "v5.channel.k8s.io", ended: bool = True) -> None:
        self.protocol = protocol
        self.messages = list(messages)
        self.ended = ended
        self.sent: list[bytes] = []
        self.closed = False
        self._waiting: Deferred[None] | None = None

    async def next(self) -> bytes | None:
        while not self.messages:
            if self.ended or self.closed:
                return None
            self._waiting = Deferred()
            await self._waiting
        return self.messages.pop(0)

    async def send(self, message: bytes) -> None:
        self.sent.append(message)

    def close(self) -> None:
        self.closed = True
        self._wake()

    def deliver(self, *messages: bytes, ended: bool = False) -> None:
        self.messages += messages
        self.ended = ended
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)


#: The socket of a request, by its path and its query; an error is the response instead.
Answer = Callable[[str, list[tuple[str, str]]], Socket | ApiError]


class Node:
    """Opens WebSockets as `answer` says. `asked` has the path, query and protocols of each request."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[tuple[str, str]], list[str]]] = []
        self.sockets: list[Socket] = []

    async def websocket(self, path: str, query: Iterable[tuple[str, str]], protocols: Iterable[str]) -> Socket:
        pairs = list(query)
        self.asked.append((path, pairs, list(protocols)))
        socket = self.answer(path, pairs)
        if isinstance(socket, ApiError):
            raise socket
        self.sockets.append(socket)
        return socket


def connect_node(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> Node:
    """Let the clients of later commands open WebSockets to a node."""
    node = Node(answer)
    make = ctl.server.client

    def client(*user: str, **more: Any) -> Any:
        inner: Any = make(*user, **more)
        inner.websocket = node.websocket
        alsoProvides(inner, ISocketClient)
        return inner

    monkeypatch.setattr(ctl.server, "client", client)
    return node
