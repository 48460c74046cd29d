"""Benchmark rows for a running API server: each is a function of the bench that returns CPU seconds per operation and a
note.

They use namespaces of their own, created when first needed. A new row is a function and a line in `API_ROWS`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

from benchmarks.bench import Bench
from benchmarks.custom_rows import changed_kind, custom_kinds, ruled_kind
from benchmarks.load import Connection, Target, Watchers, cpu, resident, run

#: Namespaces are per run: figures must not depend on what an earlier run left.
_RUN = f"bench-{os.getpid()}"
_LISTED, _WRITTEN = f"{_RUN}-list", f"{_RUN}-write"
_DROPPED = "apiserver_terminated_watchers_total"
_TABLE = "Accept: application/json;as=Table;v=v1;g={group},application/json"


def pod(name: str, *, labels: dict[str, str] | None = None) -> bytes:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "bench", **(labels or {})}},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example/app:1",
                        "env": [{"name": f"V{n}", "value": "x" * 20} for n in range(5)],
                        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                        "ports": [{"containerPort": 8080}],
                    }
                ]
            },
        }
    ).encode()


def _target(bench: Bench) -> Target:
    assert bench.target is not None
    return bench.target


_made: set[tuple[int, str]] = set()


def _namespace(bench: Bench, name: str) -> None:
    """`make_namespace`, once per server of a run."""
    target = _target(bench)
    if (target.port, name) in _made:
        return
    _made.add((target.port, name))
    make_namespace(target, name)


def make_namespace(target: Target, name: str) -> None:
    """The namespace with the service account that pods need."""
    connection = Connection(target)
    for path, kind, called in (
        ("/api/v1/namespaces", "Namespace", name),
        (f"/api/v1/namespaces/{name}/serviceaccounts", "ServiceAccount", "default"),
    ):
        body = json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": called}}).encode()
        code, response = connection.ask(target.request("POST", path, body, "Content-Type: application/json"))
        if code not in (201, 409):
            raise SystemExit(f"{path}: {code} {response[:300]!r}")
    connection.close()


def _create(bench: Bench, namespace: str, prefix: str, count: int, concurrency: int = 0) -> tuple[float, float]:
    target, path = _target(bench), f"/api/v1/namespaces/{namespace}/pods"

    def request(number: int) -> bytes:
        body = pod(f"{prefix}-{number}", labels={"group": f"g{number % 50}"})
        return target.request("POST", path, body, "Content-Type: application/json")

    got = run(target, bench.pids, request, count, concurrency or bench.clients or 8)
    return got.cpu, got.rate


def _listed(bench: Bench) -> str:
    """The path of a list of `bench.pods` pods."""
    if (_target(bench).port, _LISTED) not in _made:
        _namespace(bench, _LISTED)
        _create(bench, _LISTED, "p", bench.pods)
    return f"/api/v1/namespaces/{_LISTED}/pods"


def _waited(rate: float) -> str:
    """What one client waits for each response, by the rate of its requests in 1/s."""
    return f"{1000 / rate:.2f} ms from request to response"


def _same(bench: Bench, path: str, count: int, *headers: str, concurrency: int = 0) -> tuple[float, str]:
    target = _target(bench)
    request = target.request("GET", path, b"", *headers)
    code, body = Connection(target).ask(request)
    if code != 200:
        raise SystemExit(f"{path}: {code} {body[:300]!r}")
    got = run(target, bench.pids, lambda _: request, bench.times(count), concurrency or bench.clients or 4)
    pace = _waited(got.rate) if concurrency == 1 else f"{got.rate:.0f}/s"
    return got.cpu, f"{pace}, {len(body):,} bytes"


def memory_idle(bench: Bench) -> tuple[None, str]:
    return None, f"{sum(map(resident, bench.pids)):.0f} MB"


def create(bench: Bench) -> tuple[float, str]:
    _namespace(bench, _WRITTEN)
    spent, rate = _create(bench, _WRITTEN, "c", bench.times(2000))
    return spent, f"{rate:.0f}/s"


def get_consistent(bench: Bench) -> tuple[float, str]:
    return _same(bench, f"{_listed(bench)}/p-1", 8000)


def get_cached(bench: Bench) -> tuple[float, str]:
    return _same(bench, f"{_listed(bench)}/p-1?resourceVersion=0", 8000)


def get_alone(bench: Bench) -> tuple[float, str]:
    return _same(bench, f"{_listed(bench)}/p-1", 2000, concurrency=1)


def create_alone(bench: Bench) -> tuple[float, str]:
    _namespace(bench, _WRITTEN)
    spent, rate = _create(bench, _WRITTEN, "s", bench.times(500), concurrency=1)
    return spent, _waited(rate)


def list_all(bench: Bench) -> tuple[float, str]:
    return _same(bench, _listed(bench), 40, concurrency=2)


def list_page(bench: Bench) -> tuple[float, str]:
    return _same(bench, f"{_listed(bench)}?limit=500", 400)


def list_by_label(bench: Bench) -> tuple[float, str]:
    return _same(bench, f"{_listed(bench)}?labelSelector=group%3Dg7", 400)


def table(bench: Bench) -> tuple[float, str]:
    target, path = _target(bench), f"{_listed(bench)}?limit=500"
    # The group of Table is the dialect's, as in discovery.
    _, groups = Connection(target).ask(target.request("GET", "/apis"))
    spelled = next(
        group["name"].partition(".")[2]
        for group in json.loads(groups)["groups"]
        if group["name"].startswith("authentication.")
    )
    return _same(bench, path, 200, _TABLE.format(group=f"meta.{spelled}"))


def merge_patch(bench: Bench) -> tuple[float, str]:
    target, path = _target(bench), _listed(bench)

    def request(number: int) -> bytes:
        body = b'{"metadata":{"annotations":{"n":"%d"}}}' % number
        return target.request(
            "PATCH", f"{path}/p-{number % bench.pods}", body, "Content-Type: application/merge-patch+json"
        )

    got = run(target, bench.pids, request, bench.times(2000), bench.clients or 8)
    return got.cpu, f"{got.rate:.0f}/s"


def apply(bench: Bench) -> tuple[float, str]:
    target = _target(bench)
    _namespace(bench, _WRITTEN)

    def request(number: int) -> bytes:
        name = f"a-{number % 100}"
        data = {f"k{n}": "v" * 30 for n in range(10)} | {"n": str(number)}
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
        path = f"/api/v1/namespaces/{_WRITTEN}/configmaps/{name}?fieldManager=bench"
        return target.request("PATCH", path, body.encode(), "Content-Type: application/apply-patch+yaml")

    got = run(target, bench.pids, request, bench.times(2000), bench.clients or 8)
    return got.cpu, f"{got.rate:.0f}/s"


def watch_fan_out(bench: Bench) -> tuple[float, str]:
    """The extra cost of a write with 500 watches, per watch."""
    target, count, watches = _target(bench), bench.times(100), 500
    namespace = f"{_RUN}-watch"
    _namespace(bench, namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def request(number: int) -> bytes:
        body = json.dumps(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "w-"}, "data": {"x": "y" * 1000}}
        )
        return target.request("POST", path, body.encode(), "Content-Type: application/json")

    alone = run(target, bench.pids, request, count, 1)
    watchers = Watchers(target, f"{path}?watch=1", watches)
    try:
        before = sum(map(cpu, bench.pids))
        watched = run(target, bench.pids, request, count, 1)
        spent = sum(map(cpu, bench.pids)) - before
    finally:
        watchers.stop()
    per_frame = (spent / watched.count - alone.cpu) / watches
    return per_frame, f"{watches * watched.rate:.0f} events/s"


def many_watchers(bench: Bench) -> tuple[float, str]:
    """Memory with 5,000 watches of one resource while a writer makes 100 changes a second for some seconds, and the
    number of watches that were dropped as too slow."""
    target, watches = _target(bench), max(8, int(5000 * min(1.0, bench.scale)))
    namespace, offered = f"{_RUN}-many", bench.times(1000)
    _namespace(bench, namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def memory() -> float:
        return sum(map(resident, bench.pids))

    def dropped() -> int:
        _, text = Connection(target).ask(target.request("GET", "/metrics", b"", "Accept: text/plain"))
        shown = [line for line in text.decode().splitlines() if line.startswith(_DROPPED)]
        return int(sum(float(line.rpartition(" ")[2]) for line in shown))

    empty, dropped_before = memory(), dropped()
    watchers = Watchers(target, f"{path}?watch=1", watches)
    try:
        idle = most = memory()
        connection, began, before = Connection(target), time.monotonic(), sum(map(cpu, bench.pids))
        written = 0
        while written < offered and time.monotonic() - began < offered / 100:
            time.sleep(max(0.0, began + written / 100 - time.monotonic()))
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"generateName": "m-"},
                "data": {"x": "y" * 1000},
            }
            request = target.request("POST", path, json.dumps(body).encode(), "Content-Type: application/json")
            code, response = connection.ask(request)
            if code != 201:
                raise SystemExit(f"{path}: {code} {response[:300]!r}")
            written += 1
            most = max(most, memory())
        took = time.monotonic() - began
        spent = (sum(map(cpu, bench.pids)) - before) / written / watches
        lost = dropped() - dropped_before
    finally:
        watchers.stop()
    note = f"{written / took:.0f} changes/s of 100 offered, {written * watches / took:.0f} events/s"
    return spent, f"{note}; {empty:.0f} MB before, {idle:.0f} MB watched, at most {most:.0f} MB; {lost} dropped"


def memory_full(bench: Bench) -> tuple[None, str]:
    _listed(bench)
    return None, f"{sum(map(resident, bench.pids)):.0f} MB"


API_ROWS: tuple[tuple[str, Callable[[Bench], tuple[float | None, str]]], ...] = (
    ("memory, idle", memory_idle),
    ("CREATE pod", create),
    ("GET one object, consistent", get_consistent),
    ("GET one object, resourceVersion=0", get_cached),
    ("GET, one client", get_alone),
    ("CREATE, one client", create_alone),
    ("LIST of all pods", list_all),
    ("LIST page of 500", list_page),
    ("LIST by label, one in 50", list_by_label),
    ("Table of 500", table),
    ("merge PATCH of a pod", merge_patch),
    ("server-side apply of a ConfigMap", apply),
    ("event to one of 500 watchers", watch_fan_out),
    ("memory, all pods", memory_full),
    ("CREATE a custom kind", custom_kinds),
    ("first CREATE after a kind has changed", changed_kind),
    ("CREATE with 20 rules (cel)", ruled_kind),
    # The last one: the memory that it frees would be missing in the rows above.
    ("event to one of 5,000 watchers", many_watchers),
)
