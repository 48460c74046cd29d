"""A real etcd for tests of any folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchd.testing.processes.etcd import Etcd, find_etcd
from orchd.testing.processes.served_store import ServedStore

#: What API servers can share: etcd, and the embedded store served in its way.
KINDS = ("etcd", "served")


def etcd_program() -> str:
    """Path of the etcd program; skips the test if it is not installed."""
    path = find_etcd()
    if path is None:
        pytest.skip("no etcd on the path (Debian: etcd-server)")
    return path


@contextmanager
def running_etcd(folder: Path, kind: str = "etcd") -> Iterator[Etcd]:
    """An etcd with its data in `folder`, or what has its place, for as long as the block runs; skips the test if etcd
    is not installed."""
    server = Etcd(etcd_program(), folder) if kind == "etcd" else ServedStore(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
