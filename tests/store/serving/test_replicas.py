"""API servers that share a served store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchd.testing.processes.daemon import DaemonProcess
from orchd.testing.processes.served_store import ServedStore
from tests.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"
#: Kills of the store while both servers write.
ROUNDS = 3


def test_replicas_on_the_folder_of_a_single_server(tmp_path: Path) -> None:
    """Two servers go on with the objects of a server that used the folder by itself; it does so after them; a killed
    store costs no acknowledged write."""
    alone = DaemonProcess(tmp_path / "alone")
    with alone as server:
        code, created = server.request("POST", MAPS, {"metadata": {"name": "a"}})
        assert code == 201
    store = ServedStore(tmp_path / "served")
    store._directory.mkdir()
    store.data.symlink_to(tmp_path / "alone" / "data")
    store.start()
    flags = (f"--etcd-servers={store.socket}", "--etcd-prefix=/")
    try:
        with DaemonProcess(tmp_path / "one", *flags) as one, DaemonProcess(tmp_path / "two", *flags) as two:
            assert one.request("GET", f"{MAPS}/a") == two.request("GET", f"{MAPS}/a") == (200, created)
            code, changed = one.request("PUT", f"{MAPS}/a", {**created, "data": {"x": "1"}})
            assert code == 200 and two.request("GET", f"{MAPS}/a") == (200, changed)
            assert two.request("PUT", f"{MAPS}/a", {**created, "data": {"x": "2"}})[0] == 409
            acknowledged = _write_during_kills((one, two), store)
            for server in (one, two):
                until(lambda server=server: server.request("GET", "/readyz")[0] == 200)  # type: ignore[misc]  # bound now
                assert _names(server) >= acknowledged
    finally:
        store.kill()
    with alone as server:
        assert _names(server) >= acknowledged


def _write_during_kills(servers: tuple[DaemonProcess, DaemonProcess], store: ServedStore) -> set[str]:
    """The names of objects whose creation was acknowledged while the store was killed several times."""
    stop = threading.Event()

    def write(number: int) -> set[str]:
        written: set[str] = set()
        count = 0
        while not stop.is_set():
            name = f"w{number}-{count}"
            count += 1
            if servers[number % 2].request("POST", MAPS, {"metadata": {"name": name}})[0] == 201:
                written.add(name)
        return written

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(write, number) for number in range(4)]
        try:
            for _ in range(ROUNDS):
                stop.wait(0.5)
                store.kill()
                store.start()
                until(lambda: servers[0].request("GET", "/readyz")[0] == 200)
        finally:
            stop.set()
        acknowledged = set[str]().union(*(each.result() for each in running))
    assert acknowledged
    return acknowledged


def _names(server: DaemonProcess) -> set[str]:
    code, config_maps = server.request("GET", MAPS)
    assert code == 200
    return {item["metadata"]["name"] for item in config_maps["items"]}
