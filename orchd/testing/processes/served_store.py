"""`orchd-store serve` for tests: one process on a data folder of its own, in the place of an etcd."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.etcd import Etcd
from orchd.testing.processes.ports import free_port


class ServedStore(Etcd):
    """Port and data are kept across restarts. `url` is that of its port, `socket` that of its Unix socket. `flags` are
    further ones; with those of TLS the first URL is https."""

    def __init__(self, directory: Path, *flags: str) -> None:
        super().__init__(sys.executable, directory, tls=flags)
        self.url = f"{'https' if flags else 'http'}://127.0.0.1:{free_port()}"
        self.data = directory / "data"
        self.socket = f"unix://{self.data}/store.sock"
        self.log = directory / "log"

    def start(self) -> None:
        """Start and wait until it serves."""
        self._directory.mkdir(parents=True, exist_ok=True)
        before = self._serving()
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < end:
            if self._serving() > before:
                return
            time.sleep(0.02)
        raise RuntimeError(f"the store did not start: {self.log.read_text()[-2000:]}")

    def _command(self) -> Sequence[str]:
        listen = self.url.partition("://")[2]
        return (
            self._program, "-m", "orchd.storecommands", "serve", f"--data-dir={self.data}", f"--listen={listen}",
            *self._tls,
        )  # fmt: skip

    def _serving(self) -> int:
        return self.log.read_text().count("serving on") if self.log.exists() else 0

    def stop(self, number: int) -> int:
        """Send a signal, wait for the end, and return the exit status."""
        assert self._process is not None
        self.signal(number)
        status = self._process.wait(PATIENCE)
        self._process = None
        return status
