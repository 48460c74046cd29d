"""A daemon on a full disk reports it, continues to serve reads, and recovers by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.processes.daemon import DaemonProcess
from tests.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounting.returncode:
        pytest.skip(f"cannot mount a small file system here: {mounting.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def write(server: DaemonProcess, name: str, size: int = 10) -> tuple[int, Any]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": "x" * size}}
    return server.request("POST", MAPS, body)


def rejection(response: tuple[int, Any]) -> str:
    """The message of a write that the store could not apply."""
    code, body = response
    assert (code, body["kind"], body["status"], body["reason"]) == (500, "Status", "Failure", "InternalError")
    message: str = body["message"]
    return message


def check_trouble(server: DaemonProcess) -> None:
    """Readiness fails on the store's check; liveness and reads do not fail."""
    code, text = server.request("GET", "/readyz")
    assert (code, "[-]etcd failed: reason withheld" in text) == (500, True)
    assert "[+]ping ok" in text
    assert server.request("GET", "/readyz/etcd")[0] == 500
    assert server.request("GET", f"{MAPS}/before")[0] == 200
    code, listed = server.request("GET", f"{MAPS}?limit=1")
    assert (code, listed["kind"]) == (200, "ConfigMapList")
    text = server.request("GET", "/metrics")[1]
    failed = next(line for line in text.splitlines() if line.startswith("orchd_store_failed_commits_total "))
    assert float(failed.split()[1]) >= 1


def test_full_disk_stops_writes_only(disk: Path) -> None:
    """Writes are 500 with the reason, reads continue, /readyz fails on the etcd check; with free space again writes
    succeed, and rejected ones were not applied."""
    with DaemonProcess(disk, "--controllers=-*", environment={"HOME": str(disk)}) as server:
        assert write(server, "before")[0] == 201
        room = os.statvfs(disk)
        filler = disk / "filler"
        with filler.open("wb") as file:
            file.write(b"\0" * (room.f_bavail * room.f_bsize - 300_000))
        number, response = 0, write(server, "big-0", 100_000)
        while response[0] == 201:
            number += 1
            assert number < 200
            response = write(server, f"big-{number}", 100_000)
        assert "full" in rejection(response)
        check_trouble(server)
        revision = server.request("GET", MAPS)[1]["metadata"]["resourceVersion"]
        assert "full" in rejection(write(server, f"big-{number}", 100_000))
        assert server.request("GET", MAPS)[1]["metadata"]["resourceVersion"] == revision
        filler.unlink()
        until(lambda: server.request("GET", "/readyz") == (200, "ok"))
        assert write(server, f"big-{number}", 100_000)[0] == 201
        assert server.request("GET", f"{MAPS}/big-{number}")[0] == 200
        # All writes exist after a restart.
        server.kill()
        server.start()
        names = [item["metadata"]["name"] for item in server.request("GET", MAPS)[1]["items"]]
        assert {"before", *(f"big-{i}" for i in range(number + 1))} <= set(names)
