"""Three servers on one etcd on this machine: a cluster that survives the end of any one of them.

    python -m orchd.testing.etcd_cluster [--port=N] FOLDER [FLAG...]

starts them on three ports from N (default 6443) and prints their addresses; they end with it. FLAG are the servers'.
FOLDER holds all data, so that a second start continues where the first one ended.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from twisted.python import usage

from orchd.assembly.capabilities import capabilities
from orchd.config.options import Options
from orchd.dialect import ORCH, Dialect
from orchd.testing.processes.daemon import DaemonProcess
from orchd.testing.processes.etcd import Etcd, find_etcd
from orchd.testing.processes.ports import free_port

_SERVERS = 3


class EtcdCluster:
    """`servers` are the three processes, `etcd` is their store. As a context manager it starts and ends all."""

    def __init__(self, folder: Path, *flags: str, dialect: Dialect = ORCH, ports: Sequence[int] = ()) -> None:
        program = find_etcd()
        if program is None:
            raise FileNotFoundError("no etcd on the path (Debian: etcd-server)")
        self.etcd = Etcd(program, folder / "etcd")
        self.servers = tuple(
            DaemonProcess(
                folder / f"server-{number}", f"--etcd-servers={self.etcd.url}", *flags, dialect=dialect, port=port
            )
            for number, port in enumerate(ports or [free_port() for _ in range(_SERVERS)], 1)
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
    usage_text = __doc__ or ""
    parser = argparse.ArgumentParser(usage=usage_text, add_help=False, allow_abbrev=False)
    parser.add_argument("--port", type=int, default=6443, choices=range(1, 65536 - _SERVERS), metavar="N")
    parser.add_argument("folder", type=Path)
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(arguments)
    options = Options(capabilities=capabilities())
    try:
        options.parseOptions(chosen.flags)
    except usage.UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    # From now on a signal ends all processes.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    ports = range(chosen.port, chosen.port + _SERVERS)
    with EtcdCluster(chosen.folder.resolve(), *chosen.flags, dialect=options.dialect, ports=ports) as cluster:
        for server in cluster.servers:
            sys.stdout.write(f"{server.url}  {server.config_file}\n")
        sys.stdout.flush()
        while True:
            signal.pause()


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
