"""Pools of devices that a node can use, from resource slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import merge
from operator import itemgetter
from typing import Any

from orchd.kinds.fields import mapping, spec
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.objects.node_selectors import matches_terms

#: Driver, pool and name of a device.
DeviceId = tuple[str, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device as its slice describes it. `nodes` is the part of the slice's spec that says which nodes can use it."""

    id: DeviceId
    data: Mapping[str, Any]
    nodes: Mapping[str, Any]


@dataclass(slots=True)
class Pool:
    """The devices of a pool that a node can use. `incomplete`: not all slices of its generation are there."""

    driver: str
    name: str
    generation: int
    slices: int
    expected_slices: int
    devices: list[Device] = field(default_factory=list)
    incomplete: bool = False

    @property
    def invalid(self) -> bool:
        """True if two devices have one name."""
        return len({each.id for each in self.devices}) < len(self.devices)


def _reaches(slice_spec: Mapping[str, Any], node: str, labels: Mapping[str, str]) -> bool:
    """True if the devices of a slice that does not name a node are for the node."""
    if slice_spec.get("allNodes"):
        return True
    selector = slice_spec.get("nodeSelector")
    return selector is not None and matches_terms(tuple(selector.get("nodeSelectorTerms") or ()), labels, node)


class SliceIndex:
    """Resource slices by node and by pool, so that the pools of a node are found without the slices of other nodes."""

    def __init__(self, slices: Iterable[ObjectView]) -> None:
        self._of_node: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
        #: Slices that do not name a node.
        self._shared: list[tuple[int, Mapping[str, Any]]] = []
        self._generations: dict[tuple[str, str], list[int]] = {}
        for at, each in enumerate(slices):
            slice_spec = spec(each)
            self._generations.setdefault(_pool_key(slice_spec), []).append(_generation(slice_spec))
            # Devices that are selected for nodes one by one need a feature that is off.
            if slice_spec.get("perDeviceNodeSelection") is not None:
                continue
            node = slice_spec.get("nodeName")
            (self._of_node.setdefault(node, []) if node else self._shared).append((at, slice_spec))

    def pools_of(self, node: str, labels: Mapping[str, str]) -> list[Pool]:
        """The pools with devices for a node, in the order of their first slices. Slices of older generations do not
        count; a pool whose newest generation has nothing for the node is left out."""
        pools: dict[tuple[str, str], Pool] = {}
        reaching = [row for row in self._shared if _reaches(row[1], node, labels)]
        for _, slice_spec in merge(self._of_node.get(node, ()), reaching, key=itemgetter(0)):
            key, generation = _pool_key(slice_spec), _generation(slice_spec)
            pool = pools.get(key)
            if pool is not None and generation < pool.generation:
                continue
            if pool is None or generation > pool.generation:
                pool = pools[key] = Pool(*key, generation, 0, int(slice_spec["pool"].get("resourceSliceCount") or 0))
            pool.slices += 1
            pool.devices += [
                Device((*key, device["name"]), device, slice_spec) for device in slice_spec.get("devices") or ()
            ]
        return [pool for pool in pools.values() if self._is_current(pool)]

    def _is_current(self, pool: Pool) -> bool:
        """Note whether a pool is incomplete. False if another node has slices of a newer generation of it."""
        if pool.slices == pool.expected_slices:
            return True
        generations = self._generations[pool.driver, pool.name]
        pool.incomplete = generations.count(pool.generation) != pool.expected_slices
        return max(generations) <= pool.generation


def _pool_key(slice_spec: Mapping[str, Any]) -> tuple[str, str]:
    return slice_spec["driver"], slice_spec["pool"]["name"]


def _generation(slice_spec: Mapping[str, Any]) -> int:
    return int(slice_spec["pool"].get("generation") or 0)


def node_selector(devices: Iterable[Device]) -> dict[str, Any] | None:
    """The nodes that can use all of the devices; None for all nodes."""
    fields: list[Mapping[str, Any]] = []
    expressions: list[Mapping[str, Any]] = []
    for device in devices:
        if device.nodes.get("nodeName"):
            name = {"key": "metadata.name", "operator": "In", "values": [device.nodes["nodeName"]]}
            return {"nodeSelectorTerms": [{"matchFields": [name]}]}
        for term in mapping(device.nodes, "nodeSelector").get("nodeSelectorTerms") or ():
            fields += [each for each in term.get("matchFields") or () if each not in fields]
            expressions += [each for each in term.get("matchExpressions") or () if each not in expressions]
    term = {
        name: requirements
        for name, requirements in (("matchFields", fields), ("matchExpressions", expressions))
        if requirements
    }
    return {"nodeSelectorTerms": [term]} if term else None
