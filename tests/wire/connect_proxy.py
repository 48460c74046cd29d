"""An HTTP proxy that supports CONNECT only, in threads: on TCP, with TLS, or on a Unix socket."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType


class ConnectProxy:
    """`targets` are the requested addresses; connections lead to the port `leads`, or to the requested one. `response`
    replaces the proxy's response, after which the connection is closed."""

    def __init__(self, *, path: Path | None = None, tls: ssl.SSLContext | None = None, answer: bytes = b"") -> None:
        self.targets: list[str] = []
        self.leads: dict[str, int] = {}
        self.answer = answer
        self._tls = tls
        self._open: list[socket.socket] = []
        self._listening = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self._listening.bind(str(path) if path else ("127.0.0.1", 0))
        self._listening.listen(16)
        self.port = 0 if path else int(self._listening.getsockname()[1])

    def __enter__(self) -> ConnectProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A shutdown wakes threads that wait in accept or recv; closing alone does not.
        for each in (self._listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._open.append(near)
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with suppress(OSError):
            if self._tls is not None:
                near = self._tls.wrap_socket(near, server_side=True)
                self._open.append(near)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                data = near.recv(1)
                if not data:
                    return
                head += data
            target = head.split()[1].decode()
            self.targets.append(target)
            if self.answer:
                near.sendall(self.answer)
                near.close()
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.leads.get(target, int(target.rpartition(":")[2]))))
            except OSError:
                near.sendall(b"HTTP/1.1 502 Bad gateway\r\n\r\n")
                near.close()
                return
            self._open.append(far)
            near.sendall(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
            threading.Thread(target=_copy, args=(far, near), daemon=True).start()
            _copy(near, far)


def _copy(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
    for each in (source, to):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
