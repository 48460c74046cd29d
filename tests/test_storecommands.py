"""`orchd-store` commands, as processes beside running servers."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.store.export import Content, write_file
from orchd.store.interfaces import KeyValue
from orchd.storecommands import main
from orchd.testing.processes.daemon import DaemonProcess
from orchd.testing.processes.etcd import Etcd
from tests.etcd import running_etcd
from tests.programs import run_program

MAPS = "/api/v1/namespaces/default/configmaps"
SECRET = "not to be read by anybody"


def command(*words: str | Path, outside: bool = False) -> tuple[int, str, str]:
    """Status, standard output and standard error of one command, which runs as a process where it must."""
    arguments = list(map(str, words))
    if not outside:
        out, error = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(error):
            return main(arguments), out.getvalue(), error.getvalue()
    done = run_program("orchd.storecommands:main", "orchd-store", *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def run_command(*words: str | Path, outside: bool = False) -> str:
    status, out, error = command(*words, outside=outside)
    assert (status, error) == (0, ""), error
    return out


def failing_command(*words: str | Path, status: int = 1, outside: bool = False) -> str:
    exit_status, out, error = command(*words, outside=outside)
    assert (exit_status, out) == (status, "")
    assert len(error.splitlines()) == 1
    assert error.startswith("orchd-store: ")
    return error


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def names(server: DaemonProcess, url: str = MAPS) -> dict[str, str]:
    """Name and version of all objects."""
    metadata = [item["metadata"] for item in server.request("GET", url)[1]["items"]]
    return {each["name"]: each["resourceVersion"] for each in metadata}


@contextmanager
def writing(server: DaemonProcess, number: int) -> Iterator[list[list[str]]]:
    """Starts writers that create one object after the other; returns the acknowledged names by writer."""
    stop = threading.Event()
    written: list[list[str]] = [[] for _ in range(number)]

    def write(writer: int) -> None:
        connection = server.connect()
        while not stop.is_set():
            name = f"w{writer}-{len(written[writer]):05}"
            body = json.dumps(config(name, v="x" * 500))
            connection.request("POST", MAPS, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status == 201
            written[writer].append(name)
        connection.close()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield written
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def encryption(tmp_path: Path) -> Path:
    """A file for --encryption-provider-config."""
    file = tmp_path / "encryption.yaml"
    file.write_text(
        f"apiVersion: {ORCH('apiserver.config.{abbr}.io/v1')}\nkind: EncryptionConfiguration\nresources:\n"
        "- resources: [secrets]\n  providers:\n  - aesgcm:\n      keys:\n"
        f"      - {{name: one, secret: {base64.b64encode(b'k' * 32).decode()}}}\n"
    )
    return file


def test_backup_under_load_has_every_acknowledged_write(tmp_path: Path, encryption: Path) -> None:
    """A backup under load has every write that was acknowledged before it began and, of each writer, all writes up to
    some point. A restored server answers older resource versions with 410. Encrypted values stay encrypted in the
    backup."""
    flags = ("--controllers=-*", f"--encryption-provider-config={encryption}")
    copy = tmp_path / "backups" / "monday"
    copy.parent.mkdir()
    with DaemonProcess(tmp_path / "server", *flags) as server:
        secret = {"metadata": {"name": "s"}, "stringData": {"v": SECRET}}
        code, secret = server.request("POST", "/api/v1/namespaces/default/secrets", secret)
        assert code == 201
        with writing(server, 4) as written:
            while min(map(len, written)) < 20:
                threading.Event().wait(0.05)
            before = [len(each) for each in written]
            said = run_command("backup", f"--data-dir={server.data}", copy, outside=True)
            assert said.startswith(f"{copy}: ")
            while min(map(len, written)) < max(before) + 20:
                threading.Event().wait(0.05)
        version = server.request("GET", MAPS)[1]["metadata"]["resourceVersion"]
        # An existing file is never overwritten.
        assert "exists" in failing_command("backup", f"--data-dir={server.data}", copy, outside=True)
        assert "there is no folder" in failing_command(
            "backup", f"--data-dir={server.data}", server.data / "none/copy", outside=True
        )
        # The store of a running server is never replaced; the server is not affected by the attempt.
        assert "in use by another process" in failing_command(
            "restore", f"--data-dir={server.data}", copy, outside=True
        )
        assert server.request("GET", "/readyz") == (200, "ok")
        server.terminate()
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert [path.name for path in copy.parent.iterdir()] == ["monday"]
        assert base64.b64encode(SECRET.encode()) not in copy.read_bytes()
        assert run_command("check", copy, outside=True) == said
        assert f"{server.data}/store.sqlite.replaced" in run_command(
            "restore", f"--data-dir={server.data}", copy, outside=True
        )
        server.start()
        stored_names = names(server)
        for writer, (acknowledged, before_it) in enumerate(zip(written, before, strict=True)):
            mine = sorted(name for name in stored_names if name.startswith(f"w{writer}-"))
            assert mine == acknowledged[: len(mine)]
            assert before_it <= len(mine)
        assert sum(map(len, written)) > len(stored_names), "what was written after the backup is gone"
        code, again = server.request("GET", "/api/v1/namespaces/default/secrets/s")
        assert again["data"] == secret["data"]
        assert int(server.request("GET", MAPS)[1]["metadata"]["resourceVersion"]) > int(version)
        code, response = server.request("GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={version}")
        assert "410" in str(response) or code == 410
        assert server.request("POST", MAPS, config("new"))[0] == 201
    # Without the keys the backup cannot be used.
    with DaemonProcess(tmp_path / "thief", "--controllers=-*") as thief:
        thief.terminate()
        run_command("restore", f"--data-dir={thief.data}", copy)
        thief.launch()
        assert thief.wait() == 1
        assert "secrets" in thief.log.rpartition("the server cannot continue")[2]


def test_stopped_store_can_be_backed_up(tmp_path: Path) -> None:
    """The store of a stopped or killed server can be backed up too; from the backup alone a server starts in an empty
    folder."""
    with DaemonProcess(tmp_path / "one", "--controllers=-*", dialect=KUBERNETES) as one:
        for number in range(5):
            assert one.request("POST", MAPS, config(f"m{number}"))[0] == 201
        stored_names = names(one)
        one.kill()
    run_command("backup", f"--data-dir={one.data}", tmp_path / "copy")
    assert f"--dialect={KUBERNETES.name}" in run_command("check", f"--data-dir={one.data}")
    two = DaemonProcess(tmp_path / "two", "--controllers=-*", dialect=KUBERNETES)
    run_command("restore", f"--data-dir={two.data}", tmp_path / "copy")
    with two:
        assert names(two) == stored_names
    # Restored over an existing store, twice.
    for _ in range(2):
        run_command("restore", f"--data-dir={two.data}", tmp_path / "copy")
    with two:
        assert names(two) == stored_names


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a stopped server; tests must not change it."""
    with DaemonProcess(tmp_path_factory.mktemp("kept"), "--controllers=-*") as server:
        for number in range(40):
            assert server.request("POST", MAPS, config(f"m{number}", v="x" * 10_000))[0] == 201
    return server.data


