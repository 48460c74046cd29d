"""Fixtures for controllers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controllers.cluster_support import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster with all controllers and a namespace ``a``."""
    running = Cluster(tmp_path)
    running.namespace()
    yield running
    running.stop()
