"""The server as a part of somebody else's Twisted application: docs/embedding.md and its example."""

from __future__ import annotations

import io
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.protocol import Factory

from orchd.assembly.plugins import capabilities
from orchd.config.options import from_mapping
from orchd.tap import makeService

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "embed.py"


def leftovers() -> set[str]:
    """What the reactor still has to do: delayed calls, and what it reads and writes."""
    core: Any = reactor
    return {str(item) for item in (*core.getDelayedCalls(), *core.getReaders(), *core.getWriters())}


def test_the_example_runs_as_a_program(tmp_path: Path) -> None:
    """The program in the documentation ends by itself, and says what each of its two servers did."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(EXAMPLE)], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"lists (.*)", done.stdout) == ["from-orch", "from-kubernetes"]


@pytest_twisted.ensureDeferred
async def test_two_servers_leave_nothing_behind() -> None:
    """After two servers of one process have stopped, the reactor has nothing of theirs to do."""
    example = runpy.run_path(str(EXAMPLE))
    before = leftovers()
    out = io.StringIO()
    await example["run"](reactor, out)
    assert len(out.getvalue().splitlines()) == 2
    assert leftovers() - before == set()


@pytest_twisted.ensureDeferred
async def test_a_service_with_a_reactor_leaves_the_process_alone(tmp_path: Path) -> None:
    """Whoever gives `makeService` a reactor learns of a failed start from `wait_ready`; the reactor goes on."""
    taken = await TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(Factory())
    values = {"data-dir": str(tmp_path / "d"), "bind-address": "127.0.0.1", "secure-port": str(taken.getHost().port)}
    service: Any = makeService(from_mapping({**values, "controllers": "-*"}, capabilities=capabilities()), reactor)
    service.startService()
    try:
        with pytest.raises(OSError):
            await service.wait_ready()
        assert reactor.running  # type: ignore[attr-defined]  # the module stands for the reactor in force
    finally:
        await service.stopService()
        await taken.stopListening()
