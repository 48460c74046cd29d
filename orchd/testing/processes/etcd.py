"""A real etcd for tests: one process in a directory of its own, on free ports."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zope.interface import implementer

from orchd.store.interfaces import (
    CompactedError,
    Event,
    FutureRevisionError,
    IStore,
    IWatch,
    KeyValue,
    Range,
    RevisionConflictError,
    StoreError,
)
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
        """Stop it, and return when all of it stands still."""
        assert self._process is not None
        self.signal(signal.SIGSTOP)
        # Its threads stop one after the other, and may still answer until then.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it without an orderly stop."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@implementer(IStore)
class Rebased:
    """A store whose revisions are shifted to begin at 1 at its start.

    etcd counts the writes of all its users, and recording the dialect is one: a suite with fixed revisions sees those
    of a fresh store, as long as there are no other writers.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._base = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    exclusive = False

    @property
    def revision(self) -> int:
        return int(self._store.revision) - self._base

    @property
    def compacted(self) -> int:
        return max(1, int(self._store.compacted) - self._base)

    def healthy(self) -> str:
        return str(self._store.healthy())

    def start(self) -> Any:
        def started(result: None) -> None:
            self._base = self._store.revision - 1

        return self._store.start().addCallback(started)

    def stop(self) -> Any:
        return self._store.stop()

    async def _shifted(self, work: Any) -> Any:
        base = self._base
        try:
            return await work
        except CompactedError as error:
            raise CompactedError(error.revision - base, error.compacted - base) from error
        except FutureRevisionError as error:
            raise FutureRevisionError(error.revision - base, error.current - base) from error
        except RevisionConflictError as error:
            raise RevisionConflictError(error.key, self._item(error.current)) from error

    def _item(self, item: KeyValue | None) -> KeyValue | None:
        if item is None:
            return None
        return KeyValue(item.key, item.value, item.revision - self._base, item.created - self._base)

    async def create(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        return int(await self._shifted(self._store.create(key, value, ttl=ttl))) - self._base

    async def update(self, key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        work = self._store.update(key, value, expected=expected + self._base, ttl=ttl)
        return int(await self._shifted(work)) - self._base

    async def delete(self, key: str, *, expected: int) -> int:
        return int(await self._shifted(self._store.delete(key, expected=expected + self._base))) - self._base

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        at = revision + self._base if revision else 0
        return self._item(await self._shifted(self._store.get(key, revision=at)))

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Range:
        at = revision + self._base if revision else 0
        page = await self._shifted(self._store.range(prefix, start=start, limit=limit, revision=at))
        items = tuple(item for item in map(self._item, page.items) if item is not None)
        return Range(items, page.revision - self._base, page.remaining)

    async def current_revision(self) -> int:
        return int(await self._store.current_revision()) - self._base

    def watch(
        self, prefix: str, *, after: int, on_events: Callable[[Sequence[Event]], None],
        on_end: Callable[[StoreError], None], on_progress: Callable[[int], None] | None = None,
    ) -> IWatch:  # fmt: skip
        base = self._base

        def shift(event: Event) -> Event:
            return Event(
                event.type,
                event.key,
                event.value,
                event.revision - base,
                event.created - base,
                self._item(event.previous),
            )

        def progress(revision: int) -> None:
            if on_progress is not None:
                on_progress(revision - base)

        watch: IWatch = self._store.watch(
            prefix, after=after + base, on_events=lambda events: on_events([shift(event) for event in events]),
            on_end=on_end, on_progress=progress,
        )  # fmt: skip
        return watch

    async def compact(self, revision: int) -> None:
        await self._shifted(self._store.compact(revision + self._base))
