"""An in-process server in each dialect, and the command line as its client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.dialect import DIALECTS
from orchd.testing.server import InProcessServer, make_server
from tests.ctl.ctl_runner import Ctl


@pytest.fixture(params=list(DIALECTS))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessServer]:
    made = make_server(tmp_path, f"--dialect={request.param}")
    yield made
    made.stop()


@pytest.fixture
def ctl(server: InProcessServer) -> Ctl:
    return Ctl(server)
