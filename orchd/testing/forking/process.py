"""Programs as forks of the fork server, which has already imported them: the test run's side."""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from orchd.testing.forking.client import fork_client

#: Limits that a program inherits from the test run.
_LIMITS = ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE")


class Process(Protocol):
    """The methods of `subprocess.Popen` that both kinds of processes have."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None:
        """The status; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The status once it has ended. Raises subprocess.TimeoutExpired."""

    def send_signal(self, sig: int) -> None:
        """Without effect once it has ended."""

    def kill(self) -> None:
        """SIGKILL."""


class ForkedProcess:
    """A running program: what a script of the entry point `entry` (``module:function``) does with `arguments`, of which
    the first is its name. It ends with the process of the test run.

    `streams` are the files of standard input, output and error; to the last two is appended. Raises OSError if it
    cannot be started.
    """

    def __init__(
        self,
        entry: str,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[str, str, str],
    ) -> None:
        self._arguments = list(arguments)
        self._status: int | None = None
        self._received = b""
        self._channel = fork_client().start_program(
            {
                "entry": entry,
                "arguments": self._arguments,
                "folder": str(folder),
                "environment": dict(environment),
                "streams": streams,
                "limits": {name: resource.getrlimit(getattr(resource, name)) for name in _LIMITS},
            }
        )
        try:
            message = self._receive(None)
        except OSError:
            self._channel.close()
            raise
        if message is None:
            raise OSError("the fork server has ended")
        self.pid = int(message["pid"])

    def poll(self) -> int | None:
        return self._read_status(0.0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._read_status(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self._arguments, timeout or 0.0)
        return status

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(9)

    def _read_status(self, timeout: float | None) -> int | None:
        """The status, waiting up to `timeout` seconds for it (None: for as long as it takes)."""
        if self._status is None:
            message = self._receive(timeout)
            if message is not None:
                self._status = int(message["status"])
                self._channel.close()
        return self._status

    def _receive(self, timeout: float | None) -> Any:
        """The next message; None after the timeout. Raises OSError at the end of the channel."""
        end = None if timeout is None else time.monotonic() + timeout
        with select.epoll() as waiting:
            waiting.register(self._channel, select.EPOLLIN)
            while b"\n" not in self._received:
                if not waiting.poll(None if end is None else max(0.0, end - time.monotonic())):
                    return None
                data = self._channel.recv(4096)
                if not data:
                    raise OSError("the supervisor of the process has ended")
                self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)
