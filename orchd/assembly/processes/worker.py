"""The program of a serving process: an API server on the store of its owner, which starts it and tells it what to
do."""

from __future__ import annotations

import os
import socket
from functools import partial
from typing import Any, Final

import orjson
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol
from twisted.internet.task import LoopingCall
from twisted.logger import globalLogBeginner
from twisted.python.failure import Failure

from orchd.assembly.processes.calls import Calls, ProcessUnavailableError, factory_of, frame
from orchd.assembly.processes.endpoints import SharedEndpoints
from orchd.assembly.processes.load import Load
from orchd.assembly.processes.logs import write_events
from orchd.assembly.processes.port import InheritedPort
from orchd.assembly.processes.shares import Order
from orchd.assembly.processes.template import PORT
from orchd.assembly.runtime import EXPLAIN
from orchd.assembly.server import ApiServer
from orchd.client.requests import Call
from orchd.daemon import ProcessEnd, YoungCollector, collect_seldom, exit_cleanly_on_sigterm, settle_memory
from orchd.errors import bad_request, unavailable
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger, set_verbosity
from orchd.txkit.turns import shared_budget

_log = Logger(namespace="orchd.processes")
#: Seconds between questions about the components of the owner, for componentstatuses.
_ASK: Final = 2.0
#: Largest body of a request that the owner serves, in bytes.
_BODY: Final = 1024 * 1024


class _Link(Protocol):
    """The connection to the owner. This process ends when it is lost: only the owner has the store, and restarts
    processes."""

    def __init__(self) -> None:
        self.calls: Calls
        #: True when this process ends by itself.
        self.stopped = False

    def write(self, data: bytes) -> None:
        self.transport.write(data)  # type: ignore[union-attr]  # connected from the beginning

    def dataReceived(self, data: bytes) -> None:
        self.calls.received(data)

    def connectionLost(self, reason: Failure | None = None) -> None:
        if not self.stopped:
            os._exit(1)


class Worker:
    """One serving process. Raises OSError and ValueError for missing and invalid files."""

    def __init__(self, number: int, order: Order, load: Load, connection: int, reactor: Any) -> None:
        """`connection` is the descriptor of a socket."""
        self._reactor: IReactorTime = reactor
        self._server = server = ApiServer(
            order.settings,
            reactor,
            endpoint=InheritedPort(reactor, PORT, order.family, load, number),
            failed=ProcessEnd(reactor),
            opened=self._opened,
            housekeeping=False,
        )
        shared = SharedEndpoints(str(number), server, self._of_others, shared_budget(reactor))
        self._link = link = _Link()
        self._calls = link.calls = Calls(link.write, {**shared.parts, "alive": self._alive}, reactor)
        reactor.adoptStreamConnection(connection, socket.AF_UNIX, factory_of(link))
        os.close(connection)
        if order.settings.scheduler.enabled:
            server.api.endpoints[EXPLAIN] = self._of_owner
        self._asking = LoopingCall(lambda: start(self._ask()))
        self._asking.clock = reactor

    def start(self) -> None:
        self._server.service.startService()

    async def stop(self) -> None:
        """End the requests, then everything else."""
        if self._asking.running:
            self._asking.stop()
        await self._server.service.stopService()
        self._link.stopped = True

    def _opened(self, server: ApiServer) -> None:
        settle_memory()
        YoungCollector(self._reactor).start()
        self._asking.start(_ASK).addErrback(lambda failure: _log.failure("cannot ask the owner", failure))
        start(self._calls.call("ready")).addErrback(lambda failure: _log.failure("cannot tell the owner", failure))
        _log.info("serves at {url}", url=server.url)

    async def _ask(self) -> None:
        """Learn of the components that run in the owner."""
        try:
            components = await self._calls.call("components")
        except ProcessUnavailableError as error:
            components = dict.fromkeys(self._server.api.components, str(error))
        for name, why in components.items():
            self._server.api.components[name] = partial(str, why)

    async def _alive(self) -> None:
        """The response is all that the owner wants to know."""

    async def _of_others(self, what: str, *arguments: Any) -> Any:
        """The owner's response about the other processes. Raises ApiError 503."""
        try:
            return await self._calls.call("others", what, *arguments)
        except ProcessUnavailableError as error:
            raise unavailable(f"the other processes do not respond: {error}") from error

    async def _of_owner(self, request: Request) -> Response:
        """The owner's response."""
        query = {name: values[0] for name, values in request.query.items()}
        body = await request.body.read(_BODY)
        try:
            data = orjson.loads(body) if body else None
        except orjson.JSONDecodeError as error:
            raise bad_request(f"the body is not JSON: {error}") from None
        try:
            kind, response_body = await self._calls.call(
                "exchange", Call(method=request.method, path=request.path, query=query, body=data)
            )
        except ProcessUnavailableError as error:
            raise unavailable(f"the process of the scheduler does not respond: {error}") from error
        return Response(content_type=kind, headers=[NO_STORE], body=response_body)


def run(number: int, order: Order, load: Load, connection: int, log: int) -> None:
    """Serve until the owner, or a signal, ends this process. `connection` and `log` are descriptors of sockets to the
    owner."""
    os.write(connection, frame(("began", (os.getpid(),))))
    out = os.fdopen(log, "w", encoding="utf-8")
    globalLogBeginner.beginLoggingTo([write_events(out)], redirectStandardIO=False, discardBuffer=True)
    from twisted.internet import reactor as installed

    reactor: Any = installed
    collect_seldom()
    set_verbosity(order.settings.verbosity.of)
    try:
        worker = Worker(number, order, load, connection, reactor)
    except (OSError, ValueError) as error:
        _log.critical("cannot start: {why}", why=str(error))
        raise SystemExit(1) from None
    reactor.callWhenRunning(worker.start)
    # Later than "running": the reactor installs its own handlers last.
    reactor.callWhenRunning(reactor.callLater, 0, exit_cleanly_on_sigterm, reactor)
    reactor.addSystemEventTrigger("before", "shutdown", lambda: start(worker.stop()))
    reactor.run()
