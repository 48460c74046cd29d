"""A mixin for `unittest.TestCase`: a true API server for the tests of a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from orchd.testing.cluster.cluster import Cluster
from orchd.testing.cluster.namespaces import create_namespace, remove_namespace


class ClusterMixin:
    """Put before TestCase. `cluster` runs for the whole class; each test has a fresh `namespace`.

    `cluster_arguments` are those of `Cluster`. With `isolated` each test has a cluster of its own.
    """

    cluster_arguments: ClassVar[Mapping[str, Any]] = {}
    isolated: ClassVar[bool] = False
    cluster: Cluster
    namespace: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()  # type: ignore[misc]  # TestCase's
        if not cls.isolated:
            cls.cluster = Cluster(**cls.cluster_arguments).start()
            cls.addClassCleanup(cls.cluster.stop)  # type: ignore[attr-defined]  # TestCase's

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]  # TestCase's
        test: Any = self
        if self.isolated:
            self.cluster = Cluster(**self.cluster_arguments).start()
            test.addCleanup(self.cluster.stop)
        self.namespace = create_namespace(self.cluster)
        if not self.isolated:
            test.addCleanup(remove_namespace, self.cluster, self.namespace)
