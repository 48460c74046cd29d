"""kill -9 at any moment: every acknowledged write exists once, and revisions never decrease."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest_twisted
from twisted.internet import reactor

from orchd.store.compaction import HistoryLimits
from orchd.store.sqlite import SqliteStore
from orchd.testing.contracts.store import Seen, Subject

ROUNDS = int(os.environ.get("ORCHD_CRASH_ROUNDS", "3"))
CHILD = Path(__file__).with_name("crash_child.py")


def run_and_kill(path: Path, tag: str, seconds: float) -> list[tuple[str, int]]:
    """The writes that a child acknowledged before it was killed, `seconds` after it was ready."""
    root = str(Path(__file__).resolve().parents[2])
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(path), tag], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    threading.Timer(seconds, child.send_signal, [signal.SIGKILL]).start()
    lines = child.stdout.read().decode().splitlines()
    assert child.wait() == -signal.SIGKILL, lines[-1:]
    told = [line.split(" ") for line in lines if line.startswith("+ ")]
    return [(key, int(revision)) for _, key, revision in told]


@pytest_twisted.ensureDeferred
async def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    """After each kill the store opens with every acknowledged write at its revision."""
    path = tmp_path / "store"
    choose = random.Random(os.environ.get("ORCHD_CRASH_SEED", "1"))
    created: dict[str, int] = {}
    counted: list[int] = []
    highest = 1
    for number in range(ROUNDS):
        told = run_and_kill(path, str(number), choose.uniform(0.05, 0.6))
        assert told
        revisions = [revision for _, revision in told]
        assert len(set(revisions)) == len(revisions), "a revision was given twice"
        assert min(revisions) > highest, "revisions went back"
        for key, revision in told:
            if key == "/counter":
                counted.append(revision)
            else:
                assert key not in created
                created[key] = revision

        store = SqliteStore(
            reactor, path, dialect_name="any", history=HistoryLimits(compaction_interval=0, recent_events=50)
        )
        await store.start()
        try:
            assert store.revision >= max(revisions)
            items = (await store.range("/c/")).items
            there = {item.key: item.revision for item in items}
            assert len(there) == len(items)
            assert created.items() <= there.items()
            # Unacknowledged: at most the pending write of each writer.
            assert len(there) - len(created) <= 8 * (number + 1)
            assert all(item.value == item.key.encode() * 20 and item.created == item.revision for item in items)
            counter = await store.get("/counter")
            assert counter is not None
            assert counter.revision >= counted[-1]
            assert len(counted) <= int(counter.value) <= len(counted) + number + 1
            seen = Seen()
            seen.watch(store, "/", store.compacted)
            await Subject(store=store, reactor=reactor).until(partial(bool, seen.progress))
            assert seen.revisions() == list(range(store.compacted + 1, store.revision + 1))
            highest = store.revision
        finally:
            await store.stop()
