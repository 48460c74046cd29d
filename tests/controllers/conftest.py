"""Fixtures for controllers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.controllers.interfaces import Factory
from tests.controllers.cluster_support import CONTROLLERS_OF_ALL_RELEASES, Cluster
from tests.controllers.lagging_support import LaggingCluster, StartLagging


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster with the controllers that the module names in RUNNING_CONTROLLERS, otherwise with all, with further
    flags of SERVER_FLAGS, and a namespace ``a``."""
    names = getattr(request.module, "RUNNING_CONTROLLERS", CONTROLLERS_OF_ALL_RELEASES)
    running = Cluster(tmp_path, names, getattr(request.module, "SERVER_FLAGS", ()))
    running.namespace()
    yield running
    running.stop()


@pytest.fixture
def start_lagging(tmp_path: Path) -> Iterator[StartLagging]:
    """Starts a controller with informers that a test can delay."""
    clusters: list[LaggingCluster] = []

    def start(factory: Factory) -> LaggingCluster:
        clusters.append(LaggingCluster(tmp_path, factory))
        return clusters[-1]

    yield start
    for each in clusters:
        each.stop()
