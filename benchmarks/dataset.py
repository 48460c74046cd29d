"""Fills the store of a stopped server: ``python -m benchmarks.dataset FILE DIALECT KEY COUNT``.

KEY is an object that is there; it is copied, under other names and uids, until there are COUNT. Faster than asking the server.
"""

from __future__ import annotations

import sys
import uuid
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred

from orchd.store.interfaces import KeyExistsError
from orchd.store.sqlite import SqliteStore

reactor: Any = installed


async def fill(path: str, dialect: str, key: str, count: int) -> None:
    store = SqliteStore(reactor, path, dialect_name=dialect)
    await store.start()
    seed = await store.get(key)
    assert seed is not None, f"no {key}"
    folder, _, name = key.rpartition("/")
    _, mark, rest = seed.value.partition(b'"uid":"')
    there = mark + rest[: rest.index(b'"')]

    async def copy(number: int) -> None:
        copied = f"{name}-{number:05}"
        value = seed.value.replace(b'"name":"%b"' % name.encode(), b'"name":"%b"' % copied.encode(), 1)
        value = value.replace(there, mark + str(uuid.uuid4()).encode(), 1)
        try:
            await store.create(f"{folder}/{copied}", value)
        except KeyExistsError:
            """From an earlier run, which made fewer."""

    for first in range(1, count, 1000):
        for writing in [Deferred.fromCoroutine(copy(number)) for number in range(first, min(count, first + 1000))]:
            await writing
    # As after five minutes without writes: a start has no history to look back on.
    await store.compact(store.revision)
    await store.stop()


def main() -> None:
    path, dialect, key, count = sys.argv[1:]

    def run() -> None:
        filling = Deferred.fromCoroutine(fill(path, dialect, key, int(count)))
        filling.addErrback(lambda failure: failure.printTraceback())
        filling.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(run)
    reactor.run()


if __name__ == "__main__":
    main()
