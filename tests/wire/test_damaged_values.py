"""A server on a partly damaged store: its responses, and the repair."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from orchd.storecommands import main
from orchd.testing.processes.daemon import DaemonProcess
from tests.waiting import until
from tests.wire.test_history_disk_full import MAPS, disk, write

__all__ = ["disk"]


def change(server: DaemonProcess, statement: str) -> None:
    connection = sqlite3.connect(server.data / "store.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("value", ['\'{"kind":"ConfigMap"\'', "replace(CAST(value AS TEXT), 'xxx', 'xxy')", "X'00ff'"])
def test_damaged_value_is_500_and_everything_else_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    """GETs and lists that include the object are 500 and name the key, everything else is served, the check finds it,
    and a DELETE removes it; only written values are ever sent."""
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        assert write(server, "bad")[0] == write(server, "good")[0] == 201
        server.terminate()
        change(server, f"UPDATE log SET value = {value} WHERE key = '/configmaps/default/bad'")
        assert main(["check", f"--data-dir={server.data}"]) == 1
        assert "/configmaps/default/bad" in capsys.readouterr().err
        server.start()
        for method, url in (
            ("GET", f"{MAPS}/bad"), ("GET", MAPS), ("GET", "/api/v1/configmaps"), ("GET", f"{MAPS}?limit=1"),
            ("GET", f"{MAPS}?resourceVersion=0"), ("PUT", f"{MAPS}/bad"), ("DELETE", MAPS),
        ):  # fmt: skip
            body = {"metadata": {"name": "bad"}} if method == "PUT" else None
            code, response = server.request(method, url, body)
            assert code == 500 and "/configmaps/default/bad" in response["message"], (method, url, response)
        assert server.request("GET", f"{MAPS}/good")[0] == 200
        assert server.request("GET", "/api/v1/namespaces/other/configmaps")[0] == 200
        assert server.request("GET", "/api/v1/namespaces/default/secrets")[0] == 200
        code, watched = server.request("GET", f"{MAPS}?watch=1&timeoutSeconds=1")
        assert '"ERROR"' in str(watched).replace("'", '"') and "/configmaps/default/bad" in str(watched)
        assert "/configmaps/default/bad" in server.log
        assert 'orchd_cache_unreadable{resource="configmaps"} 1' in server.request("GET", "/metrics")[1]
        assert server.request("GET", "/readyz") == (200, "ok")
        assert "warn: 1 stored value cannot be read" in server.request("GET", "/readyz?verbose")[1]
        assert write(server, "bad")[0] == 409
        code, response = server.request("DELETE", f"{MAPS}/bad")
        assert (code, response["status"]) == (200, "Success")
        assert {item["metadata"]["name"] for item in server.request("GET", MAPS)[1]["items"]} >= {"good"}
        assert write(server, "bad")[0] == 201
        assert "warn:" not in server.request("GET", "/readyz?verbose")[1]


def test_salvaged_store_reuses_no_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server whose database is missing starts only after the loss is accepted, and then gives out no version
    twice."""
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        version = int(write(server, "a")[1]["metadata"]["resourceVersion"])
        server.kill()
        for file in server.data.glob("store.sqlite*"):
            file.unlink()
        server.launch()
        assert server.wait() == 1
        assert f"orchd-store salvage --data-dir={server.data}" in server.log
        assert main(["salvage", f"--data-dir={server.data}"]) == 0
        assert "writes that cannot be counted" in capsys.readouterr().out
        server.start()
        assert server.request("GET", f"{MAPS}/a")[0] == 404
        assert int(write(server, "a")[1]["metadata"]["resourceVersion"]) > version


def test_start_on_a_full_disk(disk: Path) -> None:
    """Reads are served, writes and readiness report the store, and it recovers without a restart."""
    with DaemonProcess(disk, "--controllers=-*", environment={"HOME": str(disk)}) as server:
        assert write(server, "before")[0] == 201
        server.terminate()
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                pass
        server.launch()

        def readable() -> bool:
            try:
                return server.request("GET", f"{MAPS}/before")[0] == 200
            except OSError:
                assert server.status is None, server.log[-3000:]
                return False

        until(readable, lambda: server.log[-3000:])
        code, response = write(server, "meanwhile")
        assert code == 500 and f"{server.data}/store.sqlite" in response["message"]
        assert server.request("GET", "/readyz")[0] == 500
        filler.unlink()
        until(lambda: server.request("GET", "/readyz") == (200, "ok"))
        assert write(server, "meanwhile")[0] == 201
