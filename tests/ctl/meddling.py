"""A client whose requests others precede."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from orchd.client.interfaces import IByteStream, RawResponse
from orchd.client.requests import Call
from tests.ctl.ctl_runner import Ctl

#: What happens before a request; an error that it raises is the response.
Before = Callable[[Call], Awaitable[object]]


def precede(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, before: Before) -> list[Call]:
    """Await `before` for each request of later commands. Returns the requests that come, in order."""
    calls: list[Call] = []
    make = ctl.server.client

    def client(*user: str, **more: Any) -> Any:
        inner: Any = make(*user, **more)
        exchange, stream = inner.exchange, inner.stream

        async def preceded(call: Call) -> RawResponse:
            calls.append(call)
            await before(call)
            response: RawResponse = await exchange(call)
            return response

        async def preceded_stream(call: Call, seconds: float) -> IByteStream:
            calls.append(call)
            await before(call)
            opened: IByteStream = await stream(call, seconds)
            return opened

        inner.exchange, inner.stream = preceded, preceded_stream
        return inner

    monkeypatch.setattr(ctl.server, "client", client)
    return calls
