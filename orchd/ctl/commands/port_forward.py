"""``port-forward``: local ports whose connections are forwarded to ports of a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Factory, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.client import paths
from orchd.client.interfaces import IWebSocket
from orchd.client.piece_queue import QueuedProtocol
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, explain_api_error
from orchd.ctl.objects.pods import pod_of, pod_wait_option
from orchd.ctl.objects.targets import parse_targets
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.txkit.background import Background

_DATA, _ERROR = b"\0", b"\1"
_PROTOCOL = "v4.channel.{abbr}.io"
#: Each channel's first message is the port, two bytes.
_PORT_SIZE = 2


@click.command("port-forward", cls=Command)
@click.argument("target", metavar="POD | TYPE/NAME")
@click.argument("ports", nargs=-1, required=True, metavar="[LOCAL:]PORT...")
@click.option(
    "--address", "addresses", default="localhost", show_default=True, help="Local addresses, separated by commas."
)
@pod_wait_option
@pass_session
def port_forward(session: Session, target: str, ports: tuple[str, ...], addresses: str, pod_wait: float) -> None:
    """Forward local ports to a pod, or to a pod of a service or workload, until interrupted. LOCAL is the same port
    where it is left out, and a free one where it is empty (:80). Ports of services and containers may be given by
    name."""

    async def work(api: Api) -> None:
        pods = await api.discovery.find("pods")
        [chosen] = await parse_targets(api, [target if "/" in target else f"pods/{target}"])
        pod = await pod_of(api, chosen, pod_wait)
        service = await api.get(chosen.resource, chosen.name) if chosen.resource.kind == "Service" else None
        pairs = [_pair(text, service, pod) for text in ports]
        forwarding = Forwarding(api, pods, pod)
        try:
            await forwarding.listen(pairs, [each.strip() for each in addresses.split(",") if each.strip()])
            # Until interrupted.
            await Deferred(lambda _: None)
        finally:
            await forwarding.stop()

    session.run(work)


@dataclass(frozen=True, slots=True)
class _Pair:
    local: int
    remote: int


def _pair(text: str, service: Object | None, pod: Object) -> _Pair:
    local, colon, word = text.rpartition(":")
    remote = target_port(word, service, pod)
    if not colon:
        # The port that was asked for, which of a service is not that of its pods.
        local = word if word.isdecimal() else str(remote)
    if local and not local.isdecimal():
        raise CommandError(f"{text!r}: {local!r} is not a port: write [LOCAL:]PORT")
    number = int(local or 0)
    if number > 65535:
        raise CommandError(f"{text!r}: {number} is not a port: it is above 65535")
    return _Pair(number, remote)


def target_port(word: str, service: Object | None, pod: Object) -> int:
    """The pod's port number for a port of a service or container, given by number or name. Raises CommandError."""
    port: Any = int(word) if word.isdecimal() else word
    if service is not None:
        for each in service["spec"].get("ports") or ():
            if port in (each.get("port"), each.get("name")):
                port = each.get("targetPort") or each["port"]
                break
        else:
            ports = ", ".join(str(each.get("port")) for each in service["spec"].get("ports") or ())
            raise CommandError(f"service {service['metadata']['name']} has no port {word}: it has {ports or 'none'}")
    if isinstance(port, int):
        if not 0 < port < 65536:
            raise CommandError(f"{word!r} is not a port: it is between 1 and 65535")
        return port
    for container in pod["spec"]["containers"]:
        for each in container.get("ports") or ():
            if each.get("name") == port:
                return int(each["containerPort"])
    raise CommandError(f"pod {pod['metadata']['name']} has no port named {port!r}: give its number")


