"""A scheduler without a server: informers that a test fills, and a client that applies the scheduler's writes to
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, cast

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.config.decoding import decode_configuration, default_configuration
from orchd.scheduler.config.model import ExtenderConfig
from orchd.scheduler.extenders import HttpExtender
from orchd.scheduler.interfaces import IExtender
from orchd.scheduler.service import Environment, Scheduler
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.lagging import LaggingInformers
from orchd.txkit.coroutines import start

PODS = ResourceRef("", "v1", "pods")
NODES = ResourceRef("", "v1", "nodes")
SERVICES = ResourceRef("", "v1", "services")
NAMESPACES = ResourceRef("", "v1", "namespaces")
BUDGETS = ResourceRef("policy", "v1", "poddisruptionbudgets")
HOST, ZONE = "orch.io/hostname", "topology.orch.io/zone"


def node(
    name: str, *, cpu: Any = 4, memory: str = "8Gi", pods: int = 110, zone: str = "", labels: Any = None, **spec: Any
) -> Object:
    """A node; keyword arguments become its spec."""
    known = {HOST: name, **({ZONE: zone} if zone else {}), **(labels or {})}
    allocatable = {"cpu": str(cpu), "memory": memory, "pods": str(pods)}
    return {
        "metadata": {"name": name, "uid": f"node-{name}", "labels": known},
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def pod(
    name: str, *, cpu: Any = None, on: str = "", priority: int = 0, labels: Any = None, start: str = "", namespace: str = "ns",
    image: str = "app:v1", deleting: bool = False, **spec: Any,
) -> Object:  # fmt: skip
    """A pod; keyword arguments become its spec."""
    requests = {} if cpu is None else {"cpu": str(cpu)}
    containers = [{"name": "c", "image": image, "resources": {"requests": requests}}]
    metadata: Object = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "labels": labels or {},
        "resourceVersion": "1",
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    whole = {"schedulerName": "default-scheduler", "priority": priority, "containers": containers, **spec}
    if on:
        whole["nodeName"] = on
    return {"metadata": metadata, "spec": whole, "status": {"startTime": start} if start else {}}


class FakeApi:
    """Receives the scheduler's writes. Bindings reach the informers at once unless `late`; `refuse` makes the next ones
    fail."""

    def __init__(self, informers: MemoryInformers) -> None:
        self.informers = informers
        self.bound: list[tuple[str, str]] = []
        self.deleted: list[str] = []
        #: The DeleteOptions of each deletion, by pod name.
        self.delete_options: dict[str, Any] = {}
        self.patches: list[tuple[str, Object]] = []
        self.late = False
        self.refuse: list[ApiError] = []
        #: Bindings that wait for a response while `hold` is set.
        self.hold = False
        self.held: list[Deferred[None]] = []

    async def create(
        self, ref: ResourceRef, namespace: str, obj: Object, *, name: str = "", subresource: str = "", **options: Any
    ) -> Object:
        assert subresource == "binding"
        if self.hold:
            waiting: Deferred[None] = Deferred()
            self.held.append(waiting)
            await waiting
        if self.refuse:
            raise self.refuse.pop(0)
        self.bound.append((name, obj["target"]["name"]))
        if not self.late:
            self.confirm(namespace, name, obj["target"]["name"])
        return {}

    def confirm(self, namespace: str, name: str, node_name: str) -> None:
        """Show a binding to the informer."""
        found = self.informers.informer(PODS).get(namespace, name)
        assert found is not None
        self.informers.put(PODS, {**found, "spec": {**found["spec"], "nodeName": node_name}})

    async def patch(self, ref: ResourceRef, namespace: str, name: str, patch: Object, **options: Any) -> Object:
        self.patches.append((name, patch))
        found = self.informers.informer(PODS).get(namespace, name)
        if found is not None:
            self.informers.put(PODS, {**found, "status": {**found["status"], **patch["status"]}})
        return {}

    async def update(
        self, ref: ResourceRef, namespace: str, name: str, obj: Object, *, subresource: str = ""
    ) -> Object:
        self.informers.put(ref, obj)
        return obj

    async def delete(self, ref: ResourceRef, namespace: str, name: str, *, options: Any = None) -> Object:
        self.deleted.append(name)
        self.delete_options[name] = options
        return {}


class Events:
    """Records events: (name of the object, reason, note)."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def event(
        self, regarding: Object, type: str, reason: str, note: str, *, action: str = "", related: Object | None = None
    ) -> None:
        self.seen.append((regarding["metadata"]["name"], reason, note))


