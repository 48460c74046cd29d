"""Benchmarks of the scheduler: end to end in a server, and of single decisions without one.

End to end, clients create pods while the scheduler runs; the row has the process's CPU per pod from its creation to its
binding, and next to it the cost of creation alone (pods of a scheduler that does not exist). Decisions are measured in
a separate process (``python -m benchmarks.deciding``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any

from benchmarks.bench import Bench
from benchmarks.load import Connection, Target, cpu, resident, run
from benchmarks.starting import Server

_NAMESPACE = "sched"
_JSON = "Content-Type: application/json"
_PODS = 2000


def node(number: int) -> dict[str, Any]:
    """A node of one of three zones."""
    name = f"n{number}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"orch.io/hostname": name, "topology.orch.io/zone": f"z{number % 3}"}},
        "status": {"allocatable": {"cpu": "32", "memory": "64Gi", "pods": "110"}},
    }


def pod(name: str, scheduler: str) -> dict[str, Any]:
    """A plain pod with requests."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "spec": {
            "schedulerName": scheduler,
            "automountServiceAccountToken": False,
            "containers": [
                {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
            ],
        },
    }


def post(target: Target, path: str, body: Any) -> bytes:
    return target.request("POST", path, json.dumps(body).encode(), _JSON)


def _scheduled(connection: Connection) -> int:
    """Pods that the scheduler has bound so far."""
    _, text = connection.ask(connection.target.request("GET", "/metrics"))
    for line in text.decode().splitlines():
        if line.startswith("scheduler_schedule_attempts_total{") and 'result="scheduled"' in line:
            return int(float(line.rpartition(" ")[2]))
    return 0


class Getter(threading.Thread):
    """A second client that reads one object repeatedly."""

    def __init__(self, target: Target, path: str = "/api/v1/nodes/n0") -> None:
        super().__init__(daemon=True)
        self._connection = Connection(target)
        self._request = target.request("GET", path)
        self.took: list[float] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.005):
            began = time.monotonic()
            self._connection.ask(self._request)
            self.took.append(time.monotonic() - began)

    def percentile(self, part: float = 0.99) -> float:
        """Seconds within which this share of the requests was served."""
        ordered = sorted(self.took) or [0.0]
        return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def end_to_end(bench: Bench, nodes: int) -> None:
    """Schedule 2,000 plain pods onto this many nodes."""
    server = Server(
        bench.folder / f"scheduler-{nodes}", "--scheduler=true", "--disable-admission-plugins=TaintNodesByCondition"
    )
    try:
        server.start()
        target, pids, count = server.target, [server.pid], bench.times(_PODS)
        connection = Connection(target)
        for path, body in (
            ("/api/v1/namespaces", {"metadata": {"name": _NAMESPACE}}),
            (f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}),
        ):
            connection.ask(post(target, path, body))
        run(target, pids, lambda n: post(target, "/api/v1/nodes", node(n)), nodes)
        pods = f"/api/v1/namespaces/{_NAMESPACE}/pods"
        alone = run(target, pids, lambda n: post(target, pods, pod(f"a{n}", "none")), count, 8)
        run(target, pids, lambda n: post(target, pods, pod(f"w{n}", "default-scheduler")), 200, 8)
        while _scheduled(connection) < 200:
            time.sleep(0.05)
        getter = Getter(target)
        getter.start()
        before, began = cpu(server.pid), time.monotonic()
        created = run(target, pids, lambda n: post(target, pods, pod(f"p{n}", "default-scheduler")), count, 8)
        while _scheduled(connection) < 200 + created.count:
            time.sleep(0.02)
        took, spent = time.monotonic() - began, (cpu(server.pid) - before) / created.count
        getter.ended.set()
        bench.show(
            f"schedule {count:,} pods onto {nodes:,} nodes", spent,
            f"{created.count / took:.0f}/s with creation ({alone.cpu * 1e3:.2f} ms alone, {alone.rate:.0f}/s);"
            f" GET of others p99 {getter.percentile() * 1e3:.0f} ms; {resident(server.pid):.0f} MB",
        )  # fmt: skip
    finally:
        server.stop()


def scheduler_rows(bench: Bench) -> None:
    """All rows of the scheduler."""
    for nodes in (1000, 5000):
        end_to_end(bench, nodes)
    subprocess.run([sys.executable, "-m", "benchmarks.deciding", str(bench.scale)], check=True)
