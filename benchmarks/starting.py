"""Servers that the benchmarks start: the time until they are ready, also with many stored objects."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.api_rows import make_namespace, pod
from benchmarks.bench import Bench
from benchmarks.load import Connection, Target, resident

_RUN = "from twisted.scripts.twistd import run; run()"
#: Seconds within which a server must be ready, on a machine that does other things too.
_PATIENCE = 300
_TOKEN, _NODE_TOKEN, _NODE = "bench", "node", "n1"


def wait_ready(process: subprocess.Popen[bytes], target: Target, began: float) -> float:
    """Wait until the server is ready; returns the seconds since `began`."""
    while time.monotonic() - began < _PATIENCE:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            connection = Connection(target)
            code, _ = connection.ask(target.request("GET", "/readyz"))
            connection.close()
        except OSError:
            code = 0
        if code == 200:
            return time.monotonic() - began
        time.sleep(0.01)
    process.kill()
    raise SystemExit(f"the server was not ready within {_PATIENCE} s")


class Server:
    """A server of this checkout on its own folder; `more` are further flags. Controllers run only if these enable some.
    The first `agents` nodes have tokens, which are their names."""

    def __init__(self, folder: Path, *more: str, agents: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.store = folder / "data" / "store.sqlite"
        tokens = folder / "tokens.csv"
        tokens.write_text(
            f'{_TOKEN},bench,bench,"system:masters"\n{_NODE_TOKEN},system:node:{_NODE},node,"system:nodes"\n'
            + "".join(f'node-{n},system:node:node-{n},node-{n},"system:nodes"\n' for n in range(agents))
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.target = Target(host="127.0.0.1", port=port, token=_TOKEN)
        self._command = [
            *(sys.executable, "-c", _RUN, "-n", "--pidfile=", f"--logfile={folder / 'log'}", "orchd"),
            f"--data-dir={folder / 'data'}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=Node,RBAC",
            *(() if any(flag.startswith("--controllers=") for flag in more) else ("--controllers=-*",)),
            *(more or ("--scheduler=false",)),
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Seconds from its command to a 200 at /readyz."""
        began = time.monotonic()
        # An installed server has its modules compiled: without that a start takes 1.5 s more of CPU.
        kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(self._command, env=kept)
        return wait_ready(self.process, self.target, began)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def pids(self) -> list[int]:
        """The process, and those that it has started (--processes)."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None


def _ask_as_node(bench: Bench, server: Server, count: int) -> None:
    """Seconds of the first request of the node of all pods, for which the node authorizer builds its graph."""
    node = replace(server.target, token=_NODE_TOKEN)
    connection, began = Connection(node), time.monotonic()
    code, response = connection.ask(node.request("GET", "/api/v1/namespaces/data/configmaps/none"))
    if code not in (403, 404):
        raise SystemExit(f"a node got the response code {code}: {response[:300]!r}")
    took = time.monotonic() - began
    bench.show(
        f"first response to a node, {count:,} pods", None, f"{took * 1e3:.0f} ms, then {resident(server.pid):.0f} MB"
    )


def start_rows(bench: Bench) -> None:
    """Start empty, with one pod, and with 5,000 and 50,000 stored pods; and the first request of their node."""
    server = Server(bench.folder / "starts")
    try:
        bench.show("start to ready, no data directory", None, f"{server.start():.2f} s")
        make_namespace(server.target, "data")
        seed = json.loads(pod("seed"))
        seed["spec"]["nodeName"] = _NODE
        request = server.target.request(
            "POST", "/api/v1/namespaces/data/pods", json.dumps(seed).encode(), "Content-Type: application/json"
        )
        code, response = Connection(server.target).ask(request)
        if code != 201:
            raise SystemExit(f"no pod: {code} {response[:300]!r}")
        server.stop()
        for count in (1, 5_000, 50_000):
            copying = [
                sys.executable,
                "-m",
                "benchmarks.dataset",
                str(server.store),
                "orch",
                "/pods/data/seed",
                str(count),
            ]
            subprocess.run(copying, check=True)
            took = []
            for _ in range(3):
                took.append(server.start())
                memory = resident(server.pid)
                if len(took) < 3:
                    server.stop()
            note = f"{min(took):.2f} s, then {memory:.0f} MB, file {server.store.stat().st_size / 1e6:.0f} MB"
            bench.show(f"start to ready, {count:,} pods on disk", None, note)
            _ask_as_node(bench, server, count)
            server.stop()
    finally:
        server.stop()
