"""Target pods and ports of a service. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from orchd.controllers.pods import is_ready
from orchd.kinds.fields import deleting, labels, name, namespace, spec, status, uid
from orchd.kinds.jsonvalues import Object


@dataclass(frozen=True, slots=True, order=True)
class Port:
    """One port of an endpoint."""

    name: str
    number: int
    protocol: str
    app_protocol: str = ""

    def as_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self.name:
            out["name"] = self.name
        out["port"] = self.number
        out["protocol"] = self.protocol
        if self.app_protocol:
            out["appProtocol"] = self.app_protocol
        return out


def reachable(pod: Object, *, terminating: bool) -> bool:
    """True if the pod has an address and may still be running. Terminating pods count only if `terminating`."""
    if deleting(pod) and not terminating:
        return False
    if not status(pod).get("podIP"):
        return False
    phase, policy = status(pod).get("phase"), spec(pod).get("restartPolicy")
    if policy == "Never":
        return phase not in ("Failed", "Succeeded")
    return not (policy == "OnFailure" and phase == "Succeeded")


def ports_of(service: Object, pod: Object) -> tuple[Port, ...]:
    """The target ports of `service` on `pod`; ports that the pod lacks are omitted."""
    out = []
    for port in spec(service).get("ports") or ():
        number = _number(port, pod)
        if number is not None:
            out.append(Port(port.get("name", ""), number, port.get("protocol", "TCP"), port.get("appProtocol", "")))
    return tuple(sorted(out))


def _number(port: Mapping[str, Any], pod: Object) -> int | None:
    target = port.get("targetPort", port.get("port"))
    if isinstance(target, int):
        return target or int(port["port"])
    for container in spec(pod).get("containers") or ():
        for each in container.get("ports") or ():
            if each.get("name") == target and each.get("protocol", "TCP") == port.get("protocol", "TCP"):
                return int(each["containerPort"])
    return None


def reference(pod: Object) -> dict[str, Any]:
    """The target reference of a pod."""
    return {"kind": "Pod", "namespace": namespace(pod), "name": name(pod), "uid": uid(pod)}


def versioned_reference(pod: Object) -> dict[str, Any]:
    """The target reference of a pod, with its resource version."""
    return {**reference(pod), "resourceVersion": pod["metadata"].get("resourceVersion", "")}


#: Makes the target reference of a pod.
Reference = Callable[[Object], dict[str, Any]]
REFERENCES: Final[tuple[tuple[str, Reference], ...]] = (("", versioned_reference), ("1.24", reference))


def same_entries(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    """True if two lists of addresses or endpoints are equal, ignoring the resource versions of their target
    references."""
    if len(one) != len(other):
        return False
    return all(a == b or _without_version(a) == _without_version(b) for a, b in zip(one, other, strict=True))


def _without_version(entry: Mapping[str, Any]) -> dict[str, Any]:
    target = entry.get("targetRef")
    if target is None:
        return dict(entry)
    return {**entry, "targetRef": {k: v for k, v in target.items() if k != "resourceVersion"}}


def hostname(service: Object, pod: Object) -> str:
    """The name under which a headless service's DNS shows the pod; "" for none."""
    hostname_ = spec(pod).get("hostname")
    if hostname_ and spec(pod).get("subdomain") == name(service) and namespace(pod) == namespace(service):
        return str(hostname_)
    return ""


def headless(service: Object) -> bool:
    return spec(service).get("clusterIP") == "None"


def labels_for(service: Object, headless_label: str) -> dict[str, str]:
    """The labels of a service for objects about its endpoints: with `headless_label` only if it has no cluster address,
    as services of type ExternalName have none either."""
    tags = {key: value for key, value in labels(service).items() if key != headless_label}
    if spec(service).get("clusterIP") in (None, "", "None"):
        tags[headless_label] = ""
    return tags


def counts_as_ready(service: Object, pod: Object) -> bool:
    """True for ready pods, and for all pods of a Service that publishes the addresses of those that are not ready."""
    return bool(spec(service).get("publishNotReadyAddresses")) or is_ready(pod)


def address_of(pod: Object, family: str) -> str:
    """The pod's address of a family (IPv4, IPv6), "" when it has none."""
    addresses = [a.get("ip", "") for a in status(pod).get("podIPs") or ()] or [status(pod).get("podIP", "")]
    # Validated addresses: a colon means IPv6.
    return next((str(text) for text in addresses if text and ("IPv6" if ":" in text else "IPv4") == family), "")


def families(service: Object) -> list[str]:
    """The address families of a service; by default that of its cluster address, or both for headless services."""
    families = spec(service).get("ipFamilies")
    if families:
        return list(families)
    address = spec(service).get("clusterIP")
    return [f"IPv{ip_address(address).version}"] if address and address != "None" else ["IPv4", "IPv6"]
