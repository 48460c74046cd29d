"""The process that owns the store: the supervisor of the processes that serve. With two, it is one of them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure

from orchd.assembly.frontend import binding
from orchd.assembly.processes.calls import Methods, ProcessUnavailableError
from orchd.assembly.processes.endpoints import SharedEndpoints
from orchd.assembly.processes.load import Load
from orchd.assembly.processes.port import InheritedPort
from orchd.assembly.processes.serving_process import ServingProcess
from orchd.assembly.processes.shares import Order, count_of_started, of_owner, of_serving_process, owner_serves
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
    """The processes that serve at the socket `bound` beside the owner or instead of it, as a member of the owner's
    services (`orchd.assembly.frontend.PublicPort`)."""

    name = "serving processes"
    #: Handshakes are counted by the processes that have them.
    failed_handshakes = 0

    def __init__(self, settings: Settings, reactor: Any, bound: socket.socket, load: Load) -> None:
        self._bound = bound
        self.address: tuple[str, int] = bound.getsockname()[:2]
        own = of_serving_process(settings, self.address[1])
        methods: Methods = {"others": self._of_others, "components": self._components, "exchange": self._exchange}
        order = Order(settings=own, family=bound.family)
        self._template = template = Template(reactor, order, bound.fileno(), load)
        self._processes = [
            ServingProcess(
                reactor, str(number), template, {name: partial(method, str(number)) for name, method in methods.items()}
            )
            for number in range(1, count_of_started(settings) + 1)
        ]
        self._patience = _PATIENCE + settings.serving.shutdown_delay_duration + settings.serving.request_timeout
        self._turns = shared_budget(reactor)
        #: Fire when the processes have ended, once their end has begun.
        self._ends: list[Deferred[None]] = []
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

    def connect(self, server: ApiServer) -> None:
        """Make `server` that of the owner. Called once, before the start."""
        self._server = server
        self._own = SharedEndpoints(OWNER, server, partial(self._of_others, OWNER), self._turns)
        server.api.measured.append(self)

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Start the processes and wait until all are ready. Raises OSError if one is not."""
        starting = [start(each.start()) for each in self._processes]
        for each, outcome in zip(self._processes, await gatherResults(starting), strict=True):
            if outcome:
                raise OSError(f"process {each.name} {outcome} before it was ready")

    def retire(self) -> None:
        """Begin to end the processes, each when its requests have ended, and start none again."""
        if not self._ends:
            self._template.stop()
            self._ends = [start(each.stop(self._patience)) for each in self._processes]

    async def stop(self) -> None:
        """End the processes, each when its requests have ended."""
        self.retire()
        self._bound.close()
        await gatherResults(self._ends)

    # What the processes ask.

    async def _of_others(self, asking: str, what: str, *arguments: Any) -> dict[str, Any]:
        """Parts of a response (`SharedEndpoints.parts`): that of this process and of all serving ones that respond in
        time, by the name of the process, without that of `asking`."""
        others = [each for each in self._processes if each.name != asking]
        responses = await gatherResults([start(_ask(each, what, *arguments)) for each in others])
        parts = {each.name: response for each, response in zip(others, responses, strict=True) if response is not None}
        return parts if asking == OWNER else {OWNER: await self._own.parts[what](*arguments), **parts}

    async def _components(self, asking: str) -> dict[str, str]:
        """Why each component in this process is unhealthy, "" if it is healthy."""
        return {name: probe() for name, probe in self._server.api.components.items()}

    async def _exchange(self, asking: str, call: Call) -> tuple[str, bytes]:
        """Content type and body of the response to a request that only this process can serve. It was authorized where
        it arrived."""
        response = await self._server.client.exchange(call)
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
    load = Load.of(settings.serving.processes)
    processes = ServingProcesses(settings, reactor, bound, load)
    own_port = InheritedPort(reactor, os.dup(bound.fileno()), bound.family, load, 0) if owner_serves(settings) else None
    server = ApiServer(of_owner(settings, processes.address[1]), reactor, endpoint=own_port, port=processes, **keywords)
    processes.connect(server)
    reactor.addSystemEventTrigger("before", "shutdown", processes.retire)
    return server
