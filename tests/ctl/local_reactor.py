"""A reactor whose local ports a test looks at, and commands that listen on them until they are interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.error import CannotListenError
from twisted.internet.testing import MemoryReactorClock

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, Work
from orchd.ctl.program import main
from orchd.txkit.coroutines import start


class Port:
    def __init__(self, number: int) -> None:
        self.port, self.open = number, True

    def getHost(self) -> Port:
        return self

    async def stopListening(self) -> None:
        self.open = False


class Reactor(MemoryReactorClock):
    """A reactor whose ports tell when they are closed. Nothing listens on the addresses in `taken`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ports: list[Port] = []
        self.taken: tuple[str, ...] = ()

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
        if interface in self.taken:
            raise CannotListenError(interface, port, OSError(98, "Address already in use"))
        super().listenTCP(port, factory, backlog, interface)  # type: ignore[no-untyped-call]
        self.ports.append(Port(port))
        return self.ports[-1]

    def listenUNIX(
        self, address: str, factory: Any, backlog: int = 50, mode: int = 0o666, wantPID: bool = False
    ) -> Any:
        super().listenUNIX(address, factory, backlog, mode, wantPID)  # type: ignore[no-untyped-call]
        self.ports.append(Port(0))
        return self.ports[-1]


def run_until_interrupted(words: list[str], client: Any, reactor: Reactor, meanwhile: Callable[[], object]) -> int:
    """Run a command line and, while it waits, `meanwhile`; then interrupt it. The exit status."""

    def connect(session: Session, work: Work) -> Any:
        api = Api(client, reactor, session.flags.namespace or "default", lambda text: None)
        outcome: list[Any] = []
        running = start(work(api)).addBoth(outcome.append)
        if not outcome:
            meanwhile()
            running.cancel()
        elif outcome[0] is not None:
            outcome[0].raiseException()

    return main(words, Session(connect, {"HOME": "/dev/null"}, lambda text: None))
