"""Benchmarks of the controllers: rollouts of many pods on simulated nodes, while another client reads.

The server runs all controllers, the scheduler and the simulated nodes in one process. A pod change is one pod created
and reported ready, or one deleted; a row has the process's CPU per pod change, with everything that it causes: the
writes themselves, scheduling, the node's reports, replica sets, endpoints, garbage collection.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench import Bench
from benchmarks.load import Connection, Target, cpu, resident
from benchmarks.scheduler_rows import Getter, post
from benchmarks.starting import Server

_NAMESPACE = "rollouts"
_MERGE = "Content-Type: application/merge-patch+json"
_DEPLOYMENTS, _PODS, _LARGE = 100, 5000, 10_000
#: Seconds after which a row gives up.
_PATIENCE = 900.0
#: Pods per simulated node, which takes 110. While pods are rolled, those that come exceed the wanted ones by a quarter,
#: and those that terminate are there too: on fuller nodes the row would measure how often the scheduler tries pods that
#: fit nowhere.
_PER_NODE = 40


def workload(kind: str, name: str, replicas: int, image: str) -> dict[str, Any]:
    """A deployment or a replica set of small pods."""
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


class _Cluster:
    """A server with enough simulated nodes for this many pods, and a connection to it."""

    def __init__(self, bench: Bench, name: str, pods: int, *flags: str) -> None:
        nodes = max(2, pods // _PER_NODE)
        more = ("--controllers=*", "--scheduler=true", f"--simulated-nodes={nodes}", *flags)
        self.server = Server(bench.folder / name, *more)
        self.server.start()
        self.connection = Connection(self.server.target)
        self.ask("/api/v1/namespaces", {"metadata": {"name": _NAMESPACE}})
        self.wait(lambda: len(self.items("/api/v1/nodes")) >= nodes)

    @property
    def target(self) -> Target:
        return self.server.target

    def ask(self, path: str, body: Any) -> None:
        """Create an object."""
        code, text = self.connection.ask(post(self.target, path, body))
        if code not in (200, 201):
            raise SystemExit(f"{path} got the response code {code}: {text[:300]!r}")

    def patch(self, path: str, body: Any) -> None:
        """Merge into an object."""
        code, text = self.connection.ask(self.target.request("PATCH", path, json.dumps(body).encode(), _MERGE))
        if code != 200:
            raise SystemExit(f"{path} got the response code {code}: {text[:300]!r}")

    def items(self, path: str) -> list[Any]:
        """The items of a list."""
        _, text = self.connection.ask(self.target.request("GET", path))
        found: list[Any] = json.loads(text)["items"]
        return found

    def wait(self, condition: Callable[[], bool]) -> None:
        """Poll twice a second until `done` is true: half a second is short compared to the rows."""
        end = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise SystemExit("the controllers were not done in time")
            time.sleep(0.5)


def _path(plural: str) -> str:
    return f"/apis/apps/v1/namespaces/{_NAMESPACE}/{plural}"


def _rolled_out(found: Any) -> bool:
    """True if all replicas of a deployment have the newest template and are available."""
    status, wanted = found.get("status") or {}, found["spec"]["replicas"]
    observed = status.get("observedGeneration") == found["metadata"]["generation"]
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    return observed and counts == [wanted] * 3


def _measure(
    bench: Bench, cluster: _Cluster, label: str, changes: int, act: Callable[[], None], done: Callable[[], bool]
) -> None:
    """A row: `act` and wait until `done`, while another client reads."""
    pids = cluster.server.pids

    def used() -> float:
        return sum(map(cpu, pids))

    getter = Getter(cluster.target, "/api/v1/nodes/simulated-0")
    before, began = used(), time.monotonic()
    getter.start()
    act()
    cluster.wait(done)
    took, spent = time.monotonic() - began, (used() - before) / changes
    getter.ended.set()
    bench.show(
        label, spent,
        f"{took:.1f} s, {changes / took:.0f} changes/s; GET of others p50 {getter.percentile(0.5) * 1e3:.0f},"
        f" p99 {getter.percentile() * 1e3:.0f}, max {getter.percentile(1.0) * 1e3:.0f} ms; {sum(map(resident, pids)):.0f} MB",
    )  # fmt: skip


def _guard(cluster: _Cluster, name: str) -> None:
    """A service and a budget for the pods of a workload."""
    namespace = f"namespaces/{_NAMESPACE}"
    service = {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}
    cluster.ask(f"/api/v1/{namespace}/services", service)
    budget = {"metadata": {"name": name}, "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": name}}}}
    cluster.ask(f"/apis/policy/v1/{namespace}/poddisruptionbudgets", budget)


def rollout(bench: Bench, *flags: str, guarded: bool = False) -> None:
    """All deployments get a new image at once. `guarded`: each has a service and a budget, all share a quota. `flags`
    are further ones of the server."""
    pods = max(_DEPLOYMENTS, bench.times(_PODS))
    each = pods // _DEPLOYMENTS
    cluster = _Cluster(bench, "-".join(("guarded" if guarded else "rollout", *flags)), pods, *flags)
    more = " with services, budgets, quota" if guarded else ""
    more += "".join(f", {flag}" for flag in flags)

    def finished() -> bool:
        return all(_rolled_out(found) for found in cluster.items(_path("deployments")))

    def create() -> None:
        if guarded:
            hard = {"pods": str(4 * pods), "requests.cpu": str(4 * pods)}
            cluster.ask(
                f"/api/v1/namespaces/{_NAMESPACE}/resourcequotas", {"metadata": {"name": "all"}, "spec": {"hard": hard}}
            )
        for number in range(_DEPLOYMENTS):
            if guarded:
                _guard(cluster, f"web-{number}")
            cluster.ask(_path("deployments"), workload("Deployment", f"web-{number}", each, "app:1"))

    def roll() -> None:
        change = {
            "spec": {
                "template": {
                    "spec": {
                        "containers": workload("Deployment", "", 0, "app:2")["spec"]["template"]["spec"]["containers"]
                    }
                }
            }
        }
        for number in range(_DEPLOYMENTS):
            cluster.patch(f"{_path('deployments')}/web-{number}", change)

    try:
        total = each * _DEPLOYMENTS
        _measure(bench, cluster, f"create {total:,} pods of {_DEPLOYMENTS} deployments{more}", total, create, finished)
        _measure(bench, cluster, f"roll {total:,} pods of {_DEPLOYMENTS} deployments{more}", 2 * total, roll, finished)
    finally:
        cluster.server.stop()


def large_set(bench: Bench, *, guarded: bool = False) -> None:
    """One replica set is scaled up from 0, and down again. `guarded`: it has a service and a budget."""
    count = bench.times(_LARGE)
    cluster = _Cluster(bench, "guarded-large" if guarded else "large", count)
    more = " with a service and a budget" if guarded else ""
    path = f"{_path('replicasets')}/one"

    def reached(wanted: int) -> bool:
        _, text = cluster.connection.ask(cluster.target.request("GET", path))
        status = json.loads(text).get("status") or {}
        return bool(status.get("replicas", 0) == wanted == status.get("availableReplicas", 0))

    try:
        if guarded:
            _guard(cluster, "one")
        cluster.ask(_path("replicasets"), workload("ReplicaSet", "one", 0, "app:1"))
        for wanted, verb in ((count, "grow to"), (0, "shrink from")):
            scale = {"spec": {"replicas": wanted}}
            label = f"{verb} {count:,} pods in one replica set{more}"
            # Defaults bind the loop's values.
            _measure(bench, cluster, label, count, lambda s=scale: cluster.patch(path, s), lambda w=wanted: reached(w))  # type: ignore[misc]
    finally:
        cluster.server.stop()


def controller_rows(bench: Bench) -> None:
    """All rows of the controllers."""
    for guarded in (False, True):
        rollout(bench, guarded=guarded)
        large_set(bench, guarded=guarded)
