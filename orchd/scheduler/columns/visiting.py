"""The order in which nodes are visited: one of each zone in turn, so that a search that stops early has seen all
zones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchd.dialect import Dialect
from orchd.scheduler.nodes import NodeFacts

#: Label keys of region and zone, the older ones first: where a node has them, they decide.
_REGION = ("failure-domain.beta.{long}.io/region", "topology.{long}.io/region")
_ZONE = ("failure-domain.beta.{long}.io/zone", "topology.{long}.io/zone")


def zone_of(dialect: Dialect, facts: NodeFacts) -> str:
    """The name of the zone that a node is in, its region included; "" without one."""
    region, zone = (_first(dialect, keys, facts.labels) for keys in (_REGION, _ZONE))
    return f"{region}:\x00:{zone}" if region or zone else ""


def _first(dialect: Dialect, keys: Iterable[str], labels: Mapping[str, str]) -> str:
    return next((labels[key] for key in map(dialect, keys) if key in labels), "")


def visiting_order(zones: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Names of nodes, round-robin over zones in the order in which those appeared."""
    rest = [iter(names) for names in zones.values()]
    while rest:
        left = []
        for names in rest:
            name = next(names, None)
            if name is not None:
                yield name
                left.append(names)
        rest = left
