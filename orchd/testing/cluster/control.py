"""The server's side of a cluster's channel: commands of the test, one JSON object per line."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from twisted.internet.protocol import Protocol
from twisted.internet.stdio import StandardIO
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from orchd.testing.cluster.faults import Fault, check_resource
from orchd.testing.cluster.server import ClusterServer
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger

_MOST_LINE = 1024 * 1024
#: Real seconds that a stop may take.
_STOP_LIMIT = 10.0


class _Lines(LineOnlyReceiver):
    delimiter = b"\n"
    MAX_LENGTH = _MOST_LINE

    def __init__(self, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._take, self._ended = take, ended

    def lineReceived(self, line: bytes) -> None:
        self._take(line)

    def connectionLost(self, reason: Failure | None = None) -> None:
        self._ended()


class _Ending:
    """A descriptor that becomes readable when the owner has ended."""

    def __init__(self, descriptor: int, ended: Callable[[], None]) -> None:
        self._descriptor, self._ended = descriptor, ended

    def fileno(self) -> int:
        return self._descriptor

    def doRead(self) -> None:
        self._ended()

    def connectionLost(self, reason: Failure) -> None:
        """Belongs to the process."""

    def logPrefix(self) -> str:
        return "owner"


class Control:
    """Serves commands on `server`. `folder` gets the client configuration and the certificates of the administrator."""

    _log = Logger()

    def __init__(self, real: Any, server: ClusterServer, folder: Path) -> None:
        self._real, self._server, self._folder = real, server, folder
        self._lines: Protocol | None = None
        self._transport: Any = None
        self._ended = False
        self._commands: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "advance": self._advance,
            "requests": self._requests,
            "fault": self._fault,
            "clear_faults": self._clear_faults,
            "end_watches": self._end_watches,
            "expire_history": self._expire_history,
            "expire_serving_certificate": self._expire_serving_certificate,
            "restore_serving_certificate": self._restore_serving_certificate,
            "issue": self._issue,
            "now": self._now,
        }

    def attach(self, descriptor: int, owner: int | None) -> None:
        """Take commands from a socket; the process ends with it, or when `owner` can be read."""
        lines = _Lines(self._received, self._end)
        standard: Any = StandardIO  # mypy sees the one of another platform
        self._transport = standard(lines, stdin=descriptor, stdout=os.dup(descriptor), reactor=self._real)
        if owner is not None:
            self._real.addReader(_Ending(owner, self._end))

    async def run(self, bound: socket.socket, *, started: bool) -> None:
        """Open the server, starting it first if necessary, and report to the test."""
        if not started:
            await self._server.start_bound(self._real)
        await self._server.open(self._real, bound)
        url = f"https://127.0.0.1:{bound.getsockname()[1]}"
        config = self._server.config(url)
        files = {
            "ca": ("ca.crt", config.authority),
            "certificate": ("admin.crt", config.certificate),
            "key": ("admin.key", config.key),
            "config": (f"admin.{self._server.dialect.config_file_kind}", config.render().encode()),
        }
        for name, data in files.values():
            _write(self._folder / name, data)
        ready = {name: str(self._folder / file) for name, (file, _) in files.items()}
        self._send({"ready": {**ready, "url": url, "token": self._server.token, "pid": os.getpid()}})

    def give_up(self, failure: Failure) -> None:
        """Report to the test why there is no server, and end."""
        self._log.failure("the cluster does not start", failure)
        self._send({"failed": f"{type(failure.value).__name__}: {failure.getErrorMessage()}"})
        self._real.callLater(0, self._transport.loseConnection)

    def _send(self, message: Any) -> None:
        self._transport.write(json.dumps(message).encode() + b"\n")

    def _end(self) -> None:
        """A memory store needs no stop; one on disk is closed orderly."""
        if self._ended:
            return
        self._ended = True
        if not self._server.persistent:
            os._exit(0)
        self._real.callLater(_STOP_LIMIT, os._exit, 1)
        self._server.server.service.stopService().addBoth(lambda _: os._exit(0))

    def _received(self, line: bytes) -> None:
        start(self._respond(json.loads(line)))

    async def _respond(self, message: dict[str, Any]) -> None:
        number = message["id"]
        try:
            result = await self._commands[message["do"]](message)
        except Exception as error:
            self._log.failure("a command of the test failed")
            self._send({"id": number, "error": f"{type(error).__name__}: {error}"})
        else:
            self._send({"id": number, "result": result})

    # -- commands

    async def _advance(self, message: dict[str, Any]) -> float:
        await self._server.reactor.advance(message["seconds"])
        await self._server.reactor.settle()
        return self._server.reactor.wall()

    async def _now(self, message: dict[str, Any]) -> float:
        return self._server.reactor.wall()

    async def _requests(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        return self._server.log.take(clear=message["clear"])

    async def _fault(self, message: dict[str, Any]) -> None:
        fault = Fault(**message["fault"])
        check_resource(self._server.server.catalog, str(fault.match.get("resource", "")))
        self._server.faults.add(fault)

    async def _clear_faults(self, message: dict[str, Any]) -> None:
        self._server.faults.clear()

    async def _end_watches(self, message: dict[str, Any]) -> int:
        return self._server.end_watches(cut=message["cut"])

    async def _expire_history(self, message: dict[str, Any]) -> int:
        return await self._server.expire_history()

    async def _expire_serving_certificate(self, message: dict[str, Any]) -> None:
        self._server.expire_serving_certificate(self._folder)

    async def _restore_serving_certificate(self, message: dict[str, Any]) -> None:
        self._server.restore_serving_certificate()

    async def _issue(self, message: dict[str, Any]) -> list[str]:
        certificate, key = self._server.issue(message["user"], message["groups"], lifetime=message["lifetime"])
        return [certificate.decode(), key.decode()]


def _write(path: Path, data: bytes) -> None:
    """A file with mode 0600. Nothing waits for the disk: it ends with the cluster."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(data)
