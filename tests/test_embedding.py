"""The server as part of another Twisted application: docs/embedding.md and its example."""

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

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.client.interfaces import ResourceRef
from orchd.config.options import from_mapping, from_options
from orchd.config.settings import Settings
from orchd.tap import makeService
from orchd.testing.processes.daemon import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "embed.py"


def leftovers() -> set[Any]:
    """Delayed calls, readers and writers that are left in the reactor. The text of a delayed call changes with time."""
    core: Any = reactor
    return {*core.getDelayedCalls(), *core.getReaders(), *core.getWriters()}


def test_documented_example_runs(tmp_path: Path) -> None:
    """The program of the documentation exits by itself and reports what each of its two servers did."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(EXAMPLE)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"lists (.*)", done.stdout) == ["from-orch", "from-kubernetes"]


@pytest_twisted.ensureDeferred
async def test_two_servers_leave_nothing_behind() -> None:
    """After two servers in one process have stopped, the reactor holds none of their calls or sockets."""
    example = runpy.run_path(str(EXAMPLE))
    before = leftovers()
    out = io.StringIO()
    await example["run"](reactor, out)
    assert len(out.getvalue().splitlines()) == 2
    assert leftovers() - before == set()


def open_files() -> set[str]:
    """Names of the files that the process has open."""
    return {str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}


def rich_settings(folder: Path, **more: str) -> Settings:
    """Settings of a server with controllers, a batching audit log and an unreachable OpenID issuer."""
    (folder / "policy.yaml").write_text("apiVersion: audit.orch.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    values = {
        "data-dir": str(folder / "data"), "bind-address": "127.0.0.1", "secure-port": "0",
        "audit-policy-file": str(folder / "policy.yaml"), "audit-log-path": str(folder / "audit.log"), "audit-log-mode": "batch",
        "oidc-issuer-url": "https://127.0.0.1:1", "oidc-client-id": "client",
    }  # fmt: skip
    return from_options(from_mapping({**values, **more}, capabilities=capabilities()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are read from /proc")
@pytest_twisted.ensureDeferred
async def test_one_server_after_another(tmp_path: Path) -> None:
    """Servers with all background work start and stop repeatedly on one data folder, and leave nothing behind."""
    before, opened = leftovers(), open_files()
    for number in range(2):
        server = ApiServer(
            rich_settings(tmp_path), reactor, endpoint=TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1")
        )
        server.service.startService()
        await server.service.wait_ready()
        created = await server.client.create(
            ResourceRef("", "v1", "namespaces"),
            "",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n-{number}"}},
        )
        assert created["metadata"]["uid"]
        await server.service.stopService()
        assert leftovers() - before == set()
        # The reactor keeps its threads, and the system's trusted certificates may have been read.
        assert {name for name in open_files() - opened if str(tmp_path) in name or name.startswith("socket:")} == set()
    assert "n-0" in (tmp_path / "audit.log").read_text() and "n-1" in (tmp_path / "audit.log").read_text()


@pytest_twisted.ensureDeferred
async def test_embedded_service_does_not_stop_the_reactor(tmp_path: Path) -> None:
    """With a reactor passed to `makeService`, a failed start is raised by `wait_ready`, and the reactor keeps
    running."""
    taken = await TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(Factory())
    values = {"data-dir": str(tmp_path / "d"), "bind-address": "127.0.0.1", "secure-port": str(taken.getHost().port)}
    options: Any = from_mapping({**values, "controllers": "-*"}, capabilities=capabilities())
    service: Any = makeService(options, reactor)
    service.startService()
    try:
        with pytest.raises(OSError):
            await service.wait_ready()
        assert reactor.running
    finally:
        await service.stopService()
        await taken.stopListening()
