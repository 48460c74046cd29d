"""Three servers on one etcd on this machine: a cluster that survives the end of any one of them.

    python -m orchd.testing.trio FOLDER [FLAG...]

starts them on ports 6443 to 6445 and prints their addresses; they end with it. FOLDER holds all data, so that a second
start continues where the first one ended.
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from orchd.testing.etcd import Etcd, find_etcd
from orchd.testing.ports import free_port
from orchd.testing.process import DaemonProcess

_PORTS = (6443, 6444, 6445)


class Trio:
    """`servers` are the three processes, `etcd` is their store. As a context manager it starts and ends all."""

    def __init__(self, folder: Path, *flags: str, ports: Sequence[int] = ()) -> None:
        program = find_etcd()
        if program is None:
            raise FileNotFoundError("no etcd on the path (Debian: etcd-server)")
        self.etcd = Etcd(program, folder / "etcd")
        self.servers = tuple(
            DaemonProcess(
                folder / f"server-{number}",
                f"--etcd-servers={self.etcd.url}",
                *flags,
                port=port,
            )
            for number, port in enumerate(ports or [free_port() for _ in range(3)], 1)
        )

    def start(self) -> Self:
        self.etcd.start()
        try:
            first, *others = self.servers
            first.start()
            for server in others:
                self._share(first, server)
            with ThreadPoolExecutor() as pool:
                list(pool.map(DaemonProcess.start, others))
        except BaseException:
            self.stop()
            raise
        return self

    def _share(self, first: DaemonProcess, other: DaemonProcess) -> None:
        """Share one CA and one token signing key, so that each server accepts what the others issued."""
        target = other.data / "pki"
        if not target.exists():
            other.data.mkdir(mode=0o700, parents=True)
            shutil.copytree(first.data / "pki", target)
            target.chmod(0o700)

    def stop(self) -> None:
        for server in reversed(self.servers):
            server.kill()
        self.etcd.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def main(arguments: Sequence[str]) -> int:
    """Run until a signal to end."""
    if not arguments or arguments[0].startswith("-"):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    # From now on a signal ends all processes.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    with Trio(Path(arguments[0]).resolve(), *arguments[1:], ports=_PORTS) as trio:
        for server in trio.servers:
            sys.stdout.write(f"{server.url}  {server.config_file}\n")
        sys.stdout.flush()
        while True:
            signal.pause()


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
