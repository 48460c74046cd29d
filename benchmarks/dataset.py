"""Fills the SQLite store of a stopped server: ``python -m benchmarks.dataset FILE DIALECT KEY COUNT``.

KEY is the store key of an existing object. It is copied under new names and uids until there are COUNT of them, which
is faster than creating them through the API.
"""

from __future__ import annotations

import contextlib
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
    assert seed is not None, f"{path} has no object {key}"
    folder, _, name = key.rpartition("/")
    _, mark, rest = seed.value.partition(b'"uid":"')
    seed_uid = mark + rest[: rest.index(b'"')]

    async def copy(number: int) -> None:
        copied = f"{name}-{number:05}"
        value = seed.value.replace(b'"name":"%b"' % name.encode(), b'"name":"%b"' % copied.encode(), 1)
        value = value.replace(seed_uid, mark + str(uuid.uuid4()).encode(), 1)
        # Objects that exist were created by an earlier run with a smaller COUNT.
        with contextlib.suppress(KeyExistsError):
            await store.create(f"{folder}/{copied}", value)

    for first in range(1, count, 1000):
        for creation in [Deferred.fromCoroutine(copy(number)) for number in range(first, min(count, first + 1000))]:
            await creation
    # As after five minutes without writes, so that a start has no history to read.
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
