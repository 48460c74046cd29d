"""`orchd-store serve` as a process, with etcd's own client and with API servers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import DeferredLock

from orchd import storecommands
from orchd.store.etcd.servers import make_servers
from orchd.store.etcd.store import EtcdOptions, EtcdStore
from orchd.store.interfaces import UnavailableError
from orchd.testing.contracts.store import outcomes, present
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.served_store import ServedStore

Etcdctl = Callable[..., str]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedStore]:
    server = ServedStore(tmp_path / "s")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def etcdctl(served: ServedStore) -> Etcdctl:
    """Runs etcd's command line on the Unix socket; returns its output, and of failures what it says."""
    program = shutil.which("etcdctl")
    if program is None:
        pytest.skip("no etcdctl on the path (Debian: etcd-client)")

    def run(*words: str, text: str = "") -> str:
        done = subprocess.run(
            [program, f"--endpoints={served.socket}", *words], input=text, capture_output=True, text=True, check=False,
            env={**os.environ, "ETCDCTL_API": "3"},
        )  # fmt: skip
        return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"

    return run


def test_etcdctl(served: ServedStore, etcdctl: Etcdctl) -> None:
    """etcd's command line reads and writes, in transactions and with leases, and gets etcd's errors."""
    assert etcdctl("put", "a", "1") == "OK\n"
    assert etcdctl("put", "a", "2", "--prev-kv") == "OK\na\n1\n"
    assert etcdctl("get", "a") == "a\n2\n"
    assert etcdctl("txn", text='ver("a") = "2"\n\nput b 1\nput c 1\nget a\n\n\n\n').startswith("SUCCESS")
    document = json.loads(etcdctl("get", "--prefix", "", "-w", "json"))
    revisions = {kv["key"]: kv["mod_revision"] for kv in document["kvs"]}
    assert revisions["Yg=="] == revisions["Yw=="] == document["header"]["revision"]
    lease = etcdctl("lease", "grant", "600").split()[1]
    assert etcdctl("put", "d", "1", f"--lease={lease}") == "OK\n"
    assert "attached keys([d])" in etcdctl("lease", "timetolive", lease, "--keys")
    assert "keepalived" in etcdctl("lease", "keep-alive", "--once", lease)
    assert "revoked" in etcdctl("lease", "revoke", lease)
    assert etcdctl("get", "d") == ""
    assert etcdctl("del", "--prefix", "c") == "1\n"
    assert "compacted revision" in etcdctl("compaction", str(document["header"]["revision"]))
    assert "required revision has been compacted" in etcdctl("get", "a", "--rev=2")
    assert "3.5" in etcdctl("endpoint", "status")
    assert served.socket in etcdctl("member", "list")
    assert "Unimplemented" in etcdctl("user", "list") and "Unimplemented" in etcdctl("defrag")


def test_leases_survive_a_kill(served: ServedStore, etcdctl: Etcdctl) -> None:
    """After a kill a lease runs with its whole time, and its keys are attached to it."""
    lease = etcdctl("lease", "grant", "600").split()[1]
    etcdctl("put", "a", "1", f"--lease={lease}")
    served.kill()
    served.start()
    assert "attached keys([a])" in etcdctl("lease", "timetolive", lease, "--keys")
    assert "revoked" in etcdctl("lease", "revoke", lease)
    assert etcdctl("get", "a") == ""


def test_stops_in_order(served: ServedStore) -> None:
    """SIGTERM ends the process with status 0, and its socket goes with it."""
    assert (served.data / "store.sock").stat().st_mode & 0o777 == 0o600
    assert served.stop(signal.SIGTERM) == 0
    assert not (served.data / "store.sock").exists()
    assert "stopped at revision 2" in served.log.read_text()


def store_at(url: str) -> EtcdStore:
    options = EtcdOptions(prefix="/", timeout=PATIENCE, health_timeout=PATIENCE, start_timeout=PATIENCE)
    return EtcdStore(reactor, make_servers(reactor, [url]), dialect_name="orch", options=options, random=Random(1))


async def create_and_crash(served: ServedStore, store: EtcdStore, key: str, crashing: DeferredLock) -> int:
    """The revision of a created key; the first that is acknowledged while nobody crashes the store kills and restarts
    it."""
    revision = await store.create(key, b"1")
    if not crashing.locked:
        await crashing.acquire()
        served.kill()
        served.start()
    return revision


@pytest_twisted.ensureDeferred
async def test_no_acknowledged_write_is_lost(served: ServedStore) -> None:
    """Writes that were acknowledged before a kill are there afterwards, through the socket, and clients go on by
    themselves."""
    store = store_at(served.socket)
    await store.start()
    acknowledged: dict[str, int] = {}
    for round_ in range(3):
        keys = [f"/{round_}/{number}" for number in range(200)]
        crashing = DeferredLock()
        results = await outcomes([create_and_crash(served, store, key, crashing) for key in keys])
        for key, result in zip(keys, results, strict=True):
            if isinstance(result, int):
                acknowledged[key] = result
            else:
                assert isinstance(result, UnavailableError)
    for key, revision in acknowledged.items():
        assert (await present(store, key)).revision == revision
    assert acknowledged
    await store.stop()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--listen=127.0.0.1"], "--listen: '127.0.0.1' is not HOST:PORT"),
        (["--listen=there:1"], "--listen: 'there:1' is not HOST:PORT"),
        (["--listen=127.0.0.1:99999"], "is not HOST:PORT"),
        (["--listen"], "--listen needs a value"),
        (["--listen=0.0.0.0:1"], "--listen: 0.0.0.0 can be reached from other machines"),
        (["--listen=127.0.0.1:1", "--client-ca-file=x"], "--client-ca-file needs --tls-cert-file"),
        (["--listen=127.0.0.1:1", "--tls-cert-file=x", "--tls-private-key-file=x"], "--tls-cert-file needs --client-ca-file"),
        (["--listen=127.0.0.1:1", "--tls-cert-file=x", "--tls-private-key-file=x", "--client-ca-file=x"],
         "--tls-cert-file: x: "),
    ],
)  # fmt: skip
def test_refused_flags(flags: list[str], text: str, tmp_path: Path, capsys: Any) -> None:
    """What cannot be served as asked is refused, by the name of the flag, before the store is opened."""
    assert storecommands.main(["serve", f"--data-dir={tmp_path}/d", *flags]) != 0
    assert text in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--etcd-servers=http://127.0.0.1:1", "etcd is served by itself"),
        ("--encryption-provider-config=x", "--encryption-provider-config is for API servers"),
    ],
)
def test_flags_of_other_stores_are_refused(flag: str, text: str, tmp_path: Path) -> None:
    """The served store is the embedded one, and has no keys for values."""
    done = subprocess.run(
        [sys.executable, "-m", "orchd.storecommands", "serve", f"--data-dir={tmp_path}/d", flag],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and text in done.stderr
