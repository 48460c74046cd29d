"""`DaemonProcess`: a real `twistd orchd` process for tests to start, stop and kill.

Blocking by design: a test that talks to another process from its own thread needs no reactor.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import select
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import yaml

import orchd
from orchd.dialect import ORCH, Dialect
from orchd.pki.bootstrap import Files
from orchd.testing.doubles.server_templates import make_signing_key
from orchd.testing.forking.process import ForkedProcess, Process
from orchd.testing.processes.ports import free_port

#: Seconds after which a test gives up waiting: long enough for any machine, so that only a hang reaches it.
PATIENCE = 600.0
_RUN = "from twisted.scripts.twistd import run; run()"
_ENTRY = "twisted.scripts.twistd:run"
_TREE = Path(orchd.__file__).resolve().parents[1]


class NotReady(Exception):
    """The process ended, or was not ready in time. The text contains the end of its log."""


class DaemonProcess:
    """One server process on a data folder. `start` waits until /readyz returns `ok`.

    `folder` holds the data folder ``data`` and the log ``log``; a second process on the same `folder` continues both.
    `flags` are added to the command line unchanged. As a context manager it starts, and stops a running process.

    On Linux it is a fork of a process that has imported the server already, ends with this one, and signs service
    account tokens with an EC key; with `fresh` it is a new process of the interpreter with the default RSA key, which
    takes longer.
    """

    def __init__(
        self,
        folder: Path,
        *flags: str,
        dialect: Dialect = ORCH,
        port: int | None = None,
        environment: Mapping[str, str] | None = None,
        fresh: bool = not sys.platform.startswith("linux"),
    ) -> None:
        self.folder = folder
        self.dialect = dialect
        self.flags = flags
        self.port = free_port() if port is None else port
        self.data = folder / "data"
        self.log_file = folder / "log"
        self._environment = environment or {}
        self._fresh = fresh
        self._context: tuple[object, ssl.SSLContext] | None = None
        #: Connections without a request, with the context that they were made with. Threads take and add them.
        self._idle: list[tuple[object, http.client.HTTPSConnection]] = []
        self._process: Process | None = None
        self._output: IO[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def config_file(self) -> Path:
        """The administrator's client configuration, which the server writes."""
        return self.data / f"admin.{self.dialect.config_file_kind}"

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def status(self) -> int | None:
        """Exit status; None while it runs, negative after a signal."""
        return None if self._process is None else self._process.poll()

    #: The twistd plugin to run.
    program = "orchd"

    @property
    def command(self) -> Sequence[str]:
        return (
            *(sys.executable, "-c", _RUN, "-n", "--pidfile=", self.program),
            f"--data-dir={self.data}",
            f"--dialect={self.dialect.name}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            *self.flags,
        )

    # -- lifecycle

    def launch(self) -> None:
        """Start without waiting for readiness."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, **self._environment}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_TREE), environment.get("PYTHONPATH")]))
        if not self._fresh:
            if self.program == DaemonProcess.program and not self.data.exists():
                # The server would make an RSA key, which takes a third of its start.
                self.data.mkdir(mode=0o700)
                make_signing_key(Files.below(self.data, self.dialect))
            arguments = ["twistd", *self.command[self.command.index("-n") :]]
            log = str(self.log_file.absolute())
            self._process = ForkedProcess(
                _ENTRY, arguments, folder=self.folder, environment=environment, streams=(os.devnull, log, log)
            )
            return
        self._output = self.log_file.open("ab")
        self._process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def start(self, timeout: float = PATIENCE) -> Self:
        """Start and wait until every request would be served; raises NotReady, and leaves nothing running then."""
        self.launch()
        end = time.monotonic() + timeout
        while True:
            if self.status is not None:
                raise NotReady(f"ended with status {self.status}\n{self.log[-4000:]}")
            if self._ready():
                return self
            if time.monotonic() > end:
                self.kill()
                raise NotReady(f"not ready after {timeout:g} s\n{self.log[-4000:]}")
            time.sleep(0.05)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for the end; the exit status. Raises `subprocess.TimeoutExpired`."""
        try:
            return self._running().wait(timeout)
        finally:
            if self.status is not None:
                while self._idle:
                    self._idle.pop()[1].close()
                if self._output is not None:
                    self._output.close()

    def terminate(self, timeout: float = PATIENCE) -> int:
        """SIGTERM, and wait; the exit status."""
        self._running().send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self) -> None:
        """kill -9, and wait for the end."""
        if self._process is not None and self.status is None:
            self._process.kill()
            self.wait()

    def _running(self) -> Process:
        if self._process is None:
            raise ValueError("not started")
        return self._process

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None or self.status is not None:
            return
        try:
            self.terminate()
        except subprocess.TimeoutExpired:
            self.kill()
            if error is None:
                raise

    # -- requests

    def context(self) -> ssl.SSLContext:
        """TLS context that trusts the server and has the administrator's certificate."""
        config = yaml.safe_load(self.config_file.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=_decoded(cluster, "certificate-authority-data"))
        with tempfile.NamedTemporaryFile("w") as pair:
            pair.write(_decoded(user, "client-certificate-data") + _decoded(user, "client-key-data"))
            pair.flush()
            context.load_cert_chain(pair.name)
        return context

    def connect(self, timeout: float = PATIENCE) -> http.client.HTTPSConnection:
        # Made once for each version of the file: that takes longer than a request.
        status = self.config_file.stat()
        version = status.st_ino, status.st_mtime_ns, status.st_size
        if self._context is None or self._context[0] != version:
            self._context = version, self.context()
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self._context[1])

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        timeout: float = PATIENCE,
    ) -> tuple[int, Any]:
        """Send one request as administrator: the status code and the decoded JSON, or text if it is not JSON."""
        connection = self._take_connection(timeout)
        try:
            response = exchange(connection, method, path, body, content_type=content_type)
        except BaseException:
            connection.close()
            raise
        self._idle.append((self._context, connection))
        return response

    def _take_connection(self, timeout: float) -> http.client.HTTPSConnection:
        """A connection that no thread uses: an idle one that the server has not closed, or a new one, which takes eight
        times as long as a request."""
        fresh = self.connect(timeout)
        while True:
            try:
                context, connection = self._idle.pop()
            except IndexError:
                return fresh
            if context is self._context and is_reusable(connection):
                connection.sock.settimeout(timeout)
                return connection
            connection.close()

    def _ready(self) -> bool:
        if not self.config_file.exists():
            return False
        try:
            # Not for long: if another process has the port, it may accept connections and say nothing.
            return self.request("GET", "/readyz", timeout=5) == (200, "ok")
        except (OSError, http.client.HTTPException, ValueError, TypeError):
            return False  # partially written, not listening yet, or another server's: retry


