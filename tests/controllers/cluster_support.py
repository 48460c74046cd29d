"""An in-memory server with controllers, and helpers for its tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.config.choices import CONTROLLERS_BUILT, LATER_CONTROLLERS
from orchd.controllers.objects import PODS
from orchd.errors import ApiError
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.server import NOW, InProcessServer, make_server, run

NAMESPACES = ResourceRef("", "v1", "namespaces")
#: Controllers that every release has.
CONTROLLERS_OF_ALL_RELEASES = tuple(name for name in CONTROLLERS_BUILT if name not in LATER_CONTROLLERS)


@dataclass(frozen=True)
class _Settled:
    """A cluster whose controllers had nothing more to do after its start: its store, and its time."""

    store: MemoryStore
    passed: float
    looks: int


#: By controllers and further flags.
_settled: dict[tuple[str, ...], _Settled] = {}


class Cluster:
    """`server` runs with the controllers of `names` and further `flags`. The first such cluster starts from nothing, as
    tests with `fresh` do; later ones start as it was when its controllers had nothing more to do."""

    def __init__(
        self,
        folder: Path,
        names: Iterable[str] = CONTROLLERS_OF_ALL_RELEASES,
        flags: Iterable[str] = (),
        *,
        fresh: bool = False,
    ) -> None:
        names, flags = tuple(names), tuple(flags)
        # The content of a file that a flag names may change between clusters.
        files = any("/" in flag and Path(flag.partition("=")[2]).exists() for flag in flags)
        settled = None if fresh or files else _settled.get((*names, *flags))
        self.passed = settled.passed if settled else 0.0
        self._looks = settled.looks if settled else 0
        self.server: InProcessServer = make_server(
            folder,
            f"--controllers={','.join(names)}",
            "--disable-admission-plugins=ServiceAccount",
            # Its only candidate leads anyway; renewing the lease is a write in every two seconds of a test.
            "--leader-elect=false",
            *flags,
            wall=self._wall,
            store=settled.store if settled else None,
        )
        self.client = self.server.client()
        self.settle()
        if settled is None and not files:
            clock = Clock()
            clock.advance(self.server.clock.seconds())
            store = self.server.store.copy(clock)
            _settled[(*names, *flags)] = _Settled(store, self.passed, self._looks)

    def _wall(self) -> float:
        """The wall time, which increases with every call, so that Events of one moment have different names."""
        self._looks += 1
        return NOW + self.passed + self._looks * 1e-6

    def settle(self, seconds: float = 0.5) -> None:
        """Let controllers work for some seconds."""
        for _ in range(10):
            self.passed += seconds / 10
            self.server.clock.advance(seconds / 10)

    def namespace(self, name: str = "a") -> None:
        run(self.client.create(NAMESPACES, "", {"metadata": {"name": name}}))
        self.settle()

    def create(self, ref: ResourceRef, obj: dict[str, Any], namespace: str = "a") -> dict[str, Any]:
        created: dict[str, Any] = run(self.client.create(ref, namespace, obj))
        return created

    def get(self, ref: ResourceRef, name: str, namespace: str = "a") -> dict[str, Any] | None:
        try:
            obj: dict[str, Any] = run(self.client.get(ref, namespace, name))
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return obj

    def items(self, ref: ResourceRef, namespace: str = "a") -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = run(self.client.list(ref, namespace))["items"]
        return items

    def names(self, ref: ResourceRef, namespace: str = "a") -> list[str]:
        return [obj["metadata"]["name"] for obj in self.items(ref, namespace)]

    def patch(self, ref: ResourceRef, name: str, change: Any, namespace: str = "a", subresource: str = "") -> None:
        run(
            self.client.patch(
                ref, namespace, name, change, content_type="application/merge-patch+json", subresource=subresource
            )
        )
        self.settle()

    def delete(self, ref: ResourceRef, name: str, namespace: str = "a", **options: Any) -> None:
        run(self.client.delete(ref, namespace, name, options=options))
        self.settle()

    def make_ready(self, namespace: str = "a", phase: str = "Running") -> None:
        """Play the kubelets: every pod that has not ended gets the phase, and is ready if that is Running."""
        value = "True" if phase == "Running" else "False"
        condition = {"type": "Ready", "status": value, "lastTransitionTime": "2020-01-01T00:00:00Z"}
        for pod in self.items(PODS, namespace):
            if pod["status"].get("phase") in ("Succeeded", "Failed", phase):
                continue
            status = {
                "phase": phase,
                "podIP": f"10.1.0.{len(pod['metadata']['name']) % 200 + 1}",
                "conditions": [condition],
            }
            self.patch(PODS, pod["metadata"]["name"], {"status": status}, namespace, "status")

    def stop(self) -> None:
        self.server.stop()


def template(labels: dict[str, str], image: str = "x", **spec: Any) -> dict[str, Any]:
    """A pod template of one container."""
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}
