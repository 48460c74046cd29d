"""Settings of the simulation, from flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.kinds.objects.scalars import Quantity, ScalarError
from orchd.kinds.release import RELEASES, SPECIFICATION, Release

#: Maximum number of simulated nodes: the number of addresses for them.
MOST_NODES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """`nodes` are registered; with `annotated` any node that carries the annotation is simulated too. Delays are
    seconds: from registration to Ready, from binding to running, and from running to the end of pods that do end. Nodes
    are spread over `zones` in turn. No node can pull `missing_images`. `release` is the one that nodes report."""

    release: Release = SPECIFICATION
    nodes: int = 0
    annotated: bool = False
    capacity: Mapping[str, str] = field(default_factory=lambda: {"cpu": "8", "memory": "32Gi", "pods": "110"})
    zones: tuple[str, ...] = ()
    missing_images: frozenset[str] = frozenset()
    node_startup_delay: float = 0.0
    pod_startup_delay: float = 0.0
    pod_run_duration: float = 5.0

    @property
    def enabled(self) -> bool:
        return self.annotated or self.nodes > 0


def simulation_settings(flags: Mapping[str, Any]) -> SimulationSettings:
    """Settings from values by the flags' names. Raises ValueError naming the flag at fault."""
    nodes = flags["simulated-nodes"]
    if not 0 <= nodes <= MOST_NODES:
        raise ValueError(f"--simulated-nodes: must be between 0 and {MOST_NODES}")
    capacity: dict[str, str] = dict(flags["simulated-node-capacity"])
    for resource, amount in capacity.items():
        try:
            negative = Quantity.parse(amount).nano < 0
        except ScalarError as error:
            raise ValueError(f"--simulated-node-capacity: {resource}: {error}") from None
        if negative:
            raise ValueError(f"--simulated-node-capacity: {resource}: must not be negative")
    for resource in ("cpu", "memory", "pods"):
        if resource not in capacity:
            raise ValueError(f"--simulated-node-capacity: {resource} is missing: no pod would fit")
    delays = {}
    for name in ("simulated-node-startup-delay", "simulated-pod-startup-delay", "simulated-pod-run-duration"):
        if flags[name] < 0:
            raise ValueError(f"--{name}: must not be negative")
        delays[name] = flags[name]
    return SimulationSettings(
        release=RELEASES[flags["emulated-version"]],
        nodes=nodes,
        annotated=flags["simulate-annotated-nodes"] or nodes > 0,
        capacity=capacity,
        zones=tuple(flags["simulated-node-zones"]),
        missing_images=frozenset(flags["simulated-missing-images"]),
        node_startup_delay=delays["simulated-node-startup-delay"],
        pod_startup_delay=delays["simulated-pod-startup-delay"],
        pod_run_duration=delays["simulated-pod-run-duration"],
    )
