"""The same operations of a server in one process and with --processes=2, each figure with the CPU of all its
processes."""

from __future__ import annotations

from benchmarks.api_rows import API_ROWS
from benchmarks.bench import Bench
from benchmarks.controller_rows import rollout
from benchmarks.load import resident
from benchmarks.starting import Server

_ROWS = ("GET one object, consistent", "CREATE pod", "merge PATCH of a pod", "event to one of 500 watchers")
_FLAGS = ("--scheduler=false", "--feature-gates=CustomResourceValidationExpressions=true")


def _measure(bench: Bench, count: int) -> None:
    name = f"{count} process" if count == 1 else f"{count} processes"
    server = Server(bench.folder / name.replace(" ", "-"), *_FLAGS, f"--processes={count}")
    try:
        bench.show(f"{name}: start to ready", None, f"{server.start():.2f} s")
        bench.target, bench.pids = server.target, server.pids
        for label, measure in API_ROWS:
            if label in _ROWS:
                spent, note = measure(bench)
                bench.show(f"{name}: {label}", spent, note)
        sizes = ", ".join(f"{resident(pid):.0f}" for pid in server.pids)
        bench.show(f"{name}: memory after these rows", None, f"{sizes} MB")
    finally:
        server.stop()


def process_rows(bench: Bench) -> None:
    """See the module."""
    for count in (1, 2):
        _measure(bench, count)
    for count in (1, 2):
        rollout(bench, f"--processes={count}")
