"""Fixtures for the controllers of storage."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cluster_support import Cluster
from controller_volume_support import Storage


@pytest.fixture
def storage(cluster: Cluster) -> Storage:
    """A cluster with all controllers and a namespace ``a``."""
    return Storage(cluster)
