"""The objects of a fresh cluster as JSON data, in one dialect; facts of release 1.23."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.server.bootstrap.apiservices import PRIORITIES
from orchd.server.bootstrap.flowcontrol import flow_control_version, flow_schemas, priority_levels

#: Namespaces that always exist, as name templates.
NAMESPACES = ("default", "{short}-node-lease", "{short}-public", "{short}-system")

_PRIORITY_CLASSES = (
    (
        "system-cluster-critical",
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapObject:
    """An object that must exist. `restored` names the top-level members that are restored when they differ; with the
    annotation key `update_annotation`, only while the annotation is "true", or absent from an object that was never
    changed. `status` is written through the status endpoint."""

    ref: ResourceRef
    object: Object
    restored: tuple[str, ...] = ()
    update_annotation: str = ""
    status: Mapping[str, Any] | None = None

    @property
    def namespace(self) -> str:
        namespace: str = self.object["metadata"].get("namespace", "")
        return namespace

    @property
    def name(self) -> str:
        name: str = self.object["metadata"]["name"]
        return name


def _object(api_version: str, kind: str, metadata: Object, **members: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}


def namespaces(dialect: Dialect) -> Iterator[BootstrapObject]:
    """The system namespaces."""
    for template in NAMESPACES:
        yield BootstrapObject(
            ref=ResourceRef("", "v1", "namespaces"), object=_object("v1", "Namespace", {"name": dialect(template)})
        )


def priority_classes(dialect: Dialect) -> Iterator[BootstrapObject]:
    """The two system priority classes."""
    group = dialect("scheduling.{abbr}.io")
    for name, value, description in _PRIORITY_CLASSES:
        yield BootstrapObject(
            ref=ResourceRef(group, "v1", "priorityclasses"),
            object=_object(f"{group}/v1", "PriorityClass", {"name": name}, value=value, description=description),
        )


def flow_control(dialect: Dialect, release: Release, names: Container[str] | None = None) -> Iterator[BootstrapObject]:
    """Priority levels and flow schemas (those with `names`; None: all); their specs are restored unless their
    auto-update annotation is false."""
    group = dialect("flowcontrol.apiserver.{abbr}.io")
    own_version = flow_control_version(release)
    api_version = f"{group}/{own_version}"
    update_annotation = dialect("apf.{long}.io/autoupdate-spec")
    annotations = {update_annotation: "true"}
    for name, spec in priority_levels(release).items():
        if names is not None and name not in names:
            continue
        yield BootstrapObject(
            ref=ResourceRef(group, own_version, "prioritylevelconfigurations"),
            object=_object(
                api_version,
                "PriorityLevelConfiguration",
                {"name": name, "annotations": annotations},
                spec=expand(dialect, spec),
            ),
            restored=("spec",),
            update_annotation=update_annotation,
        )
    for name, spec in flow_schemas(release).items():
        if names is not None and name not in names:
            continue
        yield BootstrapObject(
            ref=ResourceRef(group, own_version, "flowschemas"),
            object=_object(
                api_version,
                "FlowSchema",
                {"name": dialect(name), "annotations": annotations},
                spec=expand(dialect, spec),
            ),
            restored=("spec",),
            update_annotation=update_annotation,
        )


def api_services(dialect: Dialect, catalog: Catalog) -> Iterator[BootstrapObject]:
    """One APIService per served built-in group and version."""
    group = dialect("apiregistration.{abbr}.io")
    label = {dialect("{short}-aggregator.{long}.io/automanaged"): "onstart"}
    condition = {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    priorities = {(dialect(name), version): value for (name, version), value in PRIORITIES.items()}
    for served in catalog.groups:
        if served.name == group:
            continue
        for version in served.versions:
            minimum, priority = priorities.get((served.name, version), (1000, 15))
            spec: Object = {"version": version, "groupPriorityMinimum": minimum, "versionPriority": priority}
            if served.name:
                spec["group"] = served.name
            yield BootstrapObject(
                ref=ResourceRef(group, "v1", "apiservices"),
                object=_object(
                    f"{group}/v1", "APIService", {"name": f"{version}.{served.name}", "labels": label}, spec=spec
                ),
                restored=("spec",),
                status={"conditions": [condition]},
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """Address and port of the API service: the address is the first of the service range."""

    port: int
    service_ip: str
    service_node_port: int = 0


def own_service(dialect: Dialect, address: ServiceAddress) -> Iterator[BootstrapObject]:
    """The service under which pods reach the API server."""
    name = dialect("{long}")
    port: Object = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": address.port}
    if address.service_node_port:
        port["nodePort"] = address.service_node_port
    yield BootstrapObject(
        ref=ResourceRef("", "v1", "services"),
        object=_object(
            "v1",
            "Service",
            {"name": name, "namespace": "default", "labels": {"component": "apiserver", "provider": name}},
            spec={
                "ports": [port],
                "clusterIP": address.service_ip,
                "ipFamilyPolicy": "SingleStack",
                "type": "NodePort" if address.service_node_port else "ClusterIP",
                "sessionAffinity": "None",
            },
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ServerEndpoint:
    """Advertised address and port of one server."""

    port: int
    ip: str

    @property
    def publishable(self) -> bool:
        """True if Endpoints can hold it: pods cannot reach a loopback address, and port 0 is replaced when the server
        listens."""
        return self.port != 0 and not ip_address(self.ip).is_loopback


def own_endpoints(dialect: Dialect, servers: Iterable[ServerEndpoint]) -> Iterator[BootstrapObject]:
    """Endpoints of the API service; nothing without publishable servers: existing endpoints are then left unchanged."""
    by_port: dict[int, list[str]] = {}
    for server in sorted(servers):
        if server.publishable:
            by_port.setdefault(server.port, []).append(server.ip)
    if not by_port:
        return
    name = dialect("{long}")
    ports = {port: [{"name": "https", "port": port, "protocol": "TCP"}] for port in by_port}
    skip = {dialect("endpointslice.{long}.io/skip-mirror"): "true"}
    yield BootstrapObject(
        ref=ResourceRef("", "v1", "endpoints"),
        object=_object(
            "v1",
            "Endpoints",
            {"name": name, "namespace": "default", "labels": skip},
            subsets=[
                {"addresses": [{"ip": ip} for ip in addresses], "ports": ports[port]}
                for port, addresses in by_port.items()
            ],
        ),
        restored=("subsets",),
    )
    # The reference's slice holds the first subset only.
    port, addresses = next(iter(by_port.items()))
    version = ip_address(addresses[0]).version
    group = dialect("discovery.{abbr}.io")
    yield BootstrapObject(
        ref=ResourceRef(group, "v1", "endpointslices"),
        object=_object(
            f"{group}/v1",
            "EndpointSlice",
            {"name": name, "namespace": "default", "labels": {dialect("{long}.io/service-name"): name}},
            addressType=f"IPv{version}",
            endpoints=[
                {"addresses": [ip], "conditions": {"ready": True}}
                for ip in addresses
                if ip_address(ip).version == version
            ],
            ports=ports[port],
        ),
        restored=("endpoints", "ports"),
    )


def expand(dialect: Dialect, value: Any) -> Any:
    """JSON data with every string expanded in a dialect."""
    if isinstance(value, str):
        return dialect(value)
    if isinstance(value, list):
        return [expand(dialect, v) for v in value]
    if isinstance(value, dict):
        return {dialect(k): expand(dialect, v) for k, v in value.items()}
    return value