class Forwarding:
    """Local listeners, and the connections that go through them. Each takes a WebSocket of its own."""

    def __init__(self, api: Api, pods: Resource, pod: Object) -> None:
        self._api = api
        metadata = pod["metadata"]
        self._path = paths.item(pods.ref, metadata["namespace"], metadata["name"], "portforward")
        self._background = Background()
        self._ports: list[Any] = []

    async def listen(self, pairs: list[_Pair], addresses: list[str]) -> None:
        """Raises CommandError for a port that cannot be had."""
        for pair in pairs:
            for address in addresses:
                for host in {"localhost": ("127.0.0.1", "::1")}.get(address, (address,)):
                    self._listen(pair, host, may_fail=address == "localhost" and host == "::1")

    def _listen(self, pair: _Pair, host: str, *, may_fail: bool) -> None:
        factory = Factory.forProtocol(lambda: LocalConnection(self, pair.remote))
        factory.noisy = False
        try:
            port = self._api.clock.listenTCP(pair.local, factory, interface=host)
        except CannotListenError as error:
            if may_fail:
                return
            why = getattr(error.socketError, "strerror", None) or error.socketError
            raise CommandError(f"cannot listen on {host} port {pair.local}: {why}: choose another LOCAL port") from None
        self._ports.append(port)
        address = f"[{host}]" if ":" in host else host
        output.line(f"Forwarding from {address}:{port.getHost().port} -> {pair.remote}")

    def connect(self, local: LocalConnection, port: int) -> None:
        """Join a connection that was accepted with the pod."""
        output.line(f"Handling connection for {port}")
        self._background.add(self._join(local, port), f"connection to port {port}")

    async def _join(self, local: LocalConnection, port: int) -> None:
        try:
            dialect = await self._api.dialect()
            socket = await self._api.websocket(self._path, [("ports", str(port))], [dialect(_PROTOCOL)])
            self._background.add(local.send_to(socket), f"data to port {port}")
            try:
                await local.receive_from(socket)
            finally:
                socket.close()
        except ApiError as error:
            output.note(f"error forwarding port {port}: {explain_api_error(error)}")
        except CommandError as error:
            output.note(f"error forwarding port {port}: {error}")
        finally:
            local.end()

    async def stop(self) -> None:
        for port in self._ports:
            await port.stopListening()
        await self._background.stop()


@implementer(IHalfCloseableProtocol)
class LocalConnection(QueuedProtocol):
    """A connection to a local port, with backpressure in both directions."""

    def __init__(self, owner: Forwarding, port: int) -> None:
        super().__init__()
        self._owner, self._port = owner, port
        self._lost = False

    def connectionMade(self) -> None:
        super().connectionMade()
        self._owner.connect(self, self._port)

    def dataReceived(self, data: bytes) -> None:
        self._queue.put(data)

    def readConnectionLost(self) -> None:
        """The client sends no more; it may still read. The protocol has no way to tell the pod."""
        self._queue.end(None)

    def writeConnectionLost(self) -> None:
        """The end of the connection follows."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._lost = True
        self._queue.end(None)
        self._queue.clear()
        self._drain.opened()

    async def send_to(self, socket: IWebSocket) -> None:
        """Forward what the client sends until it ends its side."""
        while (piece := await self._queue.next()) is not None:
            await socket.send(_DATA + piece)
        if self._lost:
            socket.close()

    async def receive_from(self, socket: IWebSocket) -> None:
        """Hand on what the pod sends until it ends. Raises ApiError, and CommandError with what the node says is
        wrong."""
        begun: Mapping[bytes, list[bool]] = {_DATA: [], _ERROR: []}
        while (message := await socket.next()) is not None and not self._lost:
            channel, data = message[:1], message[1:]
            if channel in begun and not begun[channel]:
                begun[channel].append(True)
                data = data[_PORT_SIZE:]
            if data and channel == _ERROR:
                raise CommandError(data[:500].decode("utf-8", "replace"))
            if data and channel == _DATA:
                self.transport.write(data)
                if self._paused:
                    await self._drain.wait()

    def end(self) -> None:
        """Close the connection once all that was received is written."""
        if not self._lost:
            self.transport.unregisterProducer()
            self.transport.loseConnection()
