"""Connection to one of the etcd members: reconnects on failure, and makes calls with timeouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from orchd.store.etcd.connection import Call, Connection
from orchd.store.etcd.failures import CallError
from orchd.store.etcd.servers import Server
from orchd.store.grpc.status import DEADLINE_EXCEEDED, UNAVAILABLE
from orchd.store.revision_page import RevisionReader, read_page
from orchd.txkit.coroutines import start
from orchd.txkit.deadlines import Deadlines
from orchd.txkit.log import Logger

_log = Logger()
#: Seconds before all members are tried again: initial and maximum pause.
_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0
#: Timeout of one attempt in seconds, TLS included.
_ATTEMPT: Final = 10.0


class Channel:
    """A connection to one of `servers` at a time. A lost connection is replaced by one to the next server, after a
    random, growing pause. Calls made meanwhile wait for it within their timeout.

    `failure` is the reason why it is disconnected, "" when connected. `patience` limits the wait of one call for a
    connection in seconds, so that calls fail early while etcd is unreachable.
    """

    def __init__(self, reactor: IReactorTime, servers: Sequence[Server], random: Random) -> None:
        self.failure = "not connected yet"
        #: The reason of the last disconnect; kept after a reconnect.
        self.last_failure = ""
        self.connects = 0
        self.patience = inf
        self._reactor = reactor
        self._servers = servers
        self._deadlines = Deadlines(reactor)
        self._random = random
        self._next = random.randrange(len(servers))
        self._rounds = 0
        #: URL of the server of the last connection.
        self.url = ""
        self._connection: Connection | None = None
        #: Where the server on this machine says its newest revision.
        self._page: RevisionReader | None = None
        self._connecting: Deferred[Any] | None = None
        self._retry: Any = None
        self._waiting: dict[Deferred[Connection], None] = {}
        self._running = False
        self._listeners: list[Callable[[], object]] = []

    # Lifecycle.

    def on_connected(self, connected: Callable[[], object]) -> None:
        """Have `connected` called after each connect."""
        self._listeners.append(connected)

    def start(self) -> None:
        self._running = True
        self._connect()

    def stop(self) -> None:
        """Close the connection and fail every call, including later ones."""
        self._running = False
        self.failure = "the store is stopped"
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._connecting is not None:
            self._connecting.cancel()
        connection, self._connection = self._connection, None
        self._leave_page()
        if connection is not None:
            connection.close()
            connection.abort(self.failure)
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting:
            waiter.errback(CallError(UNAVAILABLE, self.failure, sent=False))
        self._deadlines.stop()

    def abandon(self, reason: str) -> None:
        """The member misbehaves: connect to the next one."""
        if self._connection is not None:
            self._connection.abort(reason)

    def _connect(self) -> None:
        self._retry = None
        server = self._servers[self._next % len(self._servers)]
        self._next += 1
        factory = Factory.forProtocol(
            lambda: Connection(server.authority, server.scheme, self._lost, self._reactor, at_once=bool(server.socket))
        )
        factory.noisy = False
        # Stopping must be able to cancel it, and each attempt needs a timeout.
        self._connecting = server.endpoint.connect(factory).addTimeout(_ATTEMPT, self._reactor)
        self._connecting.addCallbacks(self._connected, self._failed, callbackArgs=(server,), errbackArgs=(server,))

    def _connected(self, connection: Any, server: Server) -> None:
        self._connecting = None
        if not self._running:
            connection.abort("stopped")
            return
        if not connection.open:
            # Lost before the endpoint's Deferred fired.
            self._later()
            return
        self._connection = connection
        self._page = read_page(server.socket, connection.transport) if server.socket else None
        self.url = server.url
        self.failure = ""
        self.connects += 1
        _log.info("connected to etcd at {url}", url=server.url)
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting:
            waiter.callback(connection)
        for listener in self._listeners:
            listener()

    def _failed(self, failure: Failure, server: Server) -> None:
        self._connecting = None
        self.failure = self.last_failure = f"{server.url}: {failure.getErrorMessage() or type(failure.value).__name__}"
        self._later()

    def _lost(self, connection: Connection, reason: str) -> None:
        if connection is self._connection:
            self._connection = None
            self._leave_page()
            if connection.heard or connection.retired:
                # A server that accepts connections and closes them is not yet back.
                self._rounds = 0
            self.failure = self.last_failure = f"connection lost: {reason}"
            _log.warn("etcd: {why}", why=self.failure)
            self._later()

    def _later(self) -> None:
        if not self._running or self._retry is not None:
            return
        self._rounds += 1
        # The next member at once; a pause after all were tried, so that clients do not overload a restarting one.
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (self._rounds // len(self._servers)))
        self._retry = self._reactor.callLater(longest * self._random.uniform(0.5, 1.0), self._connect)

    # The shared page.

    def shared_revision(self) -> int | None:
        """The newest acknowledged revision of a store on this machine, without a call. None if it must be asked."""
        return None if self._page is None else self._page.read()

    def _leave_page(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            page.close()

    # Calls.

    def connection(self) -> Deferred[Connection]:
        """The current connection, or the next one. Cancel to limit the wait."""
        if self._connection is not None:
            return succeed(self._connection)
        waiter: Deferred[Connection] = Deferred(lambda waiter: self._waiting.pop(waiter, None))
        if not self._running:
            waiter.errback(CallError(UNAVAILABLE, self.failure, sent=False))
        else:
            self._waiting[waiter] = None
        return waiter

    def stream(
        self, path: str, on_message: Callable[[bytes], object], on_end: Callable[[CallError | None], object]
    ) -> Call | None:
        """A streaming call on the current connection; None while disconnected."""
        if self._connection is None:
            return None
        return self._connection.call(path, on_message, on_end)

    async def call(self, path: str, request: bytes, *, timeout: float, repeat: bool) -> bytes:
        """As `begin`. Raises CallError."""
        return await self.begin(path, request, timeout=timeout, repeat=repeat)

    def begin(self, path: str, request: bytes, *, timeout: float, repeat: bool) -> Deferred[bytes]:
        """A unary call with a timeout in seconds. Fails with CallError.

        `repeat` marks calls without side effects, which are retried when their response was lost. Others are retried
        only if no server has received them. Cancelling aborts the call.
        """
        ask = _Question(path, request, self._reactor.seconds() + timeout, repeat)
        connection = self._connection
        if connection is None:
            return start(self._ask(ask))
        try:
            first = _unary(self._deadlines, connection, path, request, timeout)
        except CallError:
            return start(self._ask_again(ask, connection, Failure()))
        return first.addErrback(lambda failure: start(self._ask_again(ask, connection, failure)))

    async def _ask(self, ask: _Question) -> bytes:
        """Ask on the next connection, and again while that helps."""
        while True:
            left = ask.deadline - self._reactor.seconds()
            connection = self._connection or await self._within(min(left, self.patience))
            left = ask.deadline - self._reactor.seconds()
            try:
                return await _unary(self._deadlines, connection, ask.path, ask.request, left)
            except CallError as error:
                await self._must_help(ask, connection, error)

    async def _ask_again(self, ask: _Question, connection: Connection, failure: Failure) -> bytes:
        """Ask again after a failure on `connection`. Raises CallError."""
        error = failure.value
        if not isinstance(error, CallError):
            failure.raiseException()
        await self._must_help(ask, connection, error)
        return await self._ask(ask)

    async def _must_help(self, ask: _Question, connection: Connection, error: CallError) -> None:
        """Wait until asking again may help. Raises `error` if that cannot, or if there is no time."""
        again = error.code == UNAVAILABLE and (ask.repeat or not error.sent)
        if not again or self._reactor.seconds() + _FIRST_WAIT > ask.deadline:
            raise error
        if self._connection is connection:
            # The member itself reported it: give it time to find a leader.
            await self._pause(_FIRST_WAIT)

    async def _within(self, seconds: float) -> Connection:
        waiter = self.connection()
        late = self._reactor.callLater(max(0.0, seconds), waiter.cancel)
        try:
            return await waiter
        except CancelledError:
            if late.active():
                raise
            raise CallError(UNAVAILABLE, self.failure, sent=False) from None
        finally:
            if late.active():
                late.cancel()

    async def _pause(self, seconds: float) -> None:
        pause: Deferred[None] = Deferred(lambda _: call.cancel())
        call = self._reactor.callLater(seconds, pause.callback, None)
        await pause


@dataclass(frozen=True, slots=True)
class _Question:
    """A unary call, with the time on the reactor's clock at which it ends."""

    path: str
    request: bytes
    deadline: float
    repeat: bool


def _unary(deadlines: Deadlines, connection: Connection, path: str, request: bytes, timeout: float) -> Deferred[bytes]:
    response: list[bytes] = []
    done: Deferred[bytes] = Deferred(lambda _: end(None))

    def end(failure: CallError | None) -> None:
        """End the call locally."""
        late.cancel()
        call.cancel()
        if failure is not None:
            done.errback(failure)

    def ended(failure: CallError | None) -> None:
        late.cancel()
        if failure is not None:
            done.errback(failure)
        else:
            done.callback(b"".join(response))

    call = connection.call(path, response.append, ended, timeout=timeout)
    late = deadlines.after(timeout, lambda: end(CallError(DEADLINE_EXCEEDED, f"no response within {timeout:.1f} s")))
    call.send(request, last=True)
    return done
