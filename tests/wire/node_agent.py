"""A kubelet double: runs commands of "containers" on this machine, with streams over WebSockets."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from orchd.pki.certificates import SERVER, chain_pem, issue_pair, new_authority, subject
from orchd.pki.keys import private_pem

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class NodeAgent:
    """Listens on a loopback port. `protocols` are the supported ones, in order of preference."""

    def __init__(self, folder: Path, protocols: tuple[str, ...]) -> None:
        self.protocols = protocols
        self.asked: list[str] = []
        self.sizes: list[Any] = []
        now = datetime.now(UTC)
        pair = issue_pair(
            new_authority("agent", now=now), subject("agent"), usages=[SERVER], names=["127.0.0.1"], now=now,
            lifetime=timedelta(hours=1),
        )  # fmt: skip
        (folder / "agent.crt").write_bytes(chain_pem(pair.certificate))
        (folder / "agent.key").write_bytes(private_pem(pair.key))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "agent.crt", folder / "agent.key")
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        try:
            with self._context.wrap_socket(plain, server_side=True) as wire:
                self._answer(Channel(wire))
        except OSError:
            """The far side has gone."""

    def _answer(self, channel: Channel) -> None:
        target, headers = channel.read_head()
        self.asked.append(target)
        parts = urlsplit(target)
        query = parse_qs(parts.query)
        offered = [word.strip() for word in headers.get("sec-websocket-protocol", "").split(",")]
        chosen = next((name for name in self.protocols if name in offered), "")
        if not chosen:
            channel.refuse(400, "no protocol in common")
            return
        channel.agree(headers["sec-websocket-key"], chosen)
        words = parts.path.split("/")
        if words[1] == "portForward":
            self._forward(channel, int(query["port"][0]))
        else:
            command = query.get("command") or ["sh", "-c", "echo attached; read line; echo got $line"]
            self._run(channel, command, stdin="input" in query)

    def _run(self, channel: Channel, command: list[str], *, stdin: bool) -> None:
        try:
            running = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            status = {
                "kind": "Status",
                "status": "Failure",
                "reason": "InternalError",
                "message": f"cannot run: {error}",
            }
            channel.send(3, json.dumps(status).encode())
            channel.close()
            return
        assert running.stdout is not None and running.stderr is not None

        def hand_on(number: int, pipe: Any) -> None:
            while data := pipe.read1(65536):
                channel.send(number, data)

        readers = [threading.Thread(target=hand_on, args=pair) for pair in ((1, running.stdout), (2, running.stderr))]
        for each in readers:
            each.start()
        threading.Thread(target=self._feed, args=(channel, running), daemon=True).start()
        for each in readers:
            each.join()
        code = running.wait()
        status = {"kind": "Status", "status": "Success"}
        if code:
            causes = [{"reason": "ExitCode", "message": str(code)}]
            status = {"kind": "Status", "status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}  # type: ignore[dict-item]
        channel.send(3, json.dumps(status).encode())
        channel.close()

    def _feed(self, channel: Channel, running: Any) -> None:
        for message in channel.messages():
            if message[0] == 4:
                self.sizes.append(json.loads(message[1:]))
            elif message == b"\xff\x00":
                running.stdin.close()
            elif message[0] == 0 and running.stdin is not None:
                running.stdin.write(message[1:])
                running.stdin.flush()

    def _forward(self, channel: Channel, port: int) -> None:
        for number in (0, 1):
            channel.send(number, port.to_bytes(2, "little"))
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError as error:
            channel.send(1, f"cannot connect to port {port}: {error.strerror}".encode())
            channel.close()
            return

        def back() -> None:
            while data := far.recv(65536):
                channel.send(0, data)
            channel.close()

        threading.Thread(target=back, daemon=True).start()
        for message in channel.messages():
            far.sendall(message[1:])
        far.close()


class Channel:
    """The server's end of a WebSocket on a socket."""

    def __init__(self, wire: ssl.SSLSocket) -> None:
        self._wire = wire
        self._reading = wire.makefile("rb")
        self._lock = threading.Lock()

    def read_head(self) -> tuple[str, dict[str, str]]:
        first, headers = self._reading.readline().decode(), {}
        while line := self._reading.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return first.split()[1], headers

    def refuse(self, code: int, text: str) -> None:
        self._wire.sendall(f"HTTP/1.1 {code} No\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())

    def agree(self, key: str, protocol: str) -> None:
        accept = b64encode(hashlib.sha1(key.encode() + _MAGIC).digest()).decode()
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Accept: {accept}", f"Sec-WebSocket-Protocol: {protocol}", "", ""]
        self._wire.sendall("\r\n".join(lines).encode())

    def send(self, number: int, data: bytes) -> None:
        self._frame(2, bytes((number,)) + data)

    def close(self) -> None:
        self._frame(8, b"\x03\xe8")

    def _frame(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        width = 0 if size < 126 else 2 if size < 1 << 16 else 8
        head = bytes((0x80 | opcode, {0: size, 2: 126, 8: 127}[width])) + (
            size.to_bytes(width, "big") if width else b""
        )
        with self._lock:
            self._wire.sendall(head + payload)

    def messages(self) -> Iterator[bytes]:
        """Binary messages until the peer closes."""
        while True:
            head = self._reading.read(2)
            if len(head) < 2 or head[0] & 0x0F == 8:
                return
            assert head[1] & 0x80, "clients mask"
            size = head[1] & 0x7F
            if size >= 126:
                size = int.from_bytes(self._reading.read(2 if size == 126 else 8), "big")
            mask, data = self._reading.read(4), self._reading.read(size)
            yield bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))


@contextmanager
def node_agent(folder: Path, *protocols: str) -> Iterator[NodeAgent]:
    node_agent = NodeAgent(folder, protocols)
    try:
        yield node_agent
    finally:
        node_agent.close()
