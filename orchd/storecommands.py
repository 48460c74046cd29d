"""`orchd-store`: backup, check and migration of a server's store, from outside the server; and the store as a server of
its own.

    orchd-store backup    [FLAG...] FILE     copy the embedded store, in use or not, into a new file
    orchd-store restore   [FLAG...] FILE     put such a copy in the embedded store's place; no server may be using it
    orchd-store check     [FLAG...] [FILE]   read all of the embedded store, or of a copy, and say what it has
    orchd-store salvage   [FLAG...]          go on with what can be read of a damaged embedded store, and lose the rest
    orchd-store to-etcd   FLAG...            copy the embedded store into a prefix of etcd that has nothing yet
    orchd-store from-etcd FLAG...            copy a prefix of etcd into an embedded store that is not there yet
    orchd-store serve     [FLAG...]          serve the embedded store to API servers, as an etcd, until it is stopped

FLAG are the server's, so that --flagfile can be the server's file: --data-dir says where the embedded store is, and
--etcd-servers with those beside it where etcd is. The store says its dialect; one that differs from --dialect is
refused, where that is given. For to-etcd and from-etcd no server may run.

serve listens on store.sock in the data folder; API servers reach it with --etcd-servers=unix://FOLDER/store.sock, and
those that are to continue with the objects of an API server that used the folder by itself have --etcd-prefix=/ too.
With --listen=HOST:PORT it also listens on an address: of other machines only with --tls-cert-file,
--tls-private-key-file and --client-ca-file, by which every client's certificate is verified.

Exit status: 0 on success; 1 on failure, with the reason on standard error; 2 for an invalid command line.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from random import SystemRandom
from typing import Any, Final

import orjson
from twisted.internet.task import react

from orchd.assembly.storage import etcd_servers, store_file
from orchd.config.settings import Settings
from orchd.daemon import run_until_stopped
from orchd.dialect import DIALECTS
from orchd.filecommands import FILE, NO_FILE, OPTIONAL_FILE, Command, Program, Report, Result
from orchd.store.backup import Summary, back_up, check_copy, refuse_bad_history, refuse_bad_values, restore
from orchd.store.encryption_config import mark_of
from orchd.store.export import export_content, import_content
from orchd.store.interfaces import StoreError
from orchd.store.open_errors import DialectMismatchError, StoreDamagedError
from orchd.store.salvage import salvage


def main(arguments: Sequence[str] | None = None, report: Report | None = None) -> int:
    """Run one command; the exit status."""
    return PROGRAM.run(arguments, report)


def _backup(settings: Settings, file: str, report: Report) -> Result:
    _embedded(settings, "etcdctl snapshot save makes a backup of etcd, and from-etcd copies it into an embedded store")
    return Result(f"{file}: {_words(back_up(store_file(settings), file, dialect_name=settings.dialect_given))}")


def _restore(settings: Settings, file: str, report: Report) -> Result:
    _embedded(settings, "etcdctl snapshot restore restores etcd")
    target = store_file(settings)
    before = os.path.exists(target)
    revision = restore(file, target, dialect_name=settings.dialect_given)
    kept = f"; the store that was there is {target}.replaced" if before else ""
    return Result(f"{target}: restored, goes on at revision {revision}{kept}")


def _check(settings: Settings, file: str, report: Report) -> Result:
    path = file or store_file(settings)
    summary = check_copy(path, dialect_name=settings.dialect_given, plausible=lambda name: _plausibility(path, name))
    refuse_bad_values(path, summary)
    refuse_bad_history(path, summary)
    return Result(f"{path}: {_words(summary)}")


def _plausibility(path: str, dialect_name: str) -> Callable[[bytes], bool]:
    """A function that is true for JSON and encrypted values of a dialect. Raises StoreDamagedError for the name of no
    dialect."""
    if dialect_name not in DIALECTS:
        raise StoreDamagedError(path, f"its table meta names the dialect {dialect_name!r}")
    mark = mark_of(DIALECTS[dialect_name])

    def plausible(value: bytes) -> bool:
        if value.startswith(mark):
            return True
        try:
            orjson.loads(value)
        except orjson.JSONDecodeError:
            return False
        return True

    return plausible


def _salvage(settings: Settings, file: str, report: Report) -> Result:
    _embedded(settings, "etcd has tools of its own for this")
    path = store_file(settings)
    done = salvage(path, settings.dialect.name, dialect_name=settings.dialect_given)
    lost = [f"the values of {', '.join(done.lost_keys)}"] if done.lost_keys else []
    lost += [f"{done.lost_rows} rows"] if done.lost_rows else []
    lost += [] if done.complete else ["writes that cannot be counted"]
    lost = lost or ["former values alone"]
    return Result(
        f"{path}: kept {done.keys} keys, goes on at revision {done.revision}; lost: {', '.join(lost)}; the "
        f"damaged store is {done.damaged}"
    )


def _to_etcd(settings: Settings, file: str, report: Report) -> Result:
    from orchd.store.etcd.copying import fill

    servers, prefix = _etcd(settings)
    with export_content(store_file(settings), dialect_name=settings.dialect_given) as source:
        revision = _reacted(
            lambda reactor: fill(
                reactor,
                servers(reactor),
                prefix,
                source,
                random=SystemRandom(),
                say=report.say,
                progress=report.progress,
            )
        )
    return Result(f"{len(source.items)} keys are in etcd under {prefix}, at revision {revision}")


def _from_etcd(settings: Settings, file: str, report: Report) -> Result:
    from orchd.store.etcd.copying import read_all

    servers, prefix = _etcd(settings)
    target = store_file(settings)
    if os.path.exists(target):
        raise StoreError(f"there is a store at {target} already: move it away, or give another --data-dir")
    content = _reacted(lambda reactor: read_all(reactor, servers(reactor), prefix, random=SystemRandom()))
    if settings.dialect_given not in (None, content.dialect_name):
        raise DialectMismatchError(f"{prefix} of etcd", content.dialect_name, settings.dialect.name)
    return Result(f"{target}: {_words(import_content(target, content))}")


def _serve(settings: Settings, listen: str, report: Report) -> Result:
    from orchd.assembly.store_server import StoreServer, address

    servers: list[StoreServer] = []

    def started(server: StoreServer) -> None:
        servers.append(server)
        report.say(f"serving on {', '.join(server.urls)}")

    try:
        where = address(listen, settings, time.monotonic) if listen else None
        run_until_stopped(lambda reactor: StoreServer(settings, reactor, SystemRandom(), where), started)
    except ValueError as error:
        raise StoreError(str(error)) from error
    if not servers:
        raise StoreError("interrupted")
    return Result(f"{store_file(settings)}: stopped at revision {servers[0].store.revision}")


#: What each does, and what it takes besides flags.
COMMANDS: Final[Mapping[str, tuple[Command, str]]] = {
    "backup": (_backup, FILE),
    "restore": (_restore, FILE),
    "check": (_check, OPTIONAL_FILE),
    "salvage": (_salvage, NO_FILE),
    "to-etcd": (_to_etcd, NO_FILE),
    "from-etcd": (_from_etcd, NO_FILE),
    "serve": (_serve, NO_FILE),
}


def _words(summary: Summary) -> str:
    bad = (
        f"; {len(summary.bad_values)} of the values are damaged: {', '.join(summary.bad_values[:20])}"
        if summary.bad_values
        else ""
    )
    if summary.bad_history:
        bad += f"; {len(summary.bad_history)} values that later writes replaced are damaged"
    return (
        f"{summary.keys} keys with {summary.size} bytes at revision {summary.revision}, "
        f"--dialect={summary.dialect_name}, schema version {summary.schema_version}{bad}"
    )


def _embedded(settings: Settings, otherwise: str) -> None:
    if settings.storage.etcd is not None:
        raise StoreError(f"--etcd-servers is given: this command is for the embedded store ({otherwise})")


def _etcd(settings: Settings) -> tuple[Callable[[Any], Any], str]:
    """Access to etcd, and the prefix."""
    etcd = settings.storage.etcd
    if etcd is None:
        raise StoreError("--etcd-servers says which etcd")
    return (lambda reactor: etcd_servers(etcd, reactor)), etcd.prefix


def _reacted(work: Callable[[Any], Any]) -> Any:
    """The result of a coroutine that needs the reactor, which runs only for it."""
    results: list[Any] = []

    async def run(reactor: Any) -> None:
        try:
            results.append(await work(reactor))
        except (StoreError, ValueError) as error:
            results.append(StoreError(str(error)))

    try:
        react(lambda reactor: run(reactor))
    except SystemExit as end:
        # `react` exits this way at the end or on interruption.
        if not results:
            raise StoreError("interrupted") from end
    if isinstance(results[0], StoreError):
        raise results[0]
    return results[0]


PROGRAM: Final = Program(
    name="orchd-store", text=__doc__, commands=COMMANDS, errors=(StoreError,), flags={"serve": "listen"}
)

if __name__ == "__main__":
    sys.exit(main())
