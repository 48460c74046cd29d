"""A load generator with little CPU time of its own: TLS sockets in one process, prepared bytes, minimal parsing.

It runs in a separate process, so that the CPU time of a server can be measured from outside.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Event


@dataclass(frozen=True)
class Target:
    """A server; `token` is sent as a bearer token. `authority` is a PEM file, "" trusts any server."""

    host: str
    port: int
    token: str = ""
    authority: str = ""

    def context(self) -> ssl.SSLContext:
        if self.authority:
            context = ssl.create_default_context(cafile=self.authority)
            context.check_hostname = False
            return context
        # Without the system's authorities, which take longer to load than a connection to open.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    def connect(self, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
        """A new connection; `context` may be shared by many."""
        context = context or self.context()
        raw = socket.create_connection((self.host, self.port), timeout=120)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(raw, server_hostname=self.host)

    def request(self, method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "User-Agent: bench", *headers]
        if not any(header.lower().startswith("accept:") for header in headers):
            lines.append("Accept: application/json")
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body


class Connection:
    """One keep-alive connection."""

    def __init__(self, target: Target, context: ssl.SSLContext | None = None) -> None:
        self.target = target
        self._socket = target.connect(context)
        self._rest = b""

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send and wait for the response: code and body."""
        self.send(request)
        return self.receive()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def receive(self) -> tuple[int, bytes]:
        """Wait for the response of the request that was sent: code and body."""
        data = self._rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more()
        head = data[:end].lower()
        code = int(head[9:12])
        at = head.find(b"content-length: ")
        if at >= 0:
            stop = head.find(b"\r\n", at)
            size = int(head[at + 16 : stop if stop >= 0 else len(head)])
            pieces, have = [data[end + 4 :]], len(data) - end - 4
            while have < size:
                pieces.append(self._more())
                have += len(pieces[-1])
            body = b"".join(pieces)
            self._rest = body[size:]
            return code, body[:size]
        if b"transfer-encoding: chunked" in head:
            data = data[end + 4 :]
            while not data.endswith(b"0\r\n\r\n"):
                data += self._more()
            self._rest = b""
            return code, data
        self._rest = data[end + 4 :]
        return code, b""

    def _more(self) -> bytes:
        data = self._socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data

    def close(self) -> None:
        self._socket.close()


def cpu(pid: int) -> float:
    """Seconds of CPU that a process and its threads have used."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Resident memory of a process in MB."""
    return _of_status(pid, "VmRSS:")


def allocated(pid: int) -> float:
    """Memory that a process has allocated, in MB. Unlike resident memory it has no pages of files, which a machine
    short of memory drops and reads again."""
    return _of_status(pid, "RssAnon:") + _of_status(pid, "VmSwap:")


def _of_status(pid: int, name: str) -> float:
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    return 0.0


@dataclass(frozen=True)
class Figures:
    """Result of a run: `cpu` is the server's seconds per operation, `rate` is operations per second."""

    count: int
    cpu: float
    rate: float


def _generate(
    target: Target, make: Callable[[int], bytes], count: int, concurrency: int, ready: Event, go: Event
) -> None:
    """Send `count` requests over so many connections, on each the next one after the response."""
    tls = target.context()
    connections = {one.fileno(): one for one in (Connection(target, tls) for _ in range(concurrency))}
    requests = map(make, range(count))
    poll = select.epoll()
    ready.set()
    go.wait()
    for number, connection in connections.items():
        if request := next(requests, None):
            poll.register(number, select.EPOLLIN)
            connection.send(request)
    waiting = min(count, concurrency)
    while waiting:
        for number, _ in poll.poll():
            connection = connections[number]
            code, body = connection.receive()
            if code >= 400:
                raise SystemExit(f"the server responded with {code}: {body[:300]!r}")
            if request := next(requests, None):
                connection.send(request)
            else:
                poll.unregister(number)
                waiting -= 1


def run(target: Target, pids: list[int], make: Callable[[int], bytes], count: int, concurrency: int = 4) -> Figures:
    """`count` requests, made by `make(number)`, over `concurrency` connections; CPU is that of `pids` together. One
    process sends them all: a process for each connection takes three times the CPU of it, which a server that uses all
    processors does not get."""
    context = multiprocessing.get_context("fork")
    ready, go = context.Event(), context.Event()
    generator = context.Process(target=_generate, args=(target, make, count, concurrency, ready, go))
    generator.start()
    if not ready.wait(timeout=30):
        raise SystemExit("the clients could not connect")
    before, began = sum(map(cpu, pids)), time.monotonic()
    go.set()
    generator.join()
    took, spent = time.monotonic() - began, sum(map(cpu, pids)) - before
    if generator.exitcode:
        raise SystemExit("a client failed")
    return Figures(count=count, cpu=spent / count, rate=count / took)


class Watchers:
    """A process that holds watches open and discards their events; in the path, {number} counts them."""

    def __init__(self, target: Target, path: str, count: int) -> None:
        context = multiprocessing.get_context("fork")
        self._gate = context.Semaphore(0)
        self._process = context.Process(target=self._hold, args=(target, path, count), daemon=True)
        self._process.start()
        for _ in range(count):
            if not self._gate.acquire(timeout=60):
                raise SystemExit("the watches did not start")

    def _hold(self, target: Target, path: str, count: int) -> None:
        poll = select.epoll()
        held = []
        tls = target.context()
        for number in range(count):
            one = target.connect(tls)
            one.sendall(target.request("GET", path.format(number=number)))
            one.recv(1 << 16)
            held.append(one)
            poll.register(one.fileno(), select.EPOLLIN)
            self._gate.release()
        while True:
            for number, _ in poll.poll():
                # The bytes stay encrypted: the clients' work is not what is measured.
                os.read(number, 1 << 18)

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
