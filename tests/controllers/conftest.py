"""Fixtures for controllers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cluster_support import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster with all controllers and a namespace ``a``."""
    running = Cluster(tmp_path)
    running.namespace()
    yield running
    running.stop()
