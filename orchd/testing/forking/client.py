"""The test run's side of `orchd.testing.forking.server`: one fork server per process of the test run, started on first
use."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orchd
from orchd.testing.forking.channel import send
from orchd.testing.forking.run_folder import make_folder

#: Names of folders for the files of clusters begin with this.
FOLDER_PREFIX = "orchd-test-"
_TREE = Path(orchd.__file__).resolve().parents[1]
#: One thread is enough for the scheduler's arrays, and a process that forks should have no others.
_SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class ForkClient:
    """A running fork server. `folder` is removed with it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.folder, self._folder_lock = make_folder(FOLDER_PREFIX)
        self.log_file = self.folder / "log"
        self._lock = threading.Lock()
        self._count = 0
        self._channel, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, [str(_TREE), os.environ.get("PYTHONPATH")]))
        # -P: files in the current folder must not be imported instead of the server's modules.
        command = ["-P", "-m", "orchd.testing.forking.server", str(theirs.fileno()), str(self.owner), str(self.folder)]
        with theirs, self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                env=_with_bytecode({**os.environ, **_SINGLE_THREADED, "PYTHONPATH": path}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno(), self._folder_lock],
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def start(self, spec: dict[str, Any], port: int) -> tuple[socket.socket, Path]:
        """Request a cluster. Returns its channel and the folder for its files. Raises OSError if the process has
        ended."""
        with self._lock:
            self._count += 1
            home = self.folder / f"cluster-{self._count}"
        return self._send({"spec": spec, "port": port, "home": str(home)}), home

    def start_program(self, message: dict[str, Any]) -> socket.socket:
        """Request a program (`orchd.testing.forking.process`). Returns its channel. Raises OSError if the process has
        ended."""
        return self._send({"program": message})

    def _send(self, message: dict[str, Any]) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                send(self._channel, message, theirs.fileno())
            except OSError:
                ours.close()
                raise
        return ours

    def log(self) -> str:
        """The log of the process."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def stop(self) -> None:
        """End the process and all its clusters."""
        self._channel.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._folder_lock)


def _with_bytecode(environment: dict[str, str]) -> dict[str, str]:
    """Let the process cache bytecode in the user's cache folder if it cannot write beside the sources: otherwise
    compilation would take most of the start."""
    beside = Path(importlib.util.cache_from_source(__file__))
    if not sys.dont_write_bytecode or sys.pycache_prefix is not None or beside.exists():
        return environment
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orchd" / "bytecode"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return environment
    changed = {**environment, "PYTHONPYCACHEPREFIX": str(folder)}
    changed.pop("PYTHONDONTWRITEBYTECODE", None)
    return changed


_lock = threading.Lock()
_current: ForkClient | None = None


def fork_client() -> ForkClient:
    """The fork server of this process, started on first use; a forked process gets its own."""
    global _current
    with _lock:
        if _current is not None and _current.owner == os.getpid() and not _current.running:
            _current.stop()
            _current = None
        if _current is None or _current.owner != os.getpid():
            _current = ForkClient()
        return _current


def stop_fork_server() -> None:
    """End this process's fork server, if there is one."""
    global _current
    with _lock:
        client, _current = _current, None
    if client is not None and client.owner == os.getpid():
        client.stop()


atexit.register(stop_fork_server)
