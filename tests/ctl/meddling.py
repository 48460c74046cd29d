"""A client whose requests others precede."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from orchd.client.interfaces import Answer
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
        exchange = inner.exchange

        async def preceded(call: Call) -> Answer:
            calls.append(call)
            await before(call)
            answer: Answer = await exchange(call)
            return answer

        inner.exchange = preceded
        return inner

    monkeypatch.setattr(ctl.server, "client", client)
    return calls
