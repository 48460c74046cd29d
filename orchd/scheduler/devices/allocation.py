"""Allocation of devices to the claims of a pod on one node: the first solution of a complete search.

Requests ask for a number of devices or for all of a class, or list alternatives of which the first that works is taken.
All devices of a request, or of several, may have to agree in an attribute. What is not decided here is refused: see
`UNSUPPORTED`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.kinds.fields import mapping, name, namespace, spec
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.scheduler.devices.pools import Device, DeviceId, Pool, node_selector

#: Most devices in the allocation of a claim.
MAX_DEVICES: Final = 32
#: Devices that are tried before the search for a node is given up, so that one pod cannot keep the others waiting.
MAX_TRIES: Final = 20_000
#: Members of devices that need features that are off; such devices are not allocated.
_SPECIAL: Final = ("bindingConditions", "consumesCounters", "taints", "allowMultipleAllocations")
#: Members of requests and constraints that are not decided here, and what they ask for.
UNSUPPORTED: Final = {
    "capacity": "parts of devices", "tolerations": "devices with taints", "distinctAttribute": "devices that differ",
}  # fmt: skip

#: True if a device is selected by a request of a claim.
Selects = Callable[[Device, Mapping[str, Any], ObjectView], bool]
TIMED_OUT: Final = "timed out trying to allocate devices"


class AllocationError(Exception):
    """Something is wrong with a claim or a class, whatever the node."""


class NodeAllocationError(Exception):
    """Devices could not be allocated on this node."""


@dataclass(slots=True, kw_only=True)
class _Request:
    """One request, or one of its alternatives. `everything` are the devices of a request for all of them."""

    name: str
    main: str
    data: Mapping[str, Any]
    count: int
    everything: list[Device] | None = None

    @property
    def admin(self) -> bool:
        """Access for administration shares devices that others use."""
        return bool(self.data.get("adminAccess"))


@dataclass(slots=True)
class _Agreement:
    """Devices of some requests ("": of all) that must have one value of an attribute."""

    requests: frozenset[str]
    attribute: str
    values: list[Any] = field(default_factory=list)

    def concerns(self, request: _Request) -> bool:
        return not self.requests or request.main in self.requests or request.name in self.requests

    def accepts(self, device: Device) -> bool:
        value = attribute_of(device, self.attribute)
        return value is not None and (not self.values or self.values[0] == value)


def attribute_of(device: Device, qualified: str) -> Mapping[str, Any] | None:
    """The attribute with a qualified name; names of the device's driver may lack their domain."""
    attributes: Mapping[str, Any] = mapping(device.data, "attributes")
    attribute: Mapping[str, Any] | None = attributes.get(qualified)
    domain, _, short = qualified.partition("/")
    return attribute if attribute is not None or domain != device.id[0] else attributes.get(short)


@dataclass(slots=True)
class _Claim:
    """A claim to allocate: for each request its alternatives (one, unless it lists some), and the constraints."""

    object: ObjectView
    requests: list[list[_Request]]
    agreements: list[_Agreement]
    #: Chosen so far: pairs of a request and a device.
    chosen: list[tuple[_Request, Device]] = field(default_factory=list)


#: Claim, request, the alternative or None before it is chosen, and the number of devices that the request has.
_Position = tuple[int, int, int | None, int]


