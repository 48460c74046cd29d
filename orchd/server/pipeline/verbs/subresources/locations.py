"""Resolves containers, pods, services and nodes to network locations. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.jsonvalues import Object
from orchd.server.pipeline.verbs.subresources.addresses import global_unicast
from orchd.server.pipeline.verbs.subresources.foreign import bare_error

#: Default preference of node address types.
PREFERRED = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
NODE_PORT = 10250
_MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Location:
    """Scheme, host and port of a server; `of_node` is True for a kubelet. `port` 0 is the scheme's default.

    Connections are made from these values. The texts `authority` and `origin` are for headers and messages: `host`
    comes from objects, so that a text may name another server than the location.
    """

    scheme: str
    host: str
    port: int = 0
    of_node: bool = False

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def port_number(self) -> int:
        """The port, or the default of the scheme."""
        return self.port or (443 if self.secure else 80)

    @property
    def authority(self) -> str:
        """Host and port, as in a URL and a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"


def unavailable(message: str) -> ApiError:
    """503 without Retry-After."""
    return ApiError(503, "ServiceUnavailable", message)


def split(name: str, what: str) -> tuple[str, str, str]:
    """Split ``scheme:name:port``, ``name:port`` or ``name`` into three strings. Raises ApiError 400."""
    parts = name.split(":")
    if len(parts) == 1:
        parts = ["", *parts, ""]
    elif len(parts) == 2:
        parts = ["", *parts]
    if len(parts) != 3 or not parts[1] or parts[0] not in ("", "http", "https"):
        raise errors.bad_request(f"invalid {what} request {errors.quoted(name)}")
    scheme, inner, port = parts
    return scheme, inner, port


def parse_port(name: str, what: str, port: str) -> int:
    """The port in the name of a request, 0 for none. Raises ApiError 400 unless it is empty or a number from 1 to
    65535."""
    if not port:
        return 0
    number = integer(port) if is_whole(port) else 0
    if not 1 <= number <= _MOST_PORT:
        raise errors.bad_request(
            f"invalid {what} request {errors.quoted(name)}: the port must be a number from 1 to {_MOST_PORT}"
        )
    return number


def require_proxyable(text: str) -> str:
    """Require an address that clients may connect to through the server: global unicast. Raises ApiError 400."""
    if not global_unicast(text):
        raise errors.bad_request("address not allowed")
    return text


def container_of(pod: Object, asked: str) -> str:
    """The requested container; the only one if none is named. Raises ApiError 400."""
    name, spec = pod["metadata"]["name"], fields.spec(pod)
    members = ("initContainers", "containers", "ephemeralContainers")
    names = [c["name"] for member in members for c in spec.get(member) or ()]
    if asked:
        if asked not in names:
            raise errors.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    own = spec.get("containers") or ()
    if not own:
        raise errors.bad_request(f"a container name must be specified for pod {name}")
    if len(own) > 1:
        raise errors.bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        )
    only: str = own[0]["name"]
    return only


def node_location(dialect: Dialect, node: Object, preferred: Sequence[str] = PREFERRED) -> Location:
    """Location of a node's kubelet. Raises ApiError 500 for a node without an address."""
    status = fields.status(node)
    addresses: Iterable[Mapping[str, str]] = status.get("addresses") or ()
    endpoint = (status.get("daemonEndpoints") or {}).get(dialect("{short}letEndpoint")) or {}
    port = endpoint.get("Port") or NODE_PORT
    for sort in preferred:
        for address in addresses:
            if address.get("type") == sort and address.get("address"):
                return Location("https", address["address"], port, of_node=True)
    address_texts = " ".join(f"{{{a.get('type')} {a.get('address')}}}" for a in addresses)
    raise bare_error(f"no preferred addresses found; known addresses: [{address_texts}]")


def pod_location(pod: Object, scheme: str, port: int) -> Location:
    """Location of a pod; the first declared port if `port` is 0. Raises ApiError 400."""
    status = fields.status(pod)
    if not port:
        for container in fields.spec(pod).get("containers") or ():
            if container.get("ports"):
                port = container["ports"][0]["containerPort"]
                break
    addresses = status.get("podIPs") or ()
    address = addresses[0].get("ip", "") if addresses else status.get("podIP", "")
    return Location(scheme or "http", require_proxyable(address), port)


def service_port(service: Object, port: str) -> str:
    """The name of a service's port; numbers are looked up. Raises ApiError 503."""
    if not is_whole(port):
        return port
    number = integer(port)
    for declared in fields.spec(service).get("ports") or ():
        if declared.get("port") == number:
            name: str = declared.get("name") or ""
            return name
    raise unavailable(f'no service port {port} found for service "{service["metadata"]["name"]}"')


def service_candidates(endpoints: Object, port: str, random: Random) -> list[tuple[Mapping[str, Any], int]]:
    """Addresses of a service's pods with the number of the port called `port`, in connection order."""
    subsets = endpoints.get("subsets") or []
    out: list[tuple[Mapping[str, Any], int]] = []
    for subset in _rotate(subsets, random):
        for declared in subset.get("ports") or ():
            if (declared.get("name") or "") == port:
                out.extend((address, declared["port"]) for address in _rotate(subset.get("addresses") or [], random))
    return out


def _rotate(items: Sequence[Any], random: Random) -> list[Any]:
    """`items` rotated to start at a random position."""
    if not items:
        return []
    start = random.randrange(len(items))
    return [*items[start:], *items[:start]]


def belongs(address: Mapping[str, Any], pod: Object | None) -> bool:
    """True if an endpoint address is that of the pod it references. Others are not connected to."""
    if pod is None or (address.get("targetRef") or {}).get("kind") != "Pod":
        return False
    status = fields.status(pod)
    return address.get("ip") in ([p.get("ip") for p in status.get("podIPs") or ()] or [status.get("podIP")])
