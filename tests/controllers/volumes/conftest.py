"""Fixtures for the storage controllers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controllers.cluster_support import Cluster
from tests.controllers.volumes.controller_volume_support import CONTROLLERS_OF_STORAGE, Storage


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    """A cluster with the controllers of storage and a namespace ``a``."""
    running = Cluster(tmp_path, CONTROLLERS_OF_STORAGE)
    running.namespace()
    yield Storage(running)
    running.stop()