def test_commands_accept_the_servers_flag_file(kept: Path, tmp_path: Path) -> None:
    """The commands accept the server's flags and flag file, to find its store."""
    flags = tmp_path / "orchd.flags"
    flags.write_text(f"--data-dir={kept}\n--secure-port=7443\n")
    run_command("backup", f"--flagfile={flags}", tmp_path / "copy")
    assert (
        run_command("check", tmp_path / "copy").partition(":")[2]
        == run_command("check", f"--flagfile={flags}").partition(":")[2]
    )


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES], ids=lambda dialect: dialect.name)
def test_commands_read_the_dialect_from_the_store(tmp_path: Path, dialect: Dialect) -> None:
    """Without --dialect the commands take a store, and its encrypted values, for what it is; another dialect is refused
    by all."""
    other = KUBERNETES if dialect is ORCH else ORCH
    sealed = dialect("{abbr}:enc:aesgcm:v1:one:").encode() + os.urandom(40)
    folder, copy = tmp_path / "data", tmp_path / "copy"
    folder.mkdir()
    items = [KeyValue("/secrets/default/a", sealed, 2, 2), KeyValue("/configmaps/default/a", b"{}", 3, 3)]
    write_file(f"{folder}/store.sqlite", Content(dialect_name=dialect.name, revision=3, items=items, expires={}))
    run_command("backup", f"--data-dir={folder}", copy)
    for words in (["check", f"--data-dir={folder}"], ["check", copy], ["check", f"--dialect={dialect.name}", copy]):
        assert f"2 keys with {len(sealed) + 2} bytes at revision 3, --dialect={dialect.name}," in run_command(*words)
    wrong = f"--dialect={other.name}"
    for words in (
        ["check", wrong, copy],
        ["backup", wrong, f"--data-dir={folder}", tmp_path / "new"],
        ["restore", wrong, f"--data-dir={folder}", copy],
        ["to-etcd", wrong, f"--data-dir={folder}", "--etcd-servers=http://127.0.0.1:1"],
    ):
        assert f"was made with --dialect={dialect.name}" in failing_command(*words)
    os.truncate(folder / "store.sqlite", 50)
    assert "is damaged (its database file has 50 bytes)" in failing_command("check", f"--data-dir={folder}")
    shutil.copy(copy, folder / "store.sqlite")
    with closing(sqlite3.connect(folder / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE log SET value = x'00' WHERE revision = 3")
    assert f"was made with --dialect={dialect.name}" in failing_command("salvage", wrong, f"--data-dir={folder}")
    assert "lost: the values of /configmaps/default/a;" in run_command("salvage", f"--data-dir={folder}")
    assert f"--dialect={dialect.name}," in run_command("check", f"--data-dir={folder}")


def test_invalid_commands_are_refused(tmp_path: Path) -> None:
    """An error is one line; the status distinguishes an invalid command line from a failed command."""
    assert "no store at" in failing_command("backup", f"--data-dir={tmp_path}", tmp_path / "copy")
    assert "no store at" in failing_command("check", f"--data-dir={tmp_path}")
    assert "no store at" in failing_command("restore", f"--data-dir={tmp_path}", tmp_path / "copy")
    assert not list(tmp_path.iterdir()), "nothing was made"
    assert "needs a file" in failing_command("backup", f"--data-dir={tmp_path}", status=2)
    assert "one of backup, restore" in failing_command("bakcup", status=2)
    assert "did you mean" in failing_command("backup", "--data-dri=x", "y", status=2)
    assert "unexpected argument" in failing_command("check", "a", "b", status=2)
    assert "--etcd-servers" in failing_command("to-etcd", f"--data-dir={tmp_path}")
    assert "etcdctl snapshot save" in failing_command("backup", "--etcd-servers=http://127.0.0.1:1", "x")
    status, out, error = command()
    assert (status, out, "orchd-store backup" in error) == (2, "", True)
    status, out, error = command("--help")
    assert (status, "orchd-store backup" in out, error) == (0, True, "")


def test_invalid_backups_are_refused(kept: Path, tmp_path: Path) -> None:
    """A damaged backup, another program's database and a file that is no database never replace the store."""
    data = tmp_path / "data"
    shutil.copytree(kept, data)
    good = (data / "store.sqlite").read_bytes()
    broken, other, text, newer = (tmp_path / name for name in ("broken", "other", "text", "newer"))
    broken.write_bytes(good[: 4096 * 3] + os.urandom(4096 * 17) + good[4096 * 20 :])
    text.write_text("no database at all\n" * 100)
    newer.write_bytes(good)
    for file, statement in ((other, "CREATE TABLE t (x)"), (newer, "PRAGMA user_version = 1000")):
        connection = sqlite3.connect(file)
        connection.execute(statement)
        connection.commit()
        connection.close()
    for file, why in ((broken, "is damaged"), (other, "another program"), (text, ""), (newer, "schema version 1000")):
        assert why in failing_command("check", file)
        assert why in failing_command("restore", f"--data-dir={data}", file)
    assert (data / "store.sqlite").read_bytes() == good
    assert not [path for path in data.iterdir() if path.suffix in (".partial", ".replaced")]


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Etcd]:
    with running_etcd(tmp_path / "etcd") as server:
        yield server


def event(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Test",
    }  # fmt: skip


def test_migration_to_etcd_and_back(tmp_path: Path, etcd: Etcd, encryption: Path) -> None:
    """A cluster migrates from the embedded store to etcd with resource versions above all previous ones, and back with
    unchanged ones; expiry times and encryption are kept."""
    sealing = f"--encryption-provider-config={encryption}"
    own = ("--controllers=-*", "--scheduler=false", sealing)
    shared = (f"--etcd-servers={etcd.url}", "--etcd-prefix=/moved")
    secrets, events = "/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/events"
    with DaemonProcess(tmp_path / "one", *own) as one:
        for number in range(30):
            assert one.request("POST", MAPS, config(f"m{number}"))[0] == 201
        for _ in range(300):
            # A history that etcd does not have: versions must rise above it.
            assert one.request("PUT", f"{MAPS}/m0", config("m0", v=str(_)))[0] == 200
        assert one.request("POST", secrets, {"metadata": {"name": "s"}, "stringData": {"v": SECRET}})[0] == 201
        assert one.request("POST", events, event("e"))[0] == 201
        assert "in use by another process" in failing_command(
            "to-etcd", f"--data-dir={one.data}", *shared, outside=True
        )
        first = one.request("GET", MAPS)[1]
    status, _, error = command("to-etcd", f"--data-dir={one.data}", *shared, outside=True)
    assert status == 0, error
    assert "raising it above" in error
    assert "not empty" in failing_command("to-etcd", f"--data-dir={one.data}", *shared, outside=True)
    with DaemonProcess(tmp_path / "one", *own, *shared) as two:
        moved = two.request("GET", MAPS)[1]
        last_before = int(first["metadata"]["resourceVersion"])
        versions = [item["metadata"]["resourceVersion"] for item in [moved, *moved["items"]]]
        assert min(map(int, versions)) > last_before, "every version is above all that the embedded store gave"
        for old in (1, last_before - 1, last_before):
            code, response = two.request("GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={old}")
            assert "410" in str(response) or code == 410, "an old watch is told to begin again"
        assert [each.get("data") for each in moved["items"]] == [each.get("data") for each in first["items"]]
        assert base64.b64decode(two.request("GET", f"{secrets}/s")[1]["data"]["v"]).decode() == SECRET
        assert set(names(two, events)) == {"e"}
        assert two.request("POST", MAPS, config("later"))[0] == 201
        last = names(two)
    assert "there is a store at" in failing_command("from-etcd", f"--data-dir={two.data}", *shared, outside=True)
    back = DaemonProcess(tmp_path / "back", *own)
    run_command("from-etcd", f"--data-dir={back.data}", *shared, outside=True)
    with back:
        assert names(back) == last
        assert base64.b64decode(back.request("GET", f"{secrets}/s")[1]["data"]["v"]).decode() == SECRET
        assert set(names(back, events)) == {"e"}
    with sqlite3.connect(back.data / "store.sqlite") as connection:
        rows = list(connection.execute("SELECT key, value FROM log WHERE expires > 0"))
        assert [key for key, _ in rows] == ["/events/default/e"]
        sealed = connection.execute("SELECT value FROM log WHERE key LIKE '/secrets/%'").fetchall()
    connection.close()
    assert all(SECRET.encode() not in value and b'"kind"' not in value for (value,) in sealed)


def test_unreachable_etcd_is_reported(tmp_path: Path, etcd: Etcd) -> None:
    """An etcd that does not answer, or has no data of the server, is reported, and nothing is created."""
    assert "nothing of this program" in failing_command(
        "from-etcd", f"--data-dir={tmp_path}/d", f"--etcd-servers={etcd.url}", outside=True
    )
    etcd.kill()
    assert "etcd" in failing_command(
        "from-etcd", f"--data-dir={tmp_path}/d", f"--etcd-servers={etcd.url}", outside=True
    )
    assert not (tmp_path / "d").exists()
