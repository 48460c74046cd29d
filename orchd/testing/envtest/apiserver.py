"""The API server program of ``orchd-envtest-assets``: accepts the flags that test frameworks pass, and stores in
memory.

It has the flags of the server with the defaults that frameworks expect: neither controllers nor scheduler run, a
certificate in --cert-dir is served, and unknown fields give warnings. A real etcd at --etcd-servers is used.
"""

from __future__ import annotations

import contextlib
import json
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import globalLogBeginner, textFileLogObserver
from twisted.python import usage
from twisted.python.failure import Failure

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.config.options import Options, from_options
from orchd.config.settings import Settings
from orchd.dialect import KUBERNETES
from orchd.kinds.release import RELEASES, default_release
from orchd.store.memory import MemoryStore
from orchd.testing.cluster.flags import default_gates
from orchd.testing.envtest.etcd import MARK
from orchd.testing.forking.run_folder import run_folder

#: Flags of former releases of the reference that frameworks pass, with the values that mean "off".
_FORMER = {"insecure-port": ("0",), "insecure-bind-address": ("127.0.0.1", "localhost", "")}
#: Seconds to wait for the version of a server at --etcd-servers.
_ETCD_TIMEOUT = 5.0


def map_flags(arguments: Iterable[str]) -> Iterator[str]:
    """The server's flags for the flags of a framework. Raises ValueError for a value that the server cannot provide."""
    arguments = list(arguments)
    names = {text.lstrip("-").partition("=")[0] for text in arguments}
    folder = Path(_value(arguments, "cert-dir"))
    pair = folder / "apiserver.crt", folder / "apiserver.key"
    flags = (
        "cert-dir" in names and not {"tls-cert-file", "tls-private-key-file"} & names and all(p.exists() for p in pair)
    )
    if flags:
        # Issued by the framework under its own CA. With --cert-dir, this server would replace them.
        yield f"--tls-cert-file={pair[0]}"
        yield f"--tls-private-key-file={pair[1]}"
    for text in arguments:
        name, _, value = text.lstrip("-").partition("=")
        if name in _FORMER:
            if value not in _FORMER[name]:
                raise ValueError(f"--{name}: {value!r}: the server has no insecure port")
        elif name == "cert-dir" and flags:
            continue
        elif name != "etcd-servers" or not all(_is_double(url) for url in value.split(",")):
            yield text


def _value(arguments: Iterable[str], name: str) -> str:
    """The last value of a flag, "" if it is not given."""
    last = ""
    for text in arguments:
        flag, _, value = text.lstrip("-").partition("=")
        if flag == name:
            last = value
    return last


def _is_double(url: str) -> bool:
    """True if `orchd.testing.envtest.etcd` serves this URL, not a real etcd."""
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/version", timeout=_ETCD_TIMEOUT) as response:
            return MARK in json.loads(response.read())
    except (OSError, ValueError):
        return False


def read_settings(arguments: list[str], folder: Path) -> Settings:
    """The server's settings. Raises usage.UsageError and ValueError that name the flag."""
    flags = list(map_flags(arguments))
    defaults = [f"--dialect={KUBERNETES.name}", "--scheduler=false", f"--data-dir={folder}"]
    named = _value(flags, "emulated-version")
    release = RELEASES.get(named) or default_release(KUBERNETES)
    defaults += [f"--feature-gates={name}={str(on).lower()}" for name, on in default_gates(release).items()]
    if not any(flag.lstrip("-").partition("=")[0] == "controllers" for flag in flags):
        # A list, to which a flag of the caller would be added.
        defaults.append("--controllers=-*")
    options = Options(capabilities=capabilities())
    options.parseOptions([*defaults, *flags])
    return from_options(options)


def make_server(reactor: Any, arguments: list[str], folder: Path, failed: Callable[[Failure], None]) -> ApiServer:
    """The server for a framework's flags. Raises usage.UsageError, OSError and ValueError that name the flag or
    file."""
    settings = read_settings(arguments, folder)
    store = MemoryStore(reactor) if settings.storage.etcd is None else None
    return ApiServer(settings, reactor, store=store, failed=failed, durable_files=store is None)


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT."""
    arguments = _join_values(sys.argv[1:] if arguments is None else arguments)
    program = KUBERNETES("{short}-apiserver")
    if "--help" in arguments or "-h" in arguments:
        sys.stdout.write(f"Usage: {program} {Options(capabilities=capabilities(), dialect=KUBERNETES)}\n")
        return
    if "--version" in arguments:
        release = RELEASES.get(_value(arguments, "emulated-version")) or default_release(KUBERNETES)
        sys.stdout.write(KUBERNETES("{Long} ") + release.version + "\n")
        return
    globalLogBeginner.beginLoggingTo([textFileLogObserver(sys.stderr)], redirectStandardIO=False)
    from twisted.internet import reactor as installed

    reactor: Any = installed
    failures: list[Failure] = []

    def failed(failure: Failure) -> None:
        failures.append(failure)
        with contextlib.suppress(Exception):
            reactor.stop()

    with run_folder("orchd-envtest-") as folder:
        try:
            server = make_server(reactor, arguments, folder, failed)
        except (OSError, ValueError, usage.UsageError) as error:
            sys.exit(f"{program}: {error}")

        def stop() -> Deferred[None]:
            return server.service.stopService()

        reactor.addSystemEventTrigger("before", "shutdown", stop)
        reactor.callWhenRunning(server.service.startService)
        reactor.run()
    if failures:
        sys.exit(f"{program}: {failures[0].getErrorMessage()}")


def _join_values(arguments: list[str]) -> list[str]:
    """Join each flag and its value: ``--name value`` becomes ``--name=value``."""
    out: list[str] = []
    for text in arguments:
        if out and not text.startswith("-") and out[-1].startswith("--") and "=" not in out[-1]:
            out[-1] += f"={text}"
        else:
            out.append(text)
    return out


if __name__ == "__main__":
    main()