class _ExtenderConnection:
    def __init__(self, response: Callable[[], Any]) -> None:
        self._answer = response

    async def post(self, verb: str, document: Any, *, again: bool = True) -> Any:
        return self._answer()


class SchedulerHarness:
    """A running scheduler. `settle` advances the time. With `lagging`, `late` holds its informers back. `extender` is
    called for the response to each request of a filter extender; it may raise ExtenderError."""

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, seed: int = 1, factories: Any = None, lagging: bool = False,
        extender: Callable[[], Any] | None = None, features: Mapping[str, bool] = MappingProxyType({}),
        release: Release = SPECIFICATION,
    ) -> None:  # fmt: skip
        self.informers = MemoryInformers()
        self.late = LaggingInformers(self.informers)
        self.api = FakeApi(self.informers)
        self.events = Events()
        self.clock = Clock()
        self._extender = extender
        chosen = default_configuration(ORCH, features, release)
        if config is not None:
            head = {"apiVersion": "orchscheduler.config.orch.io/v1beta3", "kind": "OrchSchedulerConfiguration"}
            chosen = decode_configuration(orjson.dumps({**head, **config}), ORCH, features)
        # They implement the methods that the scheduler calls.
        client: Any = self.api
        events: Any = self.events
        environment = Environment(
            dialect=ORCH,
            client=client,
            informers=self.late if lagging else self.informers,
            recorder=lambda name: events,
            clock=self.clock,
            wall=lambda: 1_800_000_000.0 + self.clock.seconds(),
            random=Random(seed),
            release=release,
            features=features,
        )
        self.scheduler = Scheduler(environment, chosen, factories=factories, extenders=self._extenders)
        start(self.scheduler.start())

    def _extenders(self, snapshot: Snapshot) -> Sequence[IExtender]:
        if self._extender is None:
            return ()
        config = ExtenderConfig(url_prefix="http://x", filter_verb="filter", node_cache_capable=True)
        connection = cast("Any", _ExtenderConnection(self._extender))
        nodes, pods = self.informers.informer(NODES), self.informers.informer(PODS)
        return (HttpExtender(config, connection, nodes, pods, snapshot),)

    def put(self, *objects: Object) -> None:
        """Add nodes and pods, told apart by their namespace."""
        for obj in objects:
            self.informers.put(PODS if "namespace" in obj["metadata"] else NODES, obj)

    def settle(self, seconds: float = 0.0) -> None:
        """Run everything that is due within `seconds`."""
        for _ in range(20):
            self.clock.advance(0)
        while seconds > 0:
            step = min(seconds, 0.5)
            self.clock.advance(step)
            seconds -= step
            for _ in range(5):
                self.clock.advance(0)

    def where(self, name: str) -> str:
        """The node that a pod was bound to, "" for none."""
        return dict(self.api.bound).get(name, "")

    def condition(self, name: str) -> dict[str, Any]:
        """The last condition that was written for a pod, empty without one."""
        patches = [patch for each, patch in self.api.patches if each == name and "conditions" in patch["status"]]
        return patches[-1]["status"]["conditions"][0] if patches else {}

    def message(self, name: str) -> str:
        """The message of the last condition that was written for a pod."""
        message: str = self.condition(name).get("message", "")
        return message

    def place(self, name: str) -> str:
        """The queue that a pod is in."""
        queued = self.scheduler.queue.get(f"uid-{name}")
        return "" if queued is None else queued.place