class Allocation:
    """The search for one node. `taken` are devices that other claims have; `classes` gives a device class, or None."""

    def __init__(
        self,
        pools: Sequence[Pool],
        taken: Collection[DeviceId],
        selects: Selects,
        classes: Callable[[str], ObjectView | None],
    ) -> None:
        self._pools = pools
        self._taken = taken
        self._selects = selects
        self._classes = classes
        self._in_use: set[DeviceId] = set()
        self._claims: list[_Claim] = []
        self._tries = 0

    def allocate(self, claims: Sequence[ObjectView]) -> list[Object] | None:
        """status.allocation of each claim; None if the node cannot serve all. Raises AllocationError and
        NodeAllocationError."""
        self._claims = [self._read(claim) for claim in claims]
        if not self._search():
            if any(pool.invalid for pool in self._pools):
                raise NodeAllocationError("invalid resource pools were encountered")
            return None
        return [self._result(claim) for claim in self._claims]

    # -- reading

    def _read(self, claim: ObjectView) -> _Claim:
        devices = mapping(spec(claim), "devices")
        requests = []
        for request in devices.get("requests") or ():
            if request.get("exactly") is not None:
                requests.append([self._request(claim, request["name"], "", request["exactly"])])
            else:
                listed = request.get("firstAvailable") or ()
                requests.append([self._request(claim, request["name"], each["name"], each) for each in listed])
        least = sum(min((each.count for each in each_of), default=0) for each_of in requests)
        if least > MAX_DEVICES:
            raise AllocationError(
                f"claim {_key(claim)}: number of requested devices {least} exceeds the claim limit of {MAX_DEVICES}"
            )
        agreements = []
        for number, constraint in enumerate(devices.get("constraints") or ()):
            if not constraint.get("matchAttribute"):
                raise AllocationError(
                    f"claim {_key(claim)}, constraint #{number}: empty constraint (unsupported constraint type?)"
                )
            agreements.append(_Agreement(frozenset(constraint.get("requests") or ()), constraint["matchAttribute"]))
        return _Claim(claim, requests, agreements)

    def _request(self, claim: ObjectView, main: str, alternative: str, data: Mapping[str, Any]) -> _Request:
        parsed = _Request(name=f"{main}/{alternative}" if alternative else main, main=main, data=data, count=0)
        mode = data.get("allocationMode") or "ExactCount"
        if mode == "ExactCount":
            parsed.count = int(data.get("count") or 1)
        elif mode == "All":
            parsed.everything = []
            for pool in self._pools:
                if pool.incomplete or pool.invalid:
                    state = "being updated" if pool.incomplete else "invalid"
                    raise AllocationError(
                        f"claim {_key(claim)}, request {parsed.name}: asks for all devices, but resource pool"
                        f" {pool.driver}/{pool.name} is currently {state}"
                    )
                parsed.everything += [each for each in pool.devices if self._fits(each, parsed, claim)]
            parsed.count = len(parsed.everything)
        else:
            raise AllocationError(f"claim {_key(claim)}, request {parsed.name}: unsupported count mode {mode}")
        return parsed

    def _fits(self, device: Device, request: _Request, claim: ObjectView) -> bool:
        self._tries += 1
        if self._tries > MAX_TRIES:
            raise NodeAllocationError(TIMED_OUT)
        return not any(device.data.get(member) for member in _SPECIAL) and self._selects(device, request.data, claim)

    # -- searching

    def _search(self) -> bool:
        """Choose devices for all claims. Each step is an iterator over its choices; when it is continued, it undoes the
        last one."""
        if not self._claims:
            return True
        steps = [self._choices((0, 0, None, 0))]
        while steps:
            position = next(steps[-1], None)
            if position is None:
                steps.pop()
            elif position[0] >= len(self._claims):
                return True
            else:
                steps.append(self._choices(position))
        return False

    def _choices(self, position: _Position) -> Iterator[_Position]:
        """Make one choice after the other, and yield the position after each."""
        at, number, alternative, count = position
        claim = self._claims[at]
        if number >= len(claim.requests):
            yield at + 1, 0, None, 0
            return
        if alternative is None:
            for each in range(len(claim.requests[number])):
                yield at, number, each, 0
            return
        request = claim.requests[number][alternative]
        if request.everything is not None and not request.everything:
            return
        if count >= request.count:
            yield at, number + 1, None, 0
            return
        if len(claim.chosen) + request.count - count > MAX_DEVICES:
            return
        for device in self._candidates(claim, request, count):
            agreements = [agreed for agreed in claim.agreements if agreed.concerns(request)]
            if not all(agreed.accepts(device) for agreed in agreements):
                continue
            for agreed in agreements:
                agreed.values.append(attribute_of(device, agreed.attribute))
            claim.chosen.append((request, device))
            if not request.admin:
                self._in_use.add(device.id)
            yield at, number, alternative, count + 1
            for agreed in agreements:
                agreed.values.pop()
            claim.chosen.pop()
            if not request.admin:
                self._in_use.discard(device.id)

    def _candidates(self, claim: _Claim, request: _Request, count: int) -> Iterator[Device]:
        if request.everything is not None:
            if self._is_free(request.everything[count], claim, request):
                yield request.everything[count]
            return
        for pool in self._pools:
            if pool.incomplete or pool.invalid:
                continue
            for device in pool.devices:
                if self._is_free(device, claim, request) and self._fits(device, request, claim.object):
                    yield device

    def _is_free(self, device: Device, claim: _Claim, request: _Request) -> bool:
        if request.admin:
            return all(other is not device for _, other in claim.chosen)
        return device.id not in self._taken and device.id not in self._in_use

    # -- result

    def _result(self, claim: _Claim) -> Object:
        results = []
        for request, device in claim.chosen:
            driver, pool, called = device.id
            result = {"request": request.name, "driver": driver, "pool": pool, "device": called}
            results.append({**result, "adminAccess": True} if request.admin else result)
        devices: dict[str, Any] = {"results": results}
        config = [*self._class_config(claim), *_claim_config(claim)]
        if config:
            devices["config"] = config
        selector = node_selector(device for _, device in claim.chosen)
        return {"devices": devices, **({} if selector is None else {"nodeSelector": selector})}

    def _class_config(self, claim: _Claim) -> Iterator[Object]:
        """The configuration of the classes of the chosen requests, once per class."""
        names: dict[str, list[str]] = {}
        for request in _taken_requests(claim):
            names.setdefault(request.data.get("deviceClassName") or "", []).append(request.name)
        for class_name, requests in names.items():
            device_class = self._classes(class_name)
            for config in spec(device_class).get("config") or () if device_class is not None else ():
                yield {"source": "FromClass", "requests": requests, **config}


def _taken_requests(claim: _Claim) -> list[_Request]:
    """The requests with the alternatives that were chosen."""
    return list({id(request): request for request, _ in claim.chosen}.values())


def _claim_config(claim: _Claim) -> Iterator[Object]:
    """The configuration in a claim that concerns the chosen requests."""
    for config in mapping(spec(claim.object), "devices").get("config") or ():
        requests = config.get("requests") or ()
        taken = _taken_requests(claim)
        times = 1 if not requests else sum(each.main in requests or each.name in requests for each in taken)
        for _ in range(times):
            yield {"source": "FromClaim", **config}


def _key(claim: ObjectView) -> str:
    return f"{namespace(claim)}/{name(claim)}"
