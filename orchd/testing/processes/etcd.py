"""A real etcd for tests: one process in a directory of its own, on free ports."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.ports import free_port


def find_etcd() -> str | None:
    """Path of the etcd program: $ORCHD_ETCD, or found in PATH (Debian: etcd-server)."""
    return shutil.which(os.environ.get("ORCHD_ETCD", "etcd"))


class Etcd:
    """A single-member etcd cluster. Ports and data are kept across restarts.

    `tls` are further arguments such as ``--cert-file=...``; with them the URL is https.
    """

    def __init__(self, program: str, directory: Path, *, tls: Sequence[str] = ()) -> None:
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{free_port()}"
        self._program = program
        self._directory = directory
        self._tls = tuple(tls)
        self._peer = f"http://127.0.0.1:{free_port()}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start and wait until it listens."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with open(self._directory / "log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program, "--name=one", f"--data-dir={self._directory / 'data'}",
                    f"--listen-client-urls={self.url}", f"--advertise-client-urls={self.url}",
                    f"--listen-peer-urls={self._peer}", f"--initial-advertise-peer-urls={self._peer}",
                    f"--initial-cluster=one={self._peer}", "--max-request-bytes=4194304",
                    *self._tls,
                ],
                stdout=log, stderr=log,
            )  # fmt: skip
        address = self.url.partition("://")[2].split(":")
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection((address[0], int(address[1])), timeout=30).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"etcd did not start: {(self._directory / 'log').read_text()[-2000:]}")

    @property
    def pid(self) -> int | None:
        """The process; None while it does not run."""
        return None if self._process is None else self._process.pid

    def signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def pause(self) -> None:
        """Suspend the process, and return when all its threads are suspended."""
        assert self._process is not None
        self.signal(signal.SIGSTOP)
        # Its threads stop one after the other, and may still respond until then.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it without an orderly stop."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
