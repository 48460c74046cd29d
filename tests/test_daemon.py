"""Garbage collection of a dedicated process."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.daemon import YoungCollector, collect_seldom
from orchd.txkit.memory import FreeMemory


class Reactor(Clock):
    """A clock of a reactor that has threads."""

    def callInThread(self, function: Callable[[], None]) -> None:
        function()


@pytest.fixture
def generations() -> Iterator[list[int]]:
    """Record which generations are collected; automatic collections are off."""
    sizes: list[int] = []

    def observe(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            sizes.append(info["generation"])

    before = gc.get_threshold()
    gc.disable()
    gc.callbacks.append(observe)
    yield sizes
    gc.callbacks.remove(observe)
    gc.enable()
    gc.set_threshold(*before)


def test_young_objects_are_collected_five_times_a_second(generations: list[int]) -> None:
    """Every tenth collection includes the next generation, none includes all objects."""
    clock = Reactor()
    YoungCollector(clock).start()
    clock.pump([0.2] * 21)
    assert generations == ([0] * 9 + [1]) * 2 + [0]


def test_all_objects_are_collected_once_after_terms_have_ended(generations: list[int]) -> None:
    """Locks that are lost together cause one collection of all objects, when their terms are over."""
    clock, ended = Reactor(), [0]
    YoungCollector(clock, lambda: ended[0]).start()
    for ended[0] in (0, 1, 3, 3, 3, 4, 4, 4):
        clock.pump([0.2] * 10)
    assert [each for each in generations if each] == [1, 1, 1, 2, 1, 1, 2, 1]


def test_collections_of_all_objects_become_rare(generations: list[int]) -> None:
    """The frequent collections must not bring forward the one that examines all objects."""
    YoungCollector(Reactor()).start()
    assert gc.get_threshold()[2] >= 1800


def test_collections_examine_few_objects(generations: list[int]) -> None:
    """Requests do not wait long for a collection of the second generation."""
    collect_seldom()
    objects, rounds, _ = gc.get_threshold()
    assert objects * (rounds + 1) <= 20_000


def test_free_memory_is_checked_with_the_second_generation(
    generations: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is freed is looked at every two seconds."""
    checks: list[int] = []
    monkeypatch.setattr(FreeMemory, "check", lambda free: checks.append(len(generations)))
    clock = Reactor()
    YoungCollector(clock).start()
    clock.pump([0.2] * 21)
    assert checks == [10, 20]


#: Blocks below the threshold from which the C library maps memory of its own, and one more that keeps the heap from
#: shrinking.
_FREE_BLOCKS = """
import os
from orchd.daemon import settle_memory
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
blocks = [bytes(8000) for _ in range(8000)]
last = bytes(8000)
full = resident()
del blocks
settle_memory()
print(full - resident())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library cannot")
def test_freed_memory_is_given_back() -> None:
    """What the start needed for a while is not kept for the life of the server."""
    result = subprocess.run([sys.executable, "-c", _FREE_BLOCKS], capture_output=True, text=True, check=True)
    assert int(result.stdout) > 50_000_000
