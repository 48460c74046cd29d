"""A real etcd for tests of any folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchd.testing.processes.etcd import Etcd, find_etcd


def etcd_program() -> str:
    """Path of the etcd program; skips the test if it is not installed."""
    found = find_etcd()
    if found is None:
        pytest.skip("no etcd on the path (Debian: etcd-server)")
    return found


@contextmanager
def running_etcd(folder: Path) -> Iterator[Etcd]:
    """An etcd with its data in `folder`, for as long as the block runs; skips the test if etcd is not installed."""
    server = Etcd(etcd_program(), folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