class ComponentProcess(DaemonProcess):
    """The controllers or the scheduler as a separate process, as the administrator of `server`. `start` waits until
    /readyz returns `ok`."""

    def __init__(self, component: str, server: DaemonProcess, folder: Path, *flags: str) -> None:
        super().__init__(folder, *flags, dialect=server.dialect)
        self.server = server
        self.program = server.dialect("{short}-") + component

    @property
    def config_file(self) -> Path:
        return self.server.config_file

    @property
    def command(self) -> Sequence[str]:
        word = self.dialect.config_file_kind
        configurations = (
            f"--{prefix}{word}={self.config_file}" for prefix in ("", "authentication-", "authorization-")
        )
        return (
            *(sys.executable, "-c", _RUN, "-n", "--pidfile=", self.program),
            *configurations,
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            *self.flags,
        )

    def context(self) -> ssl.SSLContext:
        """TLS context with the administrator's certificate; the component's certificate is not verified."""
        context = super().context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


def is_reusable(connection: http.client.HTTPSConnection) -> bool:
    """True if requests can be sent on an idle connection: its peer has sent nothing, so it has not closed it either."""
    # None after a response that was the last one.
    if connection.sock is None:
        return False
    waiting = select.poll()
    waiting.register(connection.sock, select.POLLIN)
    return not waiting.poll(0)


def exchange(
    connection: http.client.HTTPSConnection,
    method: str,
    path: str,
    body: Any = None,
    *,
    content_type: str = "application/json",
) -> tuple[int, Any]:
    """Send one request on an open connection; see `DaemonProcess.request`."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, data, {"Content-Type": content_type} if data is not None else {})
    response = connection.getresponse()
    text = response.read()
    if "json" in (response.getheader("Content-Type") or ""):
        return response.status, json.loads(text)
    return response.status, text.decode()


def _decoded(section: Mapping[str, str], key: str) -> str:
    return base64.b64decode(section[key]).decode()
