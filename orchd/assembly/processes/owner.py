"""The process that owns the store: a server without a port, and the supervisor of the processes that serve."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from twisted.internet.defer import gatherResults
from twisted.python.failure import Failure

from orchd.assembly.frontend import binding
from orchd.assembly.processes.calls import Methods, ProcessUnavailableError
from orchd.assembly.processes.metrics import joined, labelled
from orchd.assembly.processes.serving_process import ServingProcess
from orchd.assembly.processes.shares import Order, of_owner, of_serving_process
from orchd.assembly.processes.template import Template
from orchd.assembly.server import ApiServer
from orchd.client.requests import Call
from orchd.config.settings import Settings
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import ObservedCounter, ObservedGauge
from orchd.txkit.turns import shared_budget

_log = Logger(namespace="orchd.processes")
#: The name of this process in metrics.
OWNER: Final = "owner"
#: Seconds that the orderly stop of a process may take, in addition to --shutdown-delay-duration and --request-timeout.
_PATIENCE: Final = 30.0


class ServingProcesses:
    """The port of a server whose requests are served by other processes (`orchd.assembly.frontend.PublicPort`). `bound`
    is its socket."""

    name = "serving processes"
    #: Handshakes are counted by the processes that have them.
    failed_handshakes = 0

    def __init__(self, settings: Settings, reactor: Any, bound: socket.socket) -> None:
        self._bound = bound
        self.address: tuple[str, int] = bound.getsockname()[:2]
        own = of_serving_process(settings, self.address[1])
        methods: Methods = {
            "others": self._metrics_of_others,
            "reset": self._reset_others,
            "samples": self._samples_of_others,
            "components": self._components,
            "exchange": self._exchange,
        }
        order = Order(settings=own, family=bound.family, count=settings.serving.processes)
        self._template = template = Template(reactor, order, bound.fileno())
        self._processes = [
            ServingProcess(
                reactor, str(number), template, {name: partial(method, str(number)) for name, method in methods.items()}
            )
            for number in range(1, settings.serving.processes + 1)
        ]
        self._patience = _PATIENCE + settings.serving.shutdown_delay_duration + settings.serving.request_timeout
        self._turns = shared_budget(reactor)
        #: Set before the start.
        self.server: ApiServer
        self.instruments = (
            ObservedCounter(
                "orchd_process_restarts_total",
                "Serving processes that have ended and were started again, by the name of the process.",
                lambda: {(each.name,): float(each.restarts) for each in self._processes},
                ("name",),
            ),
            ObservedGauge(
                "orchd_process_ready",
                "Whether a serving process is ready, by the name of the process.",
                lambda: {(each.name,): float(each.ready) for each in self._processes},
                ("name",),
            ),
        )

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Start the processes and wait until all are ready. Raises OSError if one is not."""
        starting = [start(each.start()) for each in self._processes]
        for each, outcome in zip(self._processes, await gatherResults(starting), strict=True):
            if outcome:
                raise OSError(f"process {each.name} {outcome} before it was ready")

    def retire(self) -> None:
        """Stop restarting processes: this one begins to stop, and a signal may have reached all of them."""
        for each in self._processes:
            each.retire()

    async def stop(self) -> None:
        """End the processes, each when its requests have ended."""
        self._template.stop()
        self._bound.close()
        await gatherResults([start(each.stop(self._patience)) for each in self._processes])

    # What the processes ask.

    async def _metrics_of_others(self, asking: str) -> list[bytes]:
        """The metrics of this process, and of all others but `asking` that respond in time."""
        results = await self._ask_others(asking, "metrics")
        own = await self.server.client.exchange(Call(method="GET", path="/metrics"))
        labelled_own = await joined(labelled(own.body, OWNER), self._turns)
        return [labelled_own, *results.values()]

    async def _reset_others(self, asking: str) -> None:
        """Reset the metrics of this process, and of all others but `asking` that respond in time."""
        await self._ask_others(asking, "reset")
        await self.server.client.exchange(Call(method="DELETE", path="/metrics"))

    async def _samples_of_others(self, asking: str, after: int) -> dict[str, list[bytes]]:
        """The samples of metrics of this process, and of all others but `asking` that respond in time, by the name of
        the process."""
        results = await self._ask_others(asking, "samples", after)
        history = self.server.api.page.history
        return results if history is None else {OWNER: history.since(after), **results}

    async def _ask_others(self, asking: str, what: str, *arguments: Any) -> dict[str, Any]:
        """The responses of all serving processes but `asking` that respond in time, by their names."""
        others = [each for each in self._processes if each.name != asking]
        responses = await gatherResults([start(_ask(each, what, *arguments)) for each in others])
        return {each.name: response for each, response in zip(others, responses, strict=True) if response is not None}

    async def _components(self, asking: str) -> dict[str, str]:
        """Why each component in this process is unhealthy, "" if it is healthy."""
        return {name: probe() for name, probe in self.server.api.components.items()}

    async def _exchange(self, asking: str, call: Call) -> tuple[str, bytes]:
        """Content type and body of the response to a request that only this process can serve. It was authorized where
        it arrived."""
        response = await self.server.client.exchange(call)
        return response.content_type, response.body


async def _ask(process: ServingProcess, what: str, *arguments: Any) -> Any:
    """The response of a process, None if it does not respond."""
    if process.calls is None:
        return None
    try:
        return await process.calls.call(what, *arguments)
    except ProcessUnavailableError as error:
        _log.warn("{what} without those of process {name}: {why}", what=what, name=process.name, why=str(error))
        return None


def owner_server(settings: Settings, reactor: Any, descriptor: int | None, **keywords: Any) -> ApiServer:
    """The server of the process that owns the store. `descriptor` is a listening socket that replaces --bind-address
    and --secure-port, None for one of its own; `keywords` are those of `ApiServer`. Raises as `ApiServer` does."""
    bound = binding(settings.serving).bind() if descriptor is None else socket.socket(fileno=os.dup(descriptor))
    bound.setblocking(False)
    port = ServingProcesses(settings, reactor, bound)
    server = ApiServer(of_owner(settings, port.address[1]), reactor, port=port, **keywords)
    port.server = server
    server.api.measured.append(port)
    reactor.addSystemEventTrigger("before", "shutdown", port.retire)
    return server
