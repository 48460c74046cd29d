"""Fixtures and settings for all tests."""

from __future__ import annotations

import functools
import gc
import importlib.metadata
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# pytest asks for Twisted's version around every test, which reads its package metadata each time.
importlib.metadata.version = functools.cache(importlib.metadata.version)

# Property tests have no deadline: the time of an example depends on the machine. In an ordinary run the examples are
# derived from the test's source, so that a commit passes or fails alike everywhere; `make fuzz` looks for new ones.
# Sixty of them: the same ones each time find nothing new.
settings.register_profile(
    "same", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
_EXAMPLES = int(os.environ.get("ORCHD_FUZZ", 0))
if _EXAMPLES:
    settings.register_profile("new", settings.get_profile("same"), derandomize=False, max_examples=_EXAMPLES)
settings.load_profile("new" if _EXAMPLES else "same")

# In-process servers create many objects and few cycles, as the daemon does (orchd/daemon.py): with the interpreter's
# default thresholds a quarter of the run is spent on collections that free nothing.
gc.set_threshold(10_000, 10, 10)

_ROOT = Path(__file__).resolve().parents[1]
#: Recorded facts of the reference (tests/reference/README.md).
_REFERENCE = _ROOT / "tests" / "reference"

if sys.dont_write_bytecode and sys.pycache_prefix is None:
    # Where bytecode cannot be written beside the sources: compilation takes longer than anything else in a server's
    # start.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(_ROOT / "build" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells ignore SIGINT in background jobs, and processes that tests interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Started first, so that parallel workers end together: the tests in a browser, which share a worker; files that take
#: half a minute; then files that mostly wait for processes. The others are short.
_FIRST = (
    *(
        "tests/ui/",
        "tests/store/etcd/test_etcd_cluster.py",
        "tests/wire/test_kubectl_writing.py",
        "tests/wire/test_controller_manager.py",
    ),
    *("tests/wire/test_scheduler_process.py", "tests/wire/test_faults.py", "tests/test_storecommands.py"),
    *("tests/contracts/test_stores.py", "tests/store/", "tests/wire/", "tests/test_packaging.py", "tests/test_tap.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(
        key=lambda item: next((at for at, start in enumerate(_FIRST) if item.nodeid.startswith(start)), len(_FIRST))
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """With ``--dist=loadfile``, the browser's files go to one worker, which starts one browser and one server for
    them."""
    if config.getoption("dist") != "loadfile":
        return None
    # pytest-xdist is optional.
    from tests.scheduling import FileScheduling

    return FileScheduling(config, log)


def pytest_collection_finish() -> None:
    # Thousands of test items live until the end: exempt them from garbage collection.
    gc.collect()
    gc.freeze()


@pytest.fixture
def builtin_tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Modifies tables of built-in kinds for one test; catalogs that were built before or during the test are not reused
    by others."""
    # Imported here, after the settings above that say where bytecode is written.
    from orchd.kinds import catalog

    caches = (catalog.builtin_types, catalog._catalog)
    for cached in caches:
        cached.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


@pytest.fixture(scope="session")
def reference() -> Callable[[str], Any]:
    """Loads a file of recorded API facts by name (``"defaults"``)."""
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            loaded[name] = json.loads((_REFERENCE / f"{name}.json").read_text())
        return loaded[name]

    return load
