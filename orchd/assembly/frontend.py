"""The listener of one server: its socket, opening and graceful close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.internet.task import deferLater

from orchd.assembly.api import Api
from orchd.assembly.files import ServerFiles
from orchd.assembly.runtime import Runtime
from orchd.config.sections.listener import ListenerSettings
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.limits import Limits
from orchd.server.http.listener import Binding, Listener
from orchd.server.http.tls import ServerContexts
from orchd.server.state import ServerState
from orchd.txkit.metrics.instruments import ObservedCounter
from orchd.txkit.services import Member, as_member

#: Seconds between checks whether in-flight requests have completed.
_DRAIN_STEP = 0.05


def binding(serving: ListenerSettings) -> Binding:
    """Where the flags let a server listen."""
    return Binding(
        address=str(serving.bind_address),
        port=serving.port,
        share_port=serving.share_port,
        share_address=serving.share_address,
    )


class PublicPort(Member, Protocol):
    """The port of a server, as a member of its services, and what accepts connections there."""

    @property
    def address(self) -> tuple[str, int]:
        """The bound address, with the port that the system chose for 0; known when it has started."""

    @property
    def failed_handshakes(self) -> int:
        """TLS handshakes that failed so far in this process."""


class Frontend:
    """Accepts connections for `api`. `endpoint` replaces --bind-address and --secure-port; `others` are other processes
    that accept connections at the port, without an endpoint they alone; `opened` is called once, when all requests are
    served."""

    def __init__(
        self,
        runtime: Runtime,
        state: ServerState,
        api: Api,
        files: ServerFiles,
        endpoint: IStreamServerEndpoint | None,
        opened: Callable[[], object],
        others: PublicPort | None = None,
    ) -> None:
        self._runtime, self._state, self._api, self._opened = runtime, state, api, opened
        reactor, serving = runtime.reactor, runtime.settings.serving
        compress = runtime.objects.feature("APIResponseCompression")
        limits = Limits() if compress else Limits(gzip_above=None)
        self.factory = factory = ApiServerFactory(api.pipeline, reactor, limits, wall=runtime.wall)
        http2 = None
        if serving.http2_max_streams:
            # Twisted's own server and the h2 library: much to import for what is off by default.
            from orchd.server.http.http2 import Http2Factory

            http2 = Http2Factory(
                api.pipeline,
                reactor,
                streams=serving.http2_max_streams,
                limits=factory.limits,
                says_goodbye=self._says_goodbye,
            )
        self.contexts = ServerContexts(files.tls)
        self._accepts = others is None or endpoint is not None
        self._ports: list[PublicPort] = [] if others is None else [others]
        if self._accepts:
            at = endpoint or binding(serving)
            self._ports.append(Listener(reactor, factory, at, contexts=self.contexts, h2=http2))
        self.listener = self._ports[-1]
        self.instruments = (
            ObservedCounter(
                "apiserver_tls_handshake_errors_total",
                "TLS handshakes that failed.",
                lambda: self.listener.failed_handshakes,
            ),
        )

    def _says_goodbye(self) -> bool:
        chance = self._runtime.settings.serving.goaway_chance
        return chance > 0 and self._runtime.random.random() < chance

    def listening(self) -> list[Member]:
        return [*self._ports, *self._api.documents.members()]

    def opening(self) -> Member:
        # Requests at other processes are ended there.
        return as_member("open", self._open, self.close if self._accepts else None)

    @property
    def url(self) -> str:
        """URL of the server for clients on this machine; known once it listens."""
        host, port = self.listener.address
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"

    async def _open(self) -> None:
        self._state.open = True
        self._opened()

    async def close(self) -> None:
        """Begin the shutdown: report not ready, then end long-running requests."""
        self._state.stopping = True
        serving, reactor = self._runtime.settings.serving, self._runtime.reactor
        if serving.shutdown_delay_duration:
            await deferLater(reactor, serving.shutdown_delay_duration)
        self._state.draining = True
        await self._api.end_streams()
        if serving.shutdown_send_retry_after:
            # Load balancers stop sending new clients while in-flight requests complete.
            end = reactor.seconds() + serving.request_timeout
            while self._api.in_flight.busy and reactor.seconds() < end:
                await deferLater(reactor, _DRAIN_STEP)
