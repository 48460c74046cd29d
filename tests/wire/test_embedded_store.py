"""The embedded store of a server process: failed starts, bounds, and disk errors."""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.testing.processes.daemon import DaemonProcess, exchange
from tests.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"


def write(server: DaemonProcess, name: str, size: int = 10) -> tuple[int, Any]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": "x" * size}}
    return server.request("POST", MAPS, body)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a stopped server, to be copied."""
    with DaemonProcess(tmp_path_factory.mktemp("kept"), "--controllers=-*") as server:
        for number in range(20):
            assert write(server, f"m{number}", 2000)[0] == 201
    return server.data


def damaged(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096 * 2 : 4096 * 10] = os.urandom(4096 * 8)
    file.write_bytes(data)


def newer(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 1000")
    connection.close()


def foreign(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def text(file: Path) -> None:
    file.write_text("not a database\n" * 1000)


def headless(file: Path) -> None:
    file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damaged, r"is damaged .*restore a backup in its place"),
        (headless, "is damaged|another program"),
        (newer, "has schema version 1000 and this release knows 3: either a newer release wrote it, then run that one"),
        (foreign, "is a database of another program: give the store a file of its own"),
        (text, "is damaged"),
    ],
)
def test_unusable_store_ends_the_start(kept: Path, tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    """A store that cannot be opened ends the start with status 1 and a last line that says what to do; the file is not
    changed."""
    shutil.copytree(kept, tmp_path / "data")
    server = DaemonProcess(tmp_path, "--controllers=-*")
    file = server.data / "store.sqlite"
    spoil(file)
    before = file.read_bytes()
    server.launch()
    assert server.wait() == 1
    assert re.search(f"the server cannot continue: .*({message})", server.log)
    assert file.read_bytes() == before


def generated(data: Path) -> dict[Path, bytes]:
    """The files that a server generates besides its store."""
    return {
        path: path.read_bytes() for path in data.rglob("*") if path.is_file() and not path.name.startswith("store.")
    }


def test_store_is_locked_by_one_server(tmp_path: Path) -> None:
    """A second server on the folder fails with the process id of the first, which continues and keeps its files. A
    killed one holds no lock."""
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        before = generated(server.data)
        second = DaemonProcess(tmp_path / "second", "--controllers=-*", f"--data-dir={server.data}")
        second.launch()
        assert second.wait() == 1
        assert f"is in use by another process (process {server.pid}): stop that process" in second.log
        assert generated(server.data) == before
        assert write(server, "a")[0] == 201
        server.kill()
        server.start()
        assert server.request("GET", f"{MAPS}/a")[0] == 200


def test_store_of_the_other_dialect_is_refused(tmp_path: Path) -> None:
    """A store has one dialect for its lifetime."""
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        pass
    other = DaemonProcess(tmp_path, "--controllers=-*", dialect=KUBERNETES)
    before = generated(server.data)
    other.launch()
    assert other.wait() == 1
    assert generated(server.data) == before
    assert f"was made with --dialect={server.dialect.name} and cannot be served with" in other.log
    with server:
        assert write(server, "a")[0] == 201


def test_failing_disk_refuses_writes_only(tmp_path: Path) -> None:
    """Writes are 500 with the reason, readiness fails, reads continue; the store recovers without a restart, and
    rejected writes were not applied."""
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        assert write(server, "before")[0] == 201
        # No file of the process can grow.
        _, most = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1024, most))
        code, response = write(server, "meanwhile")
        assert (code, response["kind"], response["reason"]) == (500, "Status", "InternalError")
        assert "the store cannot write" in response["message"]
        code, checks = server.request("GET", "/readyz")
        assert (code, "[-]etcd failed" in checks) == (500, True)
        assert server.request("GET", f"{MAPS}/before")[0] == 200
        assert server.request("GET", f"{MAPS}/meanwhile")[0] == 404
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, most))
        until(lambda: server.request("GET", "/readyz") == (200, "ok"))
        assert write(server, "meanwhile")[0] == 201
        server.kill()
        server.start()
        assert {item["metadata"]["name"] for item in server.request("GET", MAPS)[1]["items"]} >= {"before", "meanwhile"}


@pytest.mark.parametrize(
    ("size", "named"),
    [("12k", "pki/"), ("64k", "store.sqlite: "), ("100k", "store.sqlite: ")],
    ids=["certificates", "journal", "contents"],
)
def test_first_start_on_a_full_disk_names_the_file(tmp_path: Path, size: str, named: str) -> None:
    """Wherever a first start runs out of space, its last words name the file and the reason, and it succeeds when there
    is space."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True
    ).returncode:
        pytest.skip("no right to mount a small disk")
    try:
        # The log is on another disk.
        server = DaemonProcess(tmp_path, "--controllers=-*")
        server.data = folder / "data"
        server.launch()
        assert server.wait() == 1
        last = server.log.strip().splitlines()[-5:]
        assert any(
            f"{folder}/data" in line and named in line and re.search("[nN]o space|is full", line) for line in last
        ), last
        assert not (folder / "data" / "store.sqlite").exists()
        subprocess.run(["mount", "-o", "remount,size=16m", str(folder)], check=True)
        with server:
            assert write(server, "a")[0] == 201
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def rows(server: DaemonProcess) -> tuple[int, int]:
    """The number of writes in the file, and its oldest readable version."""
    connection = sqlite3.connect(f"file:{server.data}/store.sqlite?mode=ro", uri=True)
    try:
        (count,) = connection.execute("SELECT count(*) FROM log").fetchone()
        (compacted,) = connection.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'compacted'").fetchone()
        return count, compacted
    finally:
        connection.close()


def test_history_is_bounded_by_time(tmp_path: Path) -> None:
    """History older than --history-duration is deleted, and the space is returned to the file system."""
    with DaemonProcess(
        tmp_path, "--controllers=-*", "--history-duration=1s", "--etcd-compaction-interval=1s"
    ) as server:
        file = server.data / "store.sqlite"
        for number in range(30):
            assert write(server, f"m{number}", 500_000)[0] == 201
        for number in range(30):
            assert server.request("DELETE", f"{MAPS}/m{number}")[0] == 200
        version = int(server.request("GET", MAPS)[1]["metadata"]["resourceVersion"])
        until(lambda: rows(server)[1] >= version)
        until(lambda: file.stat().st_size < 4_000_000)
        assert write(server, "after")[0] == 201


def test_history_is_bounded_by_number(tmp_path: Path) -> None:
    """At most --history-events changes are kept (and a quarter more until they are deleted), however recent."""
    with DaemonProcess(tmp_path, "--controllers=-*", "--history-events=100") as server:
        assert write(server, "a")[0] == 201
        before = rows(server)[0]
        with closing(server.connect()) as connection:
            for number in range(400):
                body = {"metadata": {"name": "a"}, "data": {"v": str(number)}}
                assert exchange(connection, "PUT", f"{MAPS}/a", body)[0] == 200
        version = int(server.request("GET", MAPS)[1]["metadata"]["resourceVersion"])
        until(lambda: version - rows(server)[1] <= 125)
        until(lambda: rows(server)[0] <= before + 130)
        assert server.request("GET", f"{MAPS}/a")[1]["data"] == {"v": "399"}
