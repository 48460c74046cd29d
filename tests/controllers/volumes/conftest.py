"""Fixtures for the storage controllers."""

from __future__ import annotations

import pytest

from tests.controllers.cluster_support import Cluster
from tests.controllers.volumes.controller_volume_support import Storage


@pytest.fixture
def storage(cluster: Cluster) -> Storage:
    """A cluster with all controllers and a namespace ``a``."""
    return Storage(cluster)
