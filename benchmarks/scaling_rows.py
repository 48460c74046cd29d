"""Rows of a large cluster (docs/scaling.md): 100,000 pods on 5,000 nodes, times the scale.

The store is written by `benchmarks.large`. Rows are the start, pages, lists and reads with so many objects, what node
agents do all the time (leases and status), watches with selectors of their own, and the lists of many informers at
once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.load import Connection, Target, Watchers, cpu, resident, run
from benchmarks.node_agents import RENEWAL, NodeAgents
from benchmarks.starting import Server

_PODS, _NODES = 100_000, 5_000
_JSON, _STRATEGIC = "Content-Type: application/json", "Content-Type: application/strategic-merge-patch+json"
_MERGE = "Content-Type: application/merge-patch+json"
_ALL = "/api/v1/pods"
#: Informers that list at once, and pages that each reads; watchers with selectors.
_INFORMERS, _PAGES, _WATCHERS = 50, 20, 2_000
_MINUTE = 60.0


class _Rows:
    """The rows on a running server."""

    def __init__(self, bench: Bench, server: Server, pods: int) -> None:
        self._bench = bench
        self._server = server
        self._target: Target = server.target
        self._connection = Connection(server.target)
        self._pods = pods

    def _cpu(self) -> float:
        return cpu(self._server.pid)

    def _ask(self, path: str) -> bytes:
        code, body = self._connection.ask(self._target.request("GET", path))
        if code != 200:
            raise SystemExit(f"{path}: {code} {body[:300]!r}")
        return body

    def _repeat(self, label: str, path: str, times: int) -> None:
        before = self._cpu()
        for _ in range(times):
            body = self._ask(path)
        self._bench.show(label, (self._cpu() - before) / times, f"{len(body):,} bytes")

    def reads(self) -> None:
        """GETs, the first and the last page, and lists by label: the first one makes the index."""
        times = self._bench.times(200)
        self._repeat("GET of one pod", "/api/v1/namespaces/space-0/pods/app-1-1", times * 5)
        self._repeat("first page of 500", f"{_ALL}?limit=500", times)
        self._repeat("last page of 500", f"{_ALL}?limit=500&continue={self._last_token()}", times)
        self._repeat("LIST by label, the first", f"{_ALL}?labelSelector=app%3Dapp-7", 1)
        self._repeat("LIST by label, later ones, 20 pods", f"{_ALL}?labelSelector=app%3Dapp-7", times)
        self._repeat("LIST of a node's pods, the first", f"{_ALL}?fieldSelector=spec.nodeName%3Dnode-7", 1)
        self._repeat("LIST of a node's pods, later ones", f"{_ALL}?fieldSelector=spec.nodeName%3Dnode-7", times)

    def _last_token(self) -> str:
        token = ""
        while True:
            body = self._ask(f"{_ALL}?limit=500" + (f"&continue={token}" if token else ""))
            more = _metadata(body).get("continue")
            if not more:
                return token
            token = more

    def nodes(self) -> None:
        """What agents of nodes write: each renews its lease, and patches the heartbeat of its status."""
        target, path = self._target, "/apis/coordination.orch.io/v1/namespaces/orch-node-lease/leases"
        leases = json.loads(self._ask(path))["items"]

        def renewal(number: int) -> bytes:
            lease = leases[number % len(leases)]
            body = {**lease, "spec": {**lease["spec"], "renewTime": "2026-01-05T09:00:00.000000Z"}}
            return target.request("PUT", f"{path}/{lease['metadata']['name']}", json.dumps(body).encode(), _JSON)

        got = run(target, [self._server.pid], renewal, len(leases), 8)
        interval = _NODES / 10 * got.cpu
        note = f"{got.rate:.0f}/s; {_NODES:,} nodes every 10 s: {interval:.0%} of a core"
        self._bench.show("renew the lease of a node", got.cpu, note)

        def heartbeat(number: int) -> bytes:
            condition = {"type": "Ready", "lastHeartbeatTime": f"2026-01-05T09:{number % 60:02}:00Z"}
            body = json.dumps({"status": {"conditions": [condition]}}).encode()
            return target.request("PATCH", f"/api/v1/nodes/node-{number % len(leases)}/status", body, _STRATEGIC)

        got = run(target, [self._server.pid], heartbeat, len(leases), 8)
        note = f"{got.rate:.0f}/s; {_NODES:,} nodes every 5 min: {_NODES / 300 * got.cpu:.1%} of a core"
        self._bench.show("patch the status of a node", got.cpu, note)

    def agents(self) -> None:
        """The agents of all nodes at once, each with a connection, for a minute after they have sent for a whole
        interval."""
        agents = NodeAgents(self._target, max(8, int(_NODES * self._bench.scale)))
        try:
            agents.send([self._server.pid], RENEWAL)
            got = agents.send([self._server.pid], _MINUTE)
        finally:
            agents.stop()
        note = (
            f"{got.share:.1%} of a core, memory {resident(self._server.pid):.0f} MB; responses after "
            f"{got.waited[len(got.waited) // 2] * 1e3:.0f} ms, p99 {got.waited[len(got.waited) * 99 // 100] * 1e3:.0f} ms, "
            f"{got.late} renewals late, {got.refused} requests refused"
        )
        self._bench.show(
            f"{agents.count:,} agents: leases every 10 s, status every 5 min", got.share * _MINUTE / got.requests, note
        )

    def watches(self) -> None:
        """Patches of pods without watchers, and with many that select an application each."""
        count, applications = self._bench.times(2_000), max(1, self._pods // 20)

        def patch(number: int) -> bytes:
            application = number * 7 % applications
            path = f"/api/v1/namespaces/space-{application * 20 // 1000}/pods/app-{application}-0"
            body = json.dumps({"metadata": {"annotations": {"turn": str(number)}}}).encode()
            return self._target.request("PATCH", path, body, _MERGE)

        alone = run(self._target, [self._server.pid], patch, count, 4)
        self._bench.show("patch of a pod, nobody watches", alone.cpu, f"{alone.rate:.0f}/s")
        watchers = self._bench.times(_WATCHERS)
        holder = Watchers(
            self._target, f"{_ALL}?watch=1&resourceVersion=0&labelSelector=app%3Dapp-{{number}}", watchers
        )
        try:
            before = resident(self._server.pid)
            got = run(self._target, [self._server.pid], patch, count, 4)
            grown = resident(self._server.pid) - before
        finally:
            holder.stop()
        note = f"{got.rate:.0f}/s; memory {grown:+.0f} MB"
        self._bench.show(f"patch of a pod, {watchers:,} watchers with selectors", got.cpu, note)

    def relist(self) -> None:
        """Many informers that read pages at once, and the GETs of another client meanwhile."""

        def read() -> None:
            connection, token = Connection(self._target), ""
            for _ in range(_PAGES):
                more = f"&continue={token}" if token else ""
                code, body = connection.ask(self._target.request("GET", f"{_ALL}?limit=500{more}"))
                if code != 200:
                    raise SystemExit(f"a page got the response code {code}: {body[:300]!r}")
                token = _metadata(body).get("continue", "")
                if not token:
                    break
            connection.close()

        before = self._cpu()
        informers = [threading.Thread(target=read) for _ in range(_INFORMERS)]
        for informer in informers:
            informer.start()
        waited = []
        while any(informer.is_alive() for informer in informers):
            began = _own_cpu(self._server.pid)
            self._ask("/api/v1/nodes/node-0")
            waited.append(_own_cpu(self._server.pid) - began)
        spent = self._cpu() - before
        waited.sort()
        note = (
            f"CPU of the server during a GET of another client: p99 {waited[len(waited) * 99 // 100] * 1e3:.0f} ms, most "
            f"{waited[-1] * 1e3:.0f} ms, of {len(waited)}"
        )
        self._bench.show(f"{_INFORMERS} informers list {_PAGES} pages each", spent, note)


def _own_cpu(pid: int) -> float:
    """Seconds of CPU of a process's main thread. What it uses during a request is how long that takes on a quiet
    machine."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def _metadata(page: bytes) -> dict[str, Any]:
    """The metadata of a list, which precedes the items."""
    begin = page.index(b'"metadata":') + len(b'"metadata":')
    found: dict[str, Any] = json.loads(page[begin : page.index(b"}", begin) + 1])
    return found


def scaling_rows(bench: Bench) -> None:
    """See the module."""
    pods, nodes = int(_PODS * bench.scale), max(8, int(_NODES * bench.scale))
    folder = bench.folder / "large"
    (folder / "data").mkdir(parents=True)
    server = Server(folder, "--scheduler=false", agents=nodes)
    command = [sys.executable, "-m", "benchmarks.large", str(server.store), f"--pods={pods}", f"--nodes={nodes}"]
    subprocess.run(command, check=True)
    try:
        seconds = server.start()
        spent, memory = cpu(server.pid), resident(server.pid)
        bench.show(f"start to ready, {pods:,} pods, {nodes:,} nodes", spent, f"{seconds:.2f} s, then {memory:.0f} MB")
        for row in (_Rows.reads, _Rows.nodes, _Rows.agents, _Rows.watches, _Rows.relist):
            # Each with a connection of its own: servers close those that are idle for longer than a row may take.
            row(_Rows(bench, server, pods))
        bench.show("memory after these rows", None, f"{resident(server.pid):.0f} MB")
    finally:
        server.stop()
