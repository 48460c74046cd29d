"""The same operations of one API server on each store: embedded, served on a Unix socket, etcd. CPU of the store's
process counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.api_rows import API_ROWS
from benchmarks.bench import Bench
from benchmarks.load import cpu
from benchmarks.starting import Server
from orchd.testing.processes.etcd import Etcd, find_etcd
from orchd.testing.processes.served_store import ServedStore

_ROWS = (
    *("CREATE pod", "GET one object, consistent", "GET, one client", "CREATE, one client"),
    *("merge PATCH of a pod", "event to one of 500 watchers"),
)
_FLAGS = ("--scheduler=false", "--feature-gates=CustomResourceValidationExpressions=true")


@contextmanager
def _running(server: Etcd) -> Iterator[int]:
    """The process of a store, while the block runs."""
    server.start()
    try:
        assert server.pid is not None
        yield server.pid
    finally:
        server.kill()


def _measure(bench: Bench, name: str, folder: Path, store: int | None, *flags: str) -> None:
    server = Server(folder, *_FLAGS, *flags)
    try:
        server.start()
        bench.target, bench.pids = server.target, [server.pid, *([] if store is None else [store])]
        for label, measure in API_ROWS:
            if label in _ROWS:
                before = 0.0 if store is None else cpu(store)
                spent, note = measure(bench)
                own = "" if store is None else f"; {cpu(store) - before:.2f} s of the row in the store"
                bench.show(f"{name}: {label}", spent, note + own)
    finally:
        server.stop()


def served_rows(bench: Bench) -> None:
    """See the module."""
    folder = bench.folder
    _measure(bench, "embedded", folder / "embedded", None)
    served = ServedStore(folder / "store")
    with _running(served) as pid:
        _measure(bench, "served", folder / "served", pid, f"--etcd-servers={served.socket}")
    program = find_etcd()
    if program is not None:
        etcd = Etcd(program, folder / "etcd")
        with _running(etcd) as pid:
            _measure(bench, "etcd", folder / "on-etcd", pid, f"--etcd-servers={etcd.url}")
