"""`ClusterChannel`: the test's side of a cluster's channel. Blocking, and safe to use from any thread."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import threading
import time
from typing import Any

from orchd.testing.forking.lifetime import open_process

#: Real seconds that a command may take.
_COMMAND_LIMIT = 120.0
#: Real seconds that a server may take to end before it is killed.
_STOP_LIMIT = 15.0


class ClusterError(Exception):
    """A cluster does not start, has ended, or rejects a request of the test."""


class ClusterChannel:
    """Sends commands one at a time, each a line of JSON, and waits for its response."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._buffer = b""
        self._number = 0
        self._lock = threading.Lock()
        self._process: int | None = None

    def wait_ready(self, timeout: float) -> dict[str, Any]:
        """Wait until the server is ready; returns its ready message. Raises ClusterError."""
        why = (
            f"the server is not ready after {timeout:g} s, although its process runs: the machine is busy, or the last "
            "lines of the log say why; start(timeout=...) waits longer"
        )
        message = self._receive(time.monotonic() + timeout, why)
        if "failed" in message:
            raise ClusterError(f"the cluster does not start: {message['failed']}")
        ready: dict[str, Any] = message["ready"]
        self._process = open_process(ready["pid"])
        return ready

    def command(self, name: str, **arguments: Any) -> Any:
        """Send a command and return its result. Raises ClusterError with the server's error."""
        with self._lock:
            self._number += 1
            line = json.dumps({"id": self._number, "do": name, **arguments}).encode() + b"\n"
            try:
                self._channel.sendall(line)
            except OSError as error:
                raise ClusterError(f"the server has ended: {error}") from error
            end, why = time.monotonic() + _COMMAND_LIMIT, f"no response from the server within {_COMMAND_LIMIT:g} s"
            response = self._receive(end, why)
            while response.get("id") != self._number:
                # The response to an earlier command, which took too long.
                response = self._receive(end, why)
        if "error" in response:
            raise ClusterError(response["error"])
        return response["result"]

    def _receive(self, end: float, late: str) -> dict[str, Any]:
        """The next message. Raises ClusterError: `late` at the time `end`, and when the server has ended."""
        while b"\n" not in self._buffer:
            self._channel.settimeout(max(0.001, end - time.monotonic()))
            try:
                data = self._channel.recv(65536)
            except TimeoutError:
                raise ClusterError(late) from None
            except OSError as error:
                raise ClusterError(f"the server has ended: {error}") from error
            finally:
                self._channel.settimeout(None)
            if not data:
                raise ClusterError("the server has ended")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Stop the server and wait until it has ended; it is killed after a time limit."""
        with self._lock:
            try:
                self._channel.shutdown(socket.SHUT_WR)
                self._channel.settimeout(_STOP_LIMIT)
                while self._channel.recv(65536):
                    pass  # Responses that no test waits for.
            except TimeoutError:
                if self._process is not None:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(self._process, signal.SIGKILL)
            except OSError:
                pass  # It had ended before.
            self._channel.close()
            if self._process is not None:
                # The channel ends a moment before the process does.
                select.select([self._process], [], [], _STOP_LIMIT)
                os.close(self._process)
                self._process = None
