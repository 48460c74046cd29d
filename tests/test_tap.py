"""The server as a process: exit status, service manager notification, inherited sockets."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.testing.processes.daemon import PATIENCE
from tests.programs import run_program

ROOT = Path(__file__).resolve().parents[1]
RUN = "import sys; from twisted.scripts.twistd import run; sys.exit(run())"
#: The shell gives the process its own number, as a service manager does, and becomes the process.
AS_SERVICE = 'LISTEN_PID=$$ exec "$@"'


def arguments(folder: Path, *flags: str, port: int = 0) -> list[str]:
    """What twistd takes for a server on a data folder."""
    own = (f"--data-dir={folder}/data", "--bind-address=127.0.0.1", f"--secure-port={port}", "--controllers=-*")
    return ["-n", "--pidfile=", "orchd", *own, *flags]


def new_process(folder: Path, *flags: str, port: int = 0) -> list[str]:
    """The command of a new process with `arguments`."""
    return [sys.executable, "-c", RUN, *arguments(folder, *flags, port=port)]


def run_to_end(arguments: list[str]) -> tuple[int, str, str]:
    """Status, standard output, standard error of a server that ends by itself."""
    done = run_program("twisted.scripts.twistd:run", "twistd", *arguments)
    return done.returncode, done.stdout, done.stderr


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


@contextmanager
def listening_socket() -> Iterator[tuple[socket.socket, int]]:
    """A listening socket of this machine, and its port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        yield bound, bound.getsockname()[1]


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--secure-prt=1", "secure-port"),
        ("--dialect=orhc", "did you mean"),
        ("--client-ca-file=/no/such/file", "--client-ca-file"),
        ("--flagfile=/no/such/file", "/no/such/file"),
    ],
)
def test_invalid_flag_ends_with_one_line(tmp_path: Path, flag: str, text: str) -> None:
    """Standard error has one line that names the flag, and the status is 1."""
    status, _, error = run_to_end(arguments(tmp_path, flag))
    assert (status, len(error.splitlines())) == (1, 1)
    assert text in error


def test_failed_start_has_status_1(tmp_path: Path) -> None:
    """A server that cannot listen stops its members, logs the reason and exits with status 1."""
    with listening_socket() as (_, port):
        status, log, _ = run_to_end(arguments(tmp_path, port=port))
    assert status == 1
    assert re.search(r"the server cannot continue: .*in use", log)
    assert "Server Shut Down" in log


def test_store_of_the_other_dialect_is_refused(tmp_path: Path) -> None:
    """The error names both dialects, and the status is 1."""
    with listening_socket() as (_, port):
        run_to_end(arguments(tmp_path, port=port))
        status, _, error = run_to_end(arguments(tmp_path, f"--dialect={KUBERNETES.name}", port=port))
    assert status == 1
    assert re.search(rf"orchd: the store .*--dialect={ORCH.name} .*--dialect={KUBERNETES.name}", error)


def test_service_manager_notifications_and_socket(tmp_path: Path) -> None:
    """The manager gets watchdog, READY and STOPPING messages, and requests are served on its socket."""
    told = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, listening_socket() as (given, port):
        manager.bind(str(told))
        manager.settimeout(PATIENCE)
        process = subprocess.Popen(
            ["sh", "-c", AS_SERVICE, "sh", *new_process(tmp_path, port=port)],
            env=environment(NOTIFY_SOCKET=str(told), WATCHDOG_USEC="60000000", LISTEN_FDS="1", LISTEN_FDNAMES="api"),
            preexec_fn=lambda: os.dup2(given.fileno(), 3, inheritable=True),
            pass_fds=(3, given.fileno()),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            heard = [manager.recv(1000) for _ in range(2)]
            assert heard == [b"WATCHDOG=1", f"READY=1\nSTATUS=serving at https://127.0.0.1:{port}".encode()]
            trusted = ssl.create_default_context(cafile=str(tmp_path / "data/pki/ca.crt"))
            with urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=trusted) as response:
                assert response.read() == b"ok"
            process.send_signal(signal.SIGTERM)
            assert manager.recv(1000) == b"STOPPING=1"
        finally:
            process.terminate()
            log, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, -signal.SIGTERM)
    for text in (f"ready at https://127.0.0.1:{port}", "data folder: ", "client configuration of the administrator: "):
        assert text in log
    assert log.count("try: ") == 2 and "try: orchctl --orchconfig=" in log
    assert "rror" not in log


def test_inherited_socket_must_have_the_secure_port(tmp_path: Path) -> None:
    """An inherited socket must have the port of --secure-port, which clients are configured with."""
    with listening_socket() as (given, port):
        done = subprocess.run(
            ["sh", "-c", AS_SERVICE, "sh", *new_process(tmp_path, port=1)],
            env=environment(LISTEN_FDS="1", LISTEN_FDNAMES="api"),
            preexec_fn=lambda: os.dup2(given.fileno(), 3, inheritable=True),
            pass_fds=(3, given.fileno()),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 1
    assert f"a socket of port {port}, but --secure-port is 1" in done.stderr


def test_keys_are_private_and_reused(tmp_path: Path) -> None:
    """Files in the data folder are private, and a second start reuses the keys."""
    with listening_socket() as (_, port):
        command = arguments(tmp_path, port=port)
        run_to_end(command)
        data = tmp_path / "data"
        kept = {p: p.read_bytes() for p in sorted((data / "pki").iterdir())}
        run_to_end(command)
    assert {p: p.read_bytes() for p in sorted((data / "pki").iterdir())} == kept
    assert {oct(p.stat().st_mode & 0o777) for p in (data, data / "pki")} == {"0o700"}
    assert {oct(p.stat().st_mode & 0o077) for p in (*kept, data / "store.sqlite")} == {"0o0"}


def test_python_m_runs_in_the_foreground(tmp_path: Path) -> None:
    """`python -m orchd` takes the flags of `twistd orchd` and exits with status 0 on SIGTERM."""
    command = [
        sys.executable,
        "-m",
        "orchd",
        f"--data-dir={tmp_path}/data",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
    ]
    process = subprocess.Popen(
        [*command, "--controllers=-*", "--scheduler=false"],
        cwd=tmp_path,
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert any("ready at https://127.0.0.1" in line for line in process.stdout)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert not (tmp_path / "twistd.pid").exists()
