"""One controller on a server, with informers that a test can delay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from zope.interface import implementer

from orchd.client.informers import Informers
from orchd.client.interfaces import IEventRecorder, ResourceRef
from orchd.controllers.interfaces import Environment, Factory
from orchd.controllers.settings import ControllerSettings
from orchd.kinds.catalog import builtin_catalog
from orchd.testing.doubles.lagging import LaggingInformers
from orchd.testing.doubles.server import NOW, InProcessServer, make_server, run

NAMESPACES = ResourceRef("", "v1", "namespaces")


@implementer(IEventRecorder)
class RecordedEvents:
    """A recorder that keeps (reason, note)."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def event(self, regarding: Any, type: str, reason: str, note: str, **more: Any) -> None:
        self.notes.append((reason, note))


class LaggingCluster:
    """`informers` are the controller's; nothing is delayed before `informers.hold`. Reads of the cluster itself are
    current."""

    def __init__(self, folder: Path, factory: Factory) -> None:
        self.server: InProcessServer = make_server(
            folder, "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
        )
        self.client = self.server.client()
        self._source = Informers(self.client, self.server.clock, Random(1))
        self.informers = LaggingInformers(self._source)
        self.recorder = RecordedEvents()
        catalog = builtin_catalog(self.server.dialect)
        self.passed = 0.0
        environment = Environment(
            dialect=self.server.dialect,
            client=lambda account: self.client,
            reader=self.client,
            recorder=lambda component: self.recorder,
            informers=self.informers,
            clock=self.server.clock,
            wall=lambda: NOW + self.passed,
            random=Random(2),
            catalog=lambda: catalog,
            authority="",
            issue_token=lambda account, name: "",
            signing_authority=lambda signer: None,
            settings=ControllerSettings(),
            several_servers=False,
        )
        run(self.client.create(NAMESPACES, "", {"metadata": {"name": "a"}}))
        self.controller: Any = factory(environment)
        self._source.start()
        self.settle()
        run(self.controller.start())
        self.settle()

    def settle(self, seconds: float = 1.0) -> None:
        """Let the controller work for some seconds."""
        for _ in range(10):
            self.passed += seconds / 10
            self.server.clock.advance(seconds / 10)

    def create(self, ref: ResourceRef, obj: dict[str, Any]) -> dict[str, Any]:
        created: dict[str, Any] = run(self.client.create(ref, "a", obj))
        self.settle()
        return created

    def patch(self, ref: ResourceRef, name: str, change: Any, subresource: str = "") -> None:
        kind = "application/merge-patch+json"
        run(self.client.patch(ref, "a", name, change, content_type=kind, subresource=subresource))
        self.settle()

    def delete(self, ref: ResourceRef, name: str, **options: Any) -> None:
        run(self.client.delete(ref, "a", name, options=options))
        self.settle()

    def items(self, ref: ResourceRef) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = run(self.client.list(ref, "a"))["items"]
        return items

    def names(self, ref: ResourceRef) -> list[str]:
        return sorted(obj["metadata"]["name"] for obj in self.items(ref))

    def touch(self, ref: ResourceRef, name: str) -> None:
        """Change an object so that its controller reconciles it again."""
        self.patch(ref, name, {"metadata": {"annotations": {"touched": str(self.passed)}}})

    def ready(self, ref: ResourceRef, *names: str, value: str = "True") -> None:
        """Set pods running and ready (or not ready)."""
        condition = {"type": "Ready", "status": value, "lastTransitionTime": "2020-01-01T00:00:00Z"}
        for name in names or self.names(ref):
            self.patch(ref, name, {"status": {"phase": "Running", "conditions": [condition]}}, "status")

    def stop(self) -> None:
        stopping = self.controller.stop()
        run(stopping)
        run(self._source.stop())
        self.server.stop()


#: Starts a controller on a cluster of its own.
StartLagging = Callable[[Factory], LaggingCluster]
