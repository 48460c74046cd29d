"""An API server and its controllers in two processes, for recorded exchanges.

python tests/exchange/apart.py DIALECT RELEASE STATE PORT [SERVER-FLAG...] --- [MANAGER-FLAG...] --- [SERVER-FLAG...]

Runs the server without controllers on the folder STATE and, once its kubeconfig exists, the controller manager as its
client. Ends both on SIGTERM, and when one of them ends.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from orchd.dialect import DIALECTS

_RUN = "from twisted.scripts.twistd import run; run()"


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split flags of the server from those of the manager between the two separators."""
    first = arguments.index("---")
    second = arguments.index("---", first + 1)
    return arguments[:first] + arguments[second + 1 :], arguments[first + 1 : second]


def main(name: str, version: str, state: str, port: str, *rest: str) -> None:
    """Run both until one ends."""
    dialect, folder = DIALECTS[name], Path(state)
    server_flags, manager_flags = split(list(rest))
    keys = [flag.partition("=")[2] for flag in server_flags if flag.startswith("--service-account-signing-key-file=")]
    twistd = [sys.executable, "-c", _RUN, "-n", "--pidfile="]
    release = f"--emulated-version={version}"
    place = [f"--data-dir={folder}", "--bind-address=127.0.0.1", f"--secure-port={port}", f"--dialect={name}", release]
    server = subprocess.Popen([*twistd, "orchd", *place, "--controllers=-*", "--scheduler=false", *server_flags])
    processes = [server]
    config = folder / f"admin.{dialect.config_file_kind}"
    try:
        while not config.exists() and server.poll() is None:
            time.sleep(0.05)
        pki = folder / "pki"
        own = [
            release,
            f"--{dialect.config_file_kind}={config}",
            "--secure-port=0",
            "--leader-elect=false",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={keys[0] if keys else pki / 'sa.key'}",
            f"--root-ca-file={pki / 'ca.crt'}",
            f"--cluster-signing-cert-file={pki / 'ca.crt'}",
            f"--cluster-signing-key-file={pki / 'ca.key'}",
        ]
        processes.append(subprocess.Popen([*twistd, dialect("{short}-controller-manager"), *own, *manager_flags]))
        while all(process.poll() is None for process in processes):
            time.sleep(0.2)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
