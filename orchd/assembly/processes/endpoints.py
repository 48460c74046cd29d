"""The endpoints of a process whose responses have the parts of all processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from orchd.assembly.processes.calls import Methods
from orchd.assembly.processes.metrics import joined, labelled, merged
from orchd.assembly.server import ApiServer
from orchd.client.requests import Call
from orchd.server.pipeline.endpoints.routes import Endpoint
from orchd.server.pipeline.interfaces import Request, Response, whole
from orchd.server.ui.metric_history import PATH as SAMPLES
from orchd.server.ui.metric_history import after_of, document, join
from orchd.txkit.turns import TurnBudget

#: The metrics of the process that responds alone.
_ALONE: Final = "/metrics/process"


class SharedEndpoints:
    """Replaces the endpoints of `server`, the process `name`, that have one process's part by those that have all.
    `ask(what, *arguments)` asks for one of the `parts` of all others, by the name of the process; it raises ApiError
    503."""

    def __init__(self, name: str, server: ApiServer, ask: Callable[..., Awaitable[Any]], turns: TurnBudget) -> None:
        self._name = name
        self._server = server
        self._ask = ask
        self._turns = turns
        endpoints = server.api.endpoints
        endpoints[_ALONE] = alone = self._labelled(endpoints["/metrics"])
        endpoints["/metrics"] = self._all_metrics(alone)
        if server.api.page.history is not None:
            endpoints[SAMPLES] = self._all_samples

        #: The parts of this process, for others that ask.
        self.parts: Methods = {"metrics": self._metrics, "reset": self._reset, "samples": self._samples}

    async def _metrics(self) -> bytes:
        return (await self._server.client.exchange(Call(method="GET", path=_ALONE))).body

    async def _reset(self) -> None:
        await self._server.client.exchange(Call(method="DELETE", path=_ALONE))

    async def _samples(self, after: int) -> list[bytes]:
        history = self._server.api.page.history
        return [] if history is None else history.since(after)

    async def _all_samples(self, request: Request) -> Response:
        """The samples of the metrics of all processes."""
        after = after_of(request)
        others = await self._ask("samples", after)
        return document(join({**others, self._name: await self._samples(after)}))

    def _labelled(self, metrics: Endpoint) -> Endpoint:
        """The endpoint `metrics` with the label of this process."""

        async def respond(request: Request) -> Response:
            own = await metrics(request)
            if request.method == "DELETE":
                return own
            own.body = await joined(labelled(whole(own.body), self._name), self._turns)
            return own

        return respond

    def _all_metrics(self, alone: Endpoint) -> Endpoint:
        """The endpoint of the metrics of all processes; `alone` is that of this one."""

        async def respond(request: Request) -> Response:
            own = await alone(request)
            if request.method == "DELETE":
                await self._ask("reset")
                return own
            others = await self._ask("metrics")
            own.body = await joined(merged([*others.values(), whole(own.body)]), self._turns)
            return own

        return respond
