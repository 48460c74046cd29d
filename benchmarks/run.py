"""Prints the table: the server's CPU per operation, in microseconds and in units of a bare GET of the same run.

``python -m benchmarks.run`` measures everything, with a server that it starts itself in a temporary folder: bare, our
HTTP layer, fan-out, the store and the cache, starts with many objects on disk, the scheduler, the controllers,
expressions, the API. It takes some ten minutes. ``--only TEXT`` chooses rows by name or by group (``bare static fan-out
store starts served processes scaling scheduler controllers cel api``), ``--pods N`` the size of the lists, ``--scale
F`` how often things are done (0.1 for a quick look), ``--disk FOLDER`` where the data is. ``--url
https://127.0.0.1:6443 --token T --pid P`` measures a running API server instead, and only that (P: its process; several
with commas, for a store of its own); ``--start 'COMMAND'`` starts that server and measures the time until it is ready.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.api_rows import API_ROWS
from benchmarks.bench import Bench
from benchmarks.cel_rows import cel_rows
from benchmarks.controller_rows import controller_rows
from benchmarks.load import Connection, Target, Watchers, cpu, resident, run
from benchmarks.process_rows import process_rows
from benchmarks.scaling_rows import scaling_rows
from benchmarks.scheduler_rows import scheduler_rows
from benchmarks.served_rows import served_rows
from benchmarks.starting import Server, start_rows, wait_ready
from orchd.dialect import ORCH
from orchd.pki.bootstrap import Files, ensure

#: How often bare is measured again: the machine's speed depends on its other load.
_ROUNDS = 3


@contextmanager
def program(module: str, files: Files, *more: str) -> Iterator[tuple[Target, int]]:
    """A server from this folder, while the block runs."""
    command = [sys.executable, "-m", module, str(files.serving_certificate), str(files.serving_key), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield Target(host="127.0.0.1", port=port, token="t" * 40, authority=str(files.ca_certificate)), process.pid
        finally:
            process.terminate()


def _gets(target: Target, pid: int, count: int) -> tuple[float, float]:
    request = target.request("GET", "/api/v1/namespaces/default/pods/p")
    run(target, [pid], lambda _: request, count // 4)
    best = min((run(target, [pid], lambda _: request, count) for _ in range(_ROUNDS)), key=lambda got: got.cpu)
    return best.cpu, best.rate


def bare(bench: Bench) -> None:
    with program("benchmarks.bare", bench.files) as (target, pid):
        spent, rate = _gets(target, pid, bench.times(8000))
        bench.bare = spent
        bench.show("bare twisted.web, GET of 2 KB", spent, f"{rate:.0f}/s")


def static(bench: Bench) -> None:
    for label, more in (("our HTTP, Twisted's TLS, GET of 2 KB", ["plain"]), ("our HTTP and TLS, GET of 2 KB", [])):
        with program("benchmarks.static", bench.files, *more) as (target, pid):
            spent, rate = _gets(target, pid, bench.times(8000))
            bench.show(label, spent, f"{rate:.0f}/s")


def fan_out(bench: Bench) -> None:
    for label, more in (("frame to one of 500, Twisted's TLS", ["plain"]), ("frame to one of 500, our TLS", [])):
        with program("benchmarks.static", bench.files, *more) as (target, pid):
            watchers = Watchers(target, "/stream", 500)
            try:
                count = bench.times(40)
                connection = Connection(target)
                connection.ask(target.request("GET", "/fan?count=5"))
                before = cpu(pid)
                _, body = connection.ask(target.request("GET", f"/fan?count={count}"))
                whole = (cpu(pid) - before) / (count * 500)
                note = f"with the reactor's part {whole * 1e6:.1f} us; {resident(pid):.0f} MB"
                bench.show(label, float(body) / 1e6, note)
            finally:
                watchers.stop()


Row = tuple[str, Callable[[Bench], None]]


def store(bench: Bench) -> None:
    """Benchmarks of the store and the cache alone, in a separate process."""
    command = [sys.executable, "-m", "benchmarks.bench_store", str(bench.folder), str(bench.scale)]
    subprocess.run(command, check=True)


OWN_ROWS: tuple[Row, ...] = (
    ("bare", bare),
    ("static", static),
    ("fan-out", fan_out),
    ("store", store),
    ("starts", start_rows),
    ("served", served_rows),
    ("processes", process_rows),
    ("scaling", scaling_rows),
    ("scheduler", scheduler_rows),
    ("controllers", controller_rows),
    ("cel", cel_rows),
)


def _start(command: str, target: Target) -> tuple[subprocess.Popen[bytes], float]:
    """Start a server by its command; returns it and the seconds until it is ready."""
    began = time.monotonic()
    process = subprocess.Popen(shlex.split(command))
    return process, wait_ready(process, target, began)


def _api(bench: Bench, only: str) -> dict[str, float | None]:
    """The rows for an API server; CPU seconds by row."""
    figures = {}
    for label, measure in API_ROWS:
        if only in ("", "api") or only in label:
            spent, note = measure(bench)
            figures[label] = spent
            bench.show(label, spent, note)
    return figures


def _given(bench: Bench, chosen: argparse.Namespace) -> dict[str, float | None]:
    """Measure the server at --url."""
    parts = urlsplit(chosen.url)
    bench.target = target = Target(
        host=parts.hostname or "127.0.0.1", port=parts.port or 443, token=chosen.token, authority=chosen.authority
    )
    process = None
    if chosen.start:
        process, seconds = _start(chosen.start, target)
        bench.show("start to ready", None, f"{seconds:.2f} s")
    bench.pids = [int(pid) for pid in chosen.pid.split(",") if pid] or ([process.pid] if process else [])
    try:
        return _api(bench, chosen.only)
    finally:
        if process is not None:
            process.terminate()
            process.wait()


def _own(bench: Bench, only: str) -> dict[str, float | None]:
    """Measure a server that is started for the run."""
    if only not in ("", "api") and not any(only in label for label, _ in API_ROWS):
        return {}
    server = Server(
        bench.folder / "api", "--scheduler=false", "--feature-gates=CustomResourceValidationExpressions=true"
    )
    try:
        server.start()
        bench.target, bench.pids = server.target, [server.pid]
        return _api(bench, only)
    finally:
        server.stop()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--url", default="", help="a server that is there, or that --start starts")
    options.add_argument("--token", default=os.environ.get("BENCH_TOKEN", ""), help="bearer token (or $BENCH_TOKEN)")
    options.add_argument("--authority", default="", help="PEM file of the server's authority")
    options.add_argument("--pid", default="", help="processes whose CPU counts")
    options.add_argument("--start", default="", help="command that starts the server; needs --url")
    options.add_argument("--only", default="", help="part of the names of the rows to measure, or a group")
    options.add_argument("--pods", type=int, default=5000, help="how many pods the lists have (default %(default)s)")
    options.add_argument("--scale", type=float, default=1.0, help="times everything is done, as a factor")
    options.add_argument(
        "--clients", type=int, default=0, help="connections that send GETs, creates, patches (default: 4 or 8)"
    )
    options.add_argument("--disk", default=None, help="folder for data, on the disk that counts (default: temporary)")
    options.add_argument("--json", default="", help="file that gets what the API rows measured")
    chosen = options.parse_args()
    print(f"{'':44} {'CPU':>12} {'bare':>8}", flush=True)
    with tempfile.TemporaryDirectory(dir=chosen.disk) as name:
        folder = Path(name)
        files = ensure(folder / "d", dialect=ORCH, server_url="https://localhost", now=datetime.now(UTC))
        bench = Bench(files=files, scale=chosen.scale, pods=chosen.pods, folder=folder, clients=chosen.clients)
        groups = {group for group, _ in OWN_ROWS}
        for group, row in OWN_ROWS:
            # All figures are in units of bare, so it is always measured.
            if group == "bare" or (not chosen.url and chosen.only in ("", group)):
                row(bench)
        figures = {}
        if chosen.only not in groups:
            figures = _given(bench, chosen) if chosen.url else _own(bench, chosen.only)
        if chosen.json:
            Path(chosen.json).write_text(json.dumps({"bare": bench.bare, "rows": figures}, indent=1))


if __name__ == "__main__":
    main()
