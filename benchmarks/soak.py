"""A server under mixed load for hours, with restarts and kills: ``python -m benchmarks.soak --hours 2``.

Clients create, patch, list, watch and delete objects and roll deployments, at a steady rate and with a bounded number
of objects. The server is stopped, or killed with SIGKILL, in turn; afterwards every acknowledged object must be there.
Samples of its size are written as a table, a verdict and a picture; the exit status is 1 if something grows.

In each hour the server lives once for 40 minutes and then four times for five. Sizes are judged in the last 15 of the
40: before, caches with a limit fill, above all those of Events (three of 4,096) and of the scheduler (256 templates of
pods, and its last decisions).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.controller_rows import workload
from benchmarks.load import Connection, allocated
from benchmarks.soak_report import Sample, judge, picture
from benchmarks.starting import Server

_JSON, _MERGE = "Content-Type: application/json", "Content-Type: application/merge-patch+json"
_MAPS = "/api/v1/namespaces/default/configmaps"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_DROPPED = (OSError, ssl.SSLError, ValueError)
#: Objects that the load keeps, deployments, replicas of each, watches.
_KEPT, _ROLLED, _REPLICAS, _WATCHES = 300, 4, 5, 12
#: Seconds between samples and between rollouts; seconds for which the server keeps history and Events.
_PERIOD, _ROLLOUT, _HISTORY = 5.0, 5.0, 60
#: Seconds of the server's lives, in turn, and of a life until all caches have as much as they may: 256 rollouts take 22
#: minutes.
_LIVES, _SETTLED = (2400.0, 300.0, 300.0, 300.0, 300.0), 1500.0


class Soak:
    """One run. `lost` are acknowledged objects that were missing or differed after a restart, `refused` unexpected
    responses."""

    def __init__(self, folder: Path, rate: float) -> None:
        self.server = Server(
            folder, "--controllers=*", "--scheduler=true", "--simulated-nodes=10",
            f"--history-duration={_HISTORY}s", f"--event-ttl={_HISTORY}s", f"--etcd-compaction-interval={_HISTORY}s",
        )  # fmt: skip
        self.samples: list[Sample] = []
        self.lost: list[str] = []
        self.refused: list[str] = []
        self.done = 0
        self._pause = 1 / rate
        self._random = Random(1)
        self._over = threading.Event()
        self._up = threading.Event()
        #: Acknowledged values by name. A write without a response makes its object unknown.
        self._known: dict[str, str] = {}
        self._unknown: set[str] = set()
        self._lock = threading.Lock()
        self._life = 0

    def run(self, seconds: float) -> None:
        """Load the server for `seconds`, and restart it after each of its lives."""
        clients = [threading.Thread(target=self._work, args=(self._write_maps,))]
        clients += [threading.Thread(target=self._work, args=(self._roll,))]
        clients += [threading.Thread(target=self._work, args=(self._list,))]
        clients += [threading.Thread(target=self._work, args=(self._watch,)) for _ in range(_WATCHES)]
        for client in clients:
            client.start()
        end = time.monotonic() + seconds
        try:
            for lifetime in cycle(_LIVES):
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._live(min(lifetime, left))
        finally:
            self._over.set()
            self._up.set()
            for client in clients:
                client.join()
            self.server.stop()

    def _live(self, seconds: float) -> None:
        """Start, check what was acknowledged, sample for some seconds, and end the server."""
        self.server.start()
        end = time.monotonic() + seconds
        with self._lock:
            self._check()
        self._up.set()
        while time.monotonic() < end:
            time.sleep(_PERIOD)
            self.samples.append(self._sample())
        self._up.clear()
        process = self.server.process
        assert process is not None
        if self._life % 2:
            self.server.stop()
        else:
            process.kill()
            process.wait()
        self._life += 1

    def _check(self) -> None:
        """Compare all objects with the acknowledged ones. Clients do not write meanwhile."""
        connection = Connection(self.server.target)
        code, body = connection.ask(self.server.target.request("GET", _MAPS))
        connection.close()
        items = json.loads(body)["items"] if code == 200 else []
        found = {
            each["metadata"]["name"]: each["data"]["value"] for each in items if each["metadata"]["name"][:1] == "m"
        }
        for name in self._unknown:
            self._known.pop(name, None)
            if name in found:
                self._known[name] = found[name]
        self._unknown.clear()
        if found != self._known:
            differing = {name for name in {*found, *self._known} if found.get(name) != self._known.get(name)}
            self.lost += sorted(differing)
            self._known = found

    def _sample(self) -> Sample:
        pid = self.server.pid
        connection = Connection(self.server.target)
        code, body = connection.ask(self.server.target.request("GET", "/metrics"))
        connection.close()
        if code != 200:
            raise SystemExit(f"/metrics got the response code {code}: {body[:200]!r}")
        sums: dict[str, float] = {}
        for line in body.decode().splitlines():
            name, _, value = line.rpartition(" ")
            if not line.startswith("#"):
                plain = name.partition("{")[0]
                sums[plain] = sums.get(plain, 0.0) + float(value)
        files = [self.server.store, self.server.store.with_name(self.server.store.name + "-wal")]
        size = sum(file.stat().st_size for file in files if file.exists())
        values = {
            "memory, MB": allocated(pid),
            "open files": float(len(os.listdir(f"/proc/{pid}/fd"))),
            "changes in history": sums["orchd_cache_window_events"],
            "delayed calls": sums["orchd_reactor_delayed_calls"],
            "objects": sums["apiserver_storage_objects"],
            "database, MB": size / 1e6,
        }
        return Sample(at=time.monotonic(), life=self._life, values=values)

    # -- clients: each runs `step` with a connection until the end, and connects again after a restart

    def _work(self, step: Callable[[Connection], Iterator[None]]) -> None:
        while not self._over.is_set():
            self._up.wait()
            if self._over.is_set():
                return
            connection = None
            # A connection that breaks is what restarts are for.
            with contextlib.suppress(*_DROPPED):
                connection = Connection(self.server.target)
                for _ in step(connection):
                    if self._over.wait(self._pause):
                        break
            if connection is not None:
                connection.close()
            self._over.wait(self._pause)

    def _ask(self, connection: Connection, method: str, path: str, body: Any = None, header: str = _JSON) -> int:
        text = b"" if body is None else json.dumps(body).encode()
        code, response = connection.ask(self.server.target.request(method, path, text, *([header] if text else [])))
        self.done += 1
        if code >= 400 and code not in (404, 409, 429, 503):
            self.refused.append(f"{method} {path}: {code} {response[:200]!r}")
        return code

    def _write_maps(self, connection: Connection) -> Iterator[None]:
        random = self._random
        while True:
            with self._lock:
                if not self._up.is_set():
                    return
                name = f"m{random.randrange(_KEPT)}"
                value = f"{random.getrandbits(64):x}" * random.randrange(1, 60)
                path = f"{_MAPS}/{name}"
                self._unknown.add(name)
                if name not in self._known:
                    body = {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": name},
                        "data": {"value": value},
                    }
                    code = self._ask(connection, "POST", _MAPS, body)
                elif random.random() < 0.3:
                    code, value = self._ask(connection, "DELETE", path), ""
                else:
                    code = self._ask(connection, "PATCH", path, {"data": {"value": value}}, _MERGE)
                if code in (200, 201):
                    self._unknown.discard(name)
                    if value:
                        self._known[name] = value
                    else:
                        del self._known[name]
            yield

    def _roll(self, connection: Connection) -> Iterator[None]:
        """Create the deployments, then change the image of one after the other."""
        turn = 0
        while True:
            name = f"d{turn % _ROLLED}"
            image = f"registry.example/app:{turn}"
            change = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
            code = self._ask(
                connection,
                "PATCH",
                f"{_DEPLOYMENTS}/{name}",
                change,
                "Content-Type: application/strategic-merge-patch+json",
            )
            if code == 404:
                body = workload("Deployment", name, _REPLICAS, image)
                body["spec"]["revisionHistoryLimit"] = 2
                self._ask(connection, "POST", _DEPLOYMENTS, body)
            turn += 1
            for _ in range(round(_ROLLOUT / self._pause)):
                yield

    def _list(self, connection: Connection) -> Iterator[None]:
        paths = (
            f"{_MAPS}?limit=50",
            "/api/v1/pods",
            "/api/v1/pods?labelSelector=app%3Dd1",
            "/apis/apps/v1/replicasets",
            "/api/v1/events?limit=100",
        )
        while True:
            for path in paths:
                self._ask(connection, "GET", path)
                yield

    def _watch(self, connection: Connection) -> Iterator[None]:
        """Watches of some seconds, with and without a selector."""
        for path in (
            f"{_MAPS}?watch=1&timeoutSeconds=20",
            "/api/v1/pods?watch=1&timeoutSeconds=30&labelSelector=app%3Dd2",
        ):
            self._ask(connection, "GET", path)
            yield


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hours", type=float, default=2.0, help="duration (default %(default)s)")
    options.add_argument(
        "--rate", type=float, default=20.0, help="operations a second of each client (default %(default)s)"
    )
    options.add_argument("--picture", default="", help="SVG file that gets the samples as a picture")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        soak = Soak(Path(name), chosen.rate)
        soak.run(chosen.hours * 3600)
    verdicts = judge(soak.samples, settled=_SETTLED)
    print(f"{soak.done} requests, {soak.samples[-1].life + 1} starts")
    for verdict in verdicts:
        print(verdict.line())
    for what, which in (("differ from what was acknowledged", soak.lost), ("unexpected responses", soak.refused)):
        if which:
            print(f"{len(which)} {what}: {', '.join(which[:5])}")
    if chosen.picture:
        Path(chosen.picture).parent.mkdir(parents=True, exist_ok=True)
        Path(chosen.picture).write_text(picture(soak.samples, verdicts))
        print(f"picture: {chosen.picture}")
    if soak.lost or soak.refused or any(verdict.grows for verdict in verdicts):
        sys.exit(1)


if __name__ == "__main__":
    main()
