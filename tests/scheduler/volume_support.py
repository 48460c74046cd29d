"""A small cluster with volumes, for tests of plugins."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds import gates
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.plugins.registry import plugin_factories
from orchd.scheduler.pods import Pod, Templates
from orchd.scheduler.values import CycleState, Status
from orchd.testing.doubles.informers import MemoryInformer, MemoryInformers

STORAGE = "storage.orch.io"
REFS = {
    "PersistentVolume": ResourceRef("", "v1", "persistentvolumes"),
    "PersistentVolumeClaim": ResourceRef("", "v1", "persistentvolumeclaims"),
    "StorageClass": ResourceRef(STORAGE, "v1", "storageclasses"),
    "CSINode": ResourceRef(STORAGE, "v1", "csinodes"),
    "CSIDriver": ResourceRef(STORAGE, "v1", "csidrivers"),
    "CSIStorageCapacity": ResourceRef(STORAGE, "v1beta1", "csistoragecapacities"),
}


class Cluster:
    """Objects are added with `put`, nodes and pods with `node` and `pod`. Plugins get `handle`; `writes` are their
    updates, which `response` (if set) answers or rejects."""

    def __init__(self, release: Release = SPECIFICATION) -> None:
        self.informers = MemoryInformers()
        self.snapshot = Snapshot(ORCH)
        self.clock = Clock()
        self.templates = Templates()
        self.pods: dict[str, Object] = {}
        self.writes: list[Object] = []
        self.answer: Callable[[Object], Object] | None = None
        self._version = 100
        #: Feature gates.
        self.features: dict[str, bool] = {}
        self.handle: Any = SimpleNamespace(
            dialect=ORCH, profile="default-scheduler", client=self, informers=self.informers, snapshot=self.snapshot,
            clock=self.clock, informer=self.informers.informer, feature=self.feature, release=release, pod_object=lambda pod: self.pods.get(pod.key),
        )  # fmt: skip

    def feature(self, name: str) -> bool:
        return gates.enabled(self.features, name)

    def informer(self, kind: str) -> MemoryInformer:
        return self.informers.informer(REFS[kind])

    def put(self, kind: str, name: str, namespace: str = "", metadata: Any = None, **members: Any) -> Object:
        """Create or replace an object, with a new resource version."""
        self._version += 1
        own = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(self._version), **(metadata or {})}
        obj = {"metadata": {**own, **({"namespace": namespace} if namespace else {})}, **members}
        self.informer(kind).put(obj)
        return obj

    def volume(
        self, name: str, size: str = "1Gi", *, metadata: Object | None = None, phase: str = "Available", **spec: Any
    ) -> Object:
        whole = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s", **spec}
        return self.put("PersistentVolume", name, metadata=metadata, spec=whole, status={"phase": phase})

    def claim(
        self,
        name: str,
        size: str = "1Gi",
        *,
        bound: str = "",
        metadata: Object | None = None,
        phase: str = "",
        **spec: Any,
    ) -> Object:
        """A claim; `bound` is the volume of a fully bound one."""
        whole = {
            "resources": {"requests": {"storage": size}},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "s",
            **spec,
        }
        if bound:
            whole["volumeName"] = bound
            metadata = {**(metadata or {}), "annotations": {"pv.orch.io/bind-completed": "yes"}}
        return self.put("PersistentVolumeClaim", name, "ns", metadata=metadata, spec=whole, status={"phase": phase})

    def storage_class(
        self, name: str = "s", *, provisioner: str = "orch.io/no-provisioner", immediate: bool = False, **members: Any
    ) -> None:
        mode = "Immediate" if immediate else "WaitForFirstConsumer"
        self.put("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode, **members)

    def node(self, name: str, allocatable: Any = None, **labels: str) -> None:
        metadata = {"name": name, "labels": {"host": name, **labels}}
        self.snapshot.put_node(NodeFacts({"metadata": metadata, "status": {"allocatable": allocatable or {}}}))

    def pod(self, name: str, *claims: str, node: str = "", volumes: list[Object] | None = None) -> Pod:
        """A pod with claims and other volumes, which runs on `node` if given."""
        sources: list[Object] = [{"persistentVolumeClaim": {"claimName": each}} for each in claims]
        listed = [{"name": f"w{at}", **each} for at, each in enumerate([*(volumes or []), *sources])]
        spec: Object = {"containers": [], "volumes": listed, "nodeName": node}
        obj = {"metadata": {"namespace": "ns", "name": name, "uid": f"uid-{name}"}, "spec": spec}
        pod = self.templates.pod(obj)
        self.pods[pod.key] = obj
        if node:
            self.snapshot.add_pod(pod)
        return pod

    async def update(self, ref: ResourceRef, namespace: str, name: str, obj: Object) -> Object:
        self.writes.append(obj)
        if self.answer is not None:
            obj = self.answer(obj)
        self._version += 1
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._version)}}

    # -- asking plugins

    def assert_forms_agree(self, plugin: Any, pod: Pod) -> None:
        """The columnar and the plain filter have the same result for every node."""
        self.verdicts(plugin, pod)

    def verdicts(self, plugin: Any, pod: Pod) -> dict[str, str] | str:
        """The result of the columnar filter by node ("" if the node passes), checked against the plain one. If the
        pre-filter that the release runs rejects the pod, the text of its status."""
        state = CycleState()
        factory = plugin_factories(self.handle.release).get(plugin.name)
        has_pre_filter = factory is not None and "preFilter" in factory.points
        before = plugin.pre_filter(state, pod) if has_pre_filter else None
        if before is not None:
            return _text(before)
        compiled = plugin.compile_filter(state, pod)
        rows = [int(row) for row in self.snapshot.rows()]
        plain = {self.snapshot.name_of(row): _text(plugin.filter(state, pod, self.snapshot.node(row))) for row in rows}
        if compiled is None:
            columnar = dict.fromkeys(plain, "")
        else:
            codes, some = compiled.codes(None), compiled.codes(self.snapshot.rows())
            assert [int(codes[row]) for row in rows] == [int(code) for code in some]
            statuses = [compiled.status(int(codes[row])) if codes[row] else None for row in rows]
            columnar = dict(zip(plain, map(_text, statuses), strict=True))
        assert columnar == plain
        return columnar


def _text(status: Status | None) -> str:
    """Code and reasons of a status; "" for none."""
    return "" if status is None else f"{status.code.name}: {', '.join(status.reasons)}"
