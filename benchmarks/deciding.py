"""Measures single scheduling decisions without a server: ``python -m benchmarks.deciding [SCALE]``.

Objects are put into informers in memory. A measurement covers the time from a pod's event to its assumed node.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from benchmarks.load import resident
from orchd.client.interfaces import IClient, IEventRecorder, ResourceRef
from orchd.dialect import ORCH
from orchd.scheduler.config.decoding import default_configuration
from orchd.scheduler.framework.cycle import Decision, UnfitError
from orchd.scheduler.plugins.defaultpreemption import DefaultPreemption
from orchd.scheduler.pods import Pod
from orchd.scheduler.service import DEFAULT_NAME, Environment, Scheduler
from orchd.scheduler.values import CycleState
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of

NODES = ResourceRef("", "v1", "nodes")
_HOST, _ZONE = "orch.io/hostname", "topology.orch.io/zone"


class Bed:
    """A scheduler that is not started, whose decisions the benchmark calls."""

    def __init__(self, nodes: int, cpu: str = "32") -> None:
        self.informers = MemoryInformers()
        environment = Environment(
            dialect=ORCH,
            client=cast(IClient, None),
            informers=self.informers,
            recorder=lambda name: cast(IEventRecorder, None),
            clock=Clock(),
            wall=time.time,
            random=Random(1),
        )
        self.scheduler = Scheduler(environment, default_configuration(ORCH))
        self.lane = self.scheduler.lanes[DEFAULT_NAME]
        for number in range(nodes):
            name = f"n{number}"
            labels = {_HOST: name, _ZONE: f"z{number % 3}"}
            allocatable = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
            self.informers.put(
                NODES, {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}
            )

    def pod(self, name: str, *, cpu: str = "100m", on: str = "", app: str = "a", **spec: Any) -> dict[str, Any]:
        """A pod; with `on` it runs there."""
        container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
        whole = {"schedulerName": DEFAULT_NAME, "containers": [container], **({"nodeName": on} if on else {}), **spec}
        return {
            "metadata": {"namespace": "n", "name": name, "uid": name, "labels": {"app": app}},
            "spec": whole,
            "status": {},
        }

    def fill(self, pods: int, nodes: int) -> None:
        """Bind pods of 50 applications evenly to nodes."""
        for number in range(pods):
            # Only the scheduler's memory is measured, so the informer keeps no objects.
            self.scheduler.event_handlers._on_pod(
                "ADDED", None, self.pod(f"e{number}", on=f"n{number % nodes}", app=f"a{number % 50}")
            )

    def decide(self, pod: Pod, state: CycleState | None = None) -> Decision | UnfitError:
        outcome: list[Any] = []
        state = state or CycleState()
        Deferred.fromCoroutine(self.lane.decider.decide(state, pod, lambda: None)).addBoth(outcome.append)
        found = outcome[0]
        return found if isinstance(found, Decision) else found.value

    def place(self, pod: Pod) -> None:
        decision = self.decide(pod)
        assert isinstance(decision, Decision)
        self.scheduler.cluster.assume(pod.on(decision.node))
        self.scheduler.history.add(pod, decision)


def _show(name: str, seconds: float, note: str = "") -> None:
    print(f"{name:44} {seconds * 1e6:9.1f} us {'':8}   {note}", flush=True)


def _timed(count: int, work: Callable[[int], object]) -> float:
    """CPU seconds of one call, after a few warm-up calls."""
    for number in range(count // 10):
        work(-1 - number)
    began = time.process_time()
    for number in range(count):
        work(number)
    return (time.process_time() - began) / count


def plain(scale: float) -> None:
    bed = Bed(5000)
    seconds = _timed(int(2000 * scale), lambda n: bed.place(bed.scheduler.templates.pod(bed.pod(f"p{n}"))))
    _show("decide, plain pod, 5,000 nodes", seconds)


def constrained(scale: float) -> None:
    bed = Bed(5000)
    bed.fill(20_000, 5000)
    selector = {"matchLabels": {"app": "a1"}}
    spec: Mapping[str, Any] = {
        "topologySpreadConstraints": [
            {"topologyKey": _ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        ],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": _HOST, "labelSelector": selector}]
            }
        },
    }
    seconds = _timed(
        int(1000 * scale), lambda n: bed.place(bed.scheduler.templates.pod(bed.pod(f"p{n}", app="a1", **spec)))
    )
    _show("decide, zone spread and anti-affinity", seconds, "5,000 nodes, 20,000 pods")


def preemption(scale: float) -> None:
    bed = Bed(1000, cpu="3")
    bed.fill(30_000, 1000)
    plugin = bed.lane.profile.plugins["DefaultPreemption"]
    assert isinstance(plugin, DefaultPreemption)
    pod = bed.scheduler.templates.pod(bed.pod("p", cpu="1", priority=10))

    def preempt(number: int) -> None:
        state = CycleState()
        unfit = bed.decide(pod, state)
        assert isinstance(unfit, UnfitError)
        assert plugin.choose(result_of(plugin.candidates(state, pod, unfit.refusals, []))).victims

    _show("preempt, 1,000 nodes of 30 pods", _timed(max(2, int(20 * scale)), preempt))


def memory() -> None:
    before = resident(os.getpid())
    bed = Bed(5000)
    bed.fill(50_000, 5000)
    bed.place(bed.scheduler.templates.pod(bed.pod("p")))
    print(
        f"{'memory, 5,000 nodes and 50,000 pods':44} {'':>12} {'':>8}   {resident(os.getpid()) - before:.0f} MB",
        flush=True,
    )


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    memory()
    plain(scale)
    constrained(scale)
    preemption(scale)


if __name__ == "__main__":
    main()
