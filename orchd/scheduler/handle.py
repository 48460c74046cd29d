"""The handle through which plugins use the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.client.interfaces import IClient, IEventRecorder, IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds import gates
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.framework.whatif import WhatIf
from orchd.scheduler.interfaces import IExtender, IHandle, INominator, IWaitingPod
from orchd.scheduler.metrics import SchedulerMetrics
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pod_conditions import PODS
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import CycleState, Status
from orchd.txkit.compute_thread import ComputeThread


@implementer(IHandle)
@dataclass(slots=True, kw_only=True, eq=False)
class Handle:
    """See IHandle. `what_if` is set when the profile's plugins are made."""

    dialect: Dialect
    profile: str
    client: IClient
    informers: IInformers
    snapshot: Snapshot
    recorder: IEventRecorder
    clock: IReactorTime
    wall: Callable[[], float]
    random: Random
    nominator: INominator
    extenders: Sequence[IExtender]
    metrics: SchedulerMetrics
    find_waiting: Callable[[str], IWaitingPod | None]
    activate_uids: Callable[[Iterable[str]], None]
    compute: ComputeThread = field(default_factory=ComputeThread)
    release: Release = SPECIFICATION
    features: Mapping[str, bool] = field(default_factory=dict)
    what_if: WhatIf = field(init=False)

    @property
    def ignored_resources(self) -> Collection[str]:
        return frozenset(name for each in self.extenders for name in each.ignored_resources)

    def feature(self, name: str) -> bool:
        return gates.enabled(self.features, name, self.release)

    def informer(self, ref: ResourceRef) -> IInformer:
        informer: IInformer = self.informers.informer(ref)
        return informer

    def pod_object(self, pod: Pod) -> Object | None:
        obj: Object | None = self.informers.informer(PODS).get(pod.namespace, pod.name)
        return obj if obj is not None and obj["metadata"].get("uid") == pod.uid else None

    def waiting(self, uid: str) -> IWaitingPod | None:
        return self.find_waiting(uid)

    def run_filters(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        return self.what_if.run_with_nominated(state, pod, node)

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        self.what_if.add_pod(state, pod, other, node)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        self.what_if.remove_pod(state, pod, other, node)

    def prepare_plain(self, state: CycleState, pod: Pod) -> None:
        self.what_if.prepare(state, pod)

    def activate(self, pods: Iterable[Pod]) -> None:
        self.activate_uids(pod.uid for pod in pods)
