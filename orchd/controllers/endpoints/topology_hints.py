"""Hints of a service's endpoints by topology: each zone gets a share of the ready endpoints that corresponds to its
share of the processors of all nodes, if no endpoint is overloaded by that.

Pure functions of endpoints (dicts of EndpointSlices) and of what nodes have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple

Endpoint = dict[str, Any]
#: The share of each zone in the processors of the cluster. They add up to 1.
Shares = Mapping[str, float]

#: By how much more than the average an endpoint may be used.
_OVERLOAD: Final = 0.2

NO_NODES: Final = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
NO_ZONE: Final = "One or more endpoints do not have a zone specified"
_FEW: Final = "Insufficient number of endpoints"
_OVERLOADED: Final = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"


class NodeCapacity(NamedTuple):
    """A ready node: its zone ("" without one) and its allocatable processors in thousandths."""

    zone: str
    millicores: float


@dataclass(slots=True)
class Portion:
    """The endpoints of one slice. `unchanged`: the slice has them already, with the hints that they have here."""

    endpoints: list[Endpoint]
    unchanged: bool

    def ready(self) -> Iterator[Endpoint]:
        return (each for each in self.endpoints if each["conditions"].get("ready"))


@dataclass(frozen=True, slots=True)
class _Allocation:
    """How many endpoints a zone should have, and at most."""

    desired: float
    maximum: int


class NoHintsError(Exception):
    """Why a service has no hints."""


def shares_of(nodes: Iterable[NodeCapacity]) -> Shares | None:
    """None unless all nodes state zone and processors, and there are several zones."""
    sizes: Counter[str] = Counter()
    for zone, millicores in nodes:
        if not zone or not millicores:
            return None
        sizes[zone] += millicores  # type: ignore[assignment]  # thousandths may have a fraction
    total = sum(sizes.values())
    return {zone: size / total for zone, size in sizes.items()} if len(sizes) > 1 else None


def is_overloaded(hinted: Mapping[str, int], shares: Shares | None) -> bool:
    """True if `hinted`, the number of endpoints by zone that hints name, no longer suffices for a zone."""
    if not hinted or not shares:
        return bool(hinted)
    total = sum(hinted.values())
    return any(hinted.get(zone, 0) < max(1, _minimum(total * share)) for zone, share in shares.items())


def assign(portions: Sequence[Portion], shares: Shares | None) -> Counter[str]:
    """Set the hints of all endpoints of a service and an address family; returns the number of endpoints by zone that
    hints name.

    Unchanged slices keep their hints if those are still possible; others become changed. Raises NoHintsError, and
    then no endpoint has hints."""
    try:
        allocations = _allocate(sum(1 for each in portions for _ in each.ready()), shares)
        hinted: Counter[str] = Counter()
        for portion in portions:
            if portion.unchanged:
                kept = _kept(portion, hinted, allocations)
                portion.unchanged = kept is not None
                hinted += kept or Counter()
        changing = [each for each in portions if not each.unchanged]
        for portion in changing:
            for endpoint in portion.endpoints:
                endpoint.pop("hints", None)
            for endpoint in portion.ready():
                zone = endpoint.get("zone")
                if not zone:
                    raise NoHintsError(NO_ZONE)
                hinted[zone] += 1
                _hint(endpoint, zone)
        _redistribute(changing, *_transfers(allocations, hinted), hinted)
        return hinted
    except NoHintsError:
        for portion in portions:
            for endpoint in portion.endpoints:
                endpoint.pop("hints", None)
        raise


def _hint(endpoint: Endpoint, zone: str) -> None:
    endpoint["hints"] = {"forZones": [{"name": zone}]}


def _minimum(desired: float) -> int:
    """The number of endpoints with which none is overloaded."""
    return ceil(desired * (1 / (1 + _OVERLOAD)))


def _allocate(count: int, shares: Shares | None) -> dict[str, _Allocation]:
    """The endpoints of each zone, of `count` in all. Raises NoHintsError."""
    if not shares:
        raise NoHintsError(NO_NODES)
    counts = f" ({count} endpoints, {len(shares)} zones)"
    if len(shares) > count:
        raise NoHintsError(_FEW + counts)
    least = {zone: _minimum(share * count) for zone, share in shares.items()}
    spare = count - sum(least.values())
    if spare < 0:
        raise NoHintsError(_OVERLOADED + counts)
    return {
        zone: _Allocation(desired=max(share * count, least[zone]), maximum=least[zone] + spare)
        for zone, share in shares.items()
    }


def _kept(portion: Portion, hinted: Mapping[str, int], allocations: Mapping[str, _Allocation]) -> Counter[str] | None:
    """The number of endpoints by zone that the hints of an unchanged slice name; None if it needs others."""
    zones: Counter[str] = Counter()
    for endpoint in portion.ready():
        named = [each["name"] for each in (endpoint.get("hints") or {}).get("forZones") or ()]
        if not named or not allocations.keys() >= set(named):
            return None
        zones.update(named)
    possible = all(count + hinted.get(zone, 0) <= allocations[zone].maximum for zone, count in zones.items())
    return zones if possible else None


def _transfers(allocations: Mapping[str, _Allocation], hinted: Mapping[str, int]) -> tuple[Counter[str], Counter[str]]:
    """How many endpoints zones give to others, and receive."""
    surplus = {zone: hinted.get(zone, 0) - each.desired for zone, each in sorted(allocations.items())}
    giving: Counter[str] = Counter()
    receiving: Counter[str] = Counter()
    while True:
        giver = max(surplus, key=surplus.__getitem__)
        receiver = min(surplus, key=surplus.__getitem__)
        more, less = surplus[giver], -surplus[receiver]
        if (more < 1 and less < 1) or more < 0.5 or less < 0.5:
            return giving, receiving
        giving[giver] += 1
        receiving[receiver] += 1
        surplus[giver] -= 1
        surplus[receiver] += 1


def _redistribute(
    portions: Sequence[Portion], giving: Counter[str], receiving: Counter[str], hinted: Counter[str]
) -> None:
    """Give endpoints of some zones to others."""
    for portion in portions:
        for endpoint in portion.ready():
            zone = endpoint["zone"]
            receiver = next(iter(+receiving), "")
            if not receiver or not giving[zone]:
                continue
            _hint(endpoint, receiver)
            giving[zone] -= 1
            receiving[receiver] -= 1
            hinted[zone] -= 1
            hinted[receiver] += 1
