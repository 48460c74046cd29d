"""In-process clients: who waits for the turns of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from twisted.internet.task import Clock

from orchd.assembly.client_access import ClientAccess
from orchd.assembly.runtime import Runtime
from orchd.client.requests import Call
from orchd.dialect import DIALECTS
from orchd.server.pipeline.interfaces import Response
from orchd.txkit.coroutines import start
from orchd.txkit.turns import shared_budget


def test_urgent_requests_do_not_wait_behind_those_of_others() -> None:
    clock = Clock()
    release = SimpleNamespace(version="v1.0.0")
    runtime: Any = SimpleNamespace(reactor=clock, dialect=DIALECTS["orch"], settings=SimpleNamespace(release=release))
    access = ClientAccess(cast(Runtime, runtime))
    handled = []

    class Pipeline:
        async def handle(self, request: Any) -> Response:
            handled.append(request.path)
            return Response(body=b"{}")

    access.entrance.connect(cast(Any, Pipeline()))
    budget = shared_budget(cast(Any, clock))
    waiting = [start(budget.wait_next()) for _ in range(3)]
    usual, urgent = access.client(access.user, "a/1"), access.client(access.user, "a/1", urgent=True)

    start(usual.exchange(Call(method="GET", path="/usual")))
    start(urgent.exchange(Call(method="GET", path="/urgent")))

    assert handled == ["/urgent"]
    clock.advance(0)
    clock.advance(0)
    assert handled == ["/urgent", "/usual"]
    assert all(each.called for each in waiting)
