"""A process that writes to a store as fast as possible and prints acknowledged writes, until it is killed.

Lines on standard output: ``+ key revision`` for every acknowledged write, in the order of acknowledgement.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd.store.compaction import HistoryLimits
from orchd.store.interfaces import RevisionConflictError
from orchd.store.sqlite import SqliteStore

reactor: Any = installed


def say(line: str) -> None:
    """Print unbuffered, before anything else happens: printed lines must survive the kill."""
    os.write(1, line.encode() + b"\n")


async def create_for_ever(store: SqliteStore, tag: str, number: int) -> None:
    count = 0
    while True:
        key = f"/c/{tag}/{number}/{count}"
        revision = await store.create(key, key.encode() * 20)
        say(f"+ {key} {revision}")
        count += 1


async def count_for_ever(store: SqliteStore) -> None:
    """Increment a shared counter with guarded updates."""
    while True:
        there = await store.get("/counter")
        try:
            if there is None:
                revision = await store.create("/counter", b"1")
            else:
                revision = await store.update("/counter", b"%d" % (int(there.value) + 1), expected=there.revision)
        except RevisionConflictError:
            continue
        say(f"+ /counter {revision}")


async def main(path: str, tag: str) -> None:
    store = SqliteStore(reactor, path, dialect_name="any", history=HistoryLimits(events=500, recent_events=50))
    await store.start()
    say("ready")
    for number in range(8):
        Deferred.fromCoroutine(create_for_ever(store, tag, number))
    Deferred.fromCoroutine(count_for_ever(store))


def give_up(failure: Failure) -> None:
    say(str(failure))
    reactor.stop()


Deferred.fromCoroutine(main(sys.argv[1], sys.argv[2])).addErrback(give_up)
reactor.run()
