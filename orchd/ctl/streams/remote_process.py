"""`RemoteProcess`: a process in a container, over the channels of a WebSocket to the pod's node.

Every message begins with the number of its channel (specification, "Pod streams": ``channel`` protocols, versions 4 and
5).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from orchd.client import paths
from orchd.client.interfaces import IWebSocket
from orchd.client.statuses import error_of
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.errors import CommandError
from orchd.kinds.jsonvalues import Object

_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE = range(5)
#: Version 5: the channel that ends another one.
_CLOSE: Final = 255
_PROTOCOLS: Final = ("v5.channel.{abbr}.io", "v4.channel.{abbr}.io")
_PIECE: Final = 32 * 1024
_EXIT_CODE: Final = re.compile("[0-9]{1,10}")
Write = Callable[[bytes], object]


class RemoteProcess:
    """Runs in a container until it ends or the connection is closed."""

    def __init__(self, socket: IWebSocket) -> None:
        self._socket = socket

    @classmethod
    async def open(
        cls,
        api: Api,
        pods: Resource,
        pod: Object,
        container: str,
        *,
        command: Iterable[str] = (),
        stdin: bool = False,
        tty: bool = False,
    ) -> RemoteProcess:
        """Start `command`; without one, attach to the container's own process. Raises ApiError and CommandError."""
        metadata = pod["metadata"]
        words = list(command)
        query = [("container", container), *(("command", word) for word in words), ("stdout", "true")]
        query += [("stdin", "true")] if stdin else []
        # A terminal has one stream of output.
        query.append(("tty", "true") if tty else ("stderr", "true"))
        path = paths.item(pods.ref, metadata["namespace"], metadata["name"], "exec" if words else "attach")
        dialect = await api.dialect()
        return cls(await api.websocket(path, query, [dialect(name) for name in _PROTOCOLS]))

    async def write(self, data: bytes) -> None:
        """Send input; returns when more can be sent."""
        for at in range(0, len(data), _PIECE):
            await self._socket.send(bytes((_STDIN,)) + data[at : at + _PIECE])

    async def end_input(self) -> bool:
        """Say that no more input comes; False where the node's protocol has no way to."""
        if not self._socket.protocol.startswith("v5."):
            return False
        await self._socket.send(bytes((_CLOSE, _STDIN)))
        return True

    async def resize(self, columns: int, rows: int) -> None:
        await self._socket.send(bytes((_RESIZE,)) + json.dumps({"Width": columns, "Height": rows}).encode())

    async def run(self, out: Write, error: Write) -> int:
        """Hand on output until the process ends; its exit status. Raises CommandError when it could not be started, and
        ApiError when the connection broke."""
        while (message := await self._socket.next()) is not None:
            channel, data = message[:1], message[1:]
            if channel == bytes((_STATUS,)):
                # Nothing precedes the status of version 4 and 5 on this channel but an empty message.
                if data:
                    return exit_status(data)
            elif data and channel in (bytes((_STDOUT,)), bytes((_STDERR,))):
                (out if channel == bytes((_STDOUT,)) else error)(data)
        raise CommandError(
            "the node closed the connection before the process ended: see the pod's events with describe"
        )

    def close(self) -> None:
        self._socket.close()


def exit_status(data: bytes) -> int:
    """The exit status in a Status that ends a stream. Raises CommandError for other failures, and for what is no
    Status."""
    try:
        status: Any = json.loads(data)
    except (ValueError, RecursionError):
        status = None
    if not isinstance(status, dict):
        raise CommandError(f"the node says: {data[:500].decode('utf-8', 'replace')}")
    if status.get("status") == "Success":
        return 0
    error = error_of({"kind": "Status", **status}, 500)
    causes = (error.details or {}).get("causes")
    if error.reason == "NonZeroExitCode" and isinstance(causes, list):
        codes = [
            str(each.get("message")) for each in causes if isinstance(each, dict) and each.get("reason") == "ExitCode"
        ]
        if codes and _EXIT_CODE.fullmatch(codes[0]):
            return int(codes[0])
    raise CommandError(error.message or "the process failed, and the node does not say why")
