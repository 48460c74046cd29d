"""Cells of services, endpoints, ingresses and network policies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from orchd.kinds import fields
from orchd.kinds.objects.tabulate.text import (
    NONE,
    SHOWN,
    UNSET,
    Cells,
    Json,
    Printing,
    age_of,
    first_few,
    labels,
    load_balancer,
    selector,
)


def service(o: Json, x: Printing) -> Cells:
    metadata, spec = o["metadata"], fields.spec(o)
    ips = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else None)
    return [
        metadata["name"],
        spec.get("type") or "ClusterIP",
        ips[0] if ips else NONE,
        _external(o, spec),
        ",".join(map(_port, spec.get("ports") or ())) or NONE,
        age_of(o, x),
        labels(spec.get("selector")),
    ]


def _external(o: Json, spec: Json) -> str:
    type_, extra = spec.get("type") or "ClusterIP", spec.get("externalIPs") or []
    if type_ == "ExternalName":
        return str(spec.get("externalName") or "")
    if type_ == "LoadBalancer":
        balanced = load_balancer(fields.status(o))
        return ",".join([*([balanced] if balanced else []), *extra]) or "<pending>"
    return ",".join(extra) or NONE if type_ in ("ClusterIP", "NodePort") else "<unknown>"


def _port(port: Json) -> str:
    node, protocol = port.get("nodePort"), port.get("protocol") or "TCP"
    return f"{port['port']}:{node}/{protocol}" if node else f"{port['port']}/{protocol}"


def endpoints(o: Json, x: Printing) -> Cells:
    metadata, subsets = o["metadata"], o.get("subsets") or ()
    # Every address with every port: only the first are made.
    total = sum(len(subset.get("addresses") or ()) * (len(subset.get("ports") or ()) or 1) for subset in subsets)
    addresses = list(islice(chain.from_iterable(map(_address_ports, subsets)), SHOWN + 1))
    return [metadata["name"], first_few(addresses, total=total) if subsets else NONE, age_of(o, x)]


def _address_ports(subset: Json) -> Iterator[str]:
    """The addresses of a subset with its ports."""
    addresses = subset.get("addresses") or ()
    for port in subset.get("ports") or ():
        for address in addresses:
            ip = address["ip"]
            yield f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}"
    if not subset.get("ports"):
        for address in addresses:
            yield address["ip"]


def endpoint_slice(o: Json, x: Printing) -> Cells:
    metadata = o["metadata"]
    ports = [
        str(port["port"]) if port.get("port") is not None else port.get("name", "*") for port in o.get("ports") or ()
    ]
    addresses = [address for endpoint in o.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return [
        metadata["name"],
        o.get("addressType") or "",
        first_few(ports) or UNSET,
        first_few(addresses) or UNSET,
        age_of(o, x),
    ]


def ingress(o: Json, x: Printing) -> Cells:
    metadata, spec = o["metadata"], fields.spec(o)
    rules = spec.get("rules") or ()
    hosts: list[str] = []
    more = False
    for rule in rules:
        if len(hosts) == 3:
            more = True
        elif rule.get("host"):
            hosts.append(rule["host"])
    hosts_text = ",".join(hosts) or "*"
    if more:
        hosts_text = f"{hosts_text} + {len(rules) - 3} more..."
    return [
        metadata["name"],
        spec.get("ingressClassName") or NONE,
        hosts_text,
        load_balancer(fields.status(o)),
        "80, 443" if spec.get("tls") else "80",
        age_of(o, x),
    ]


def ingress_class(o: Json, x: Printing) -> Cells:
    metadata, spec = o["metadata"], fields.spec(o)
    parameters, parameters_text = spec.get("parameters"), NONE
    if parameters:
        group = parameters.get("apiGroup")
        parameters_text = f"{parameters['kind']}{'' if group is None else f'.{group}'}/{parameters['name']}"
    return [metadata["name"], spec.get("controller") or "", parameters_text, age_of(o, x)]


def network_policy(o: Json, x: Printing) -> Cells:
    metadata, spec = o["metadata"], fields.spec(o)
    return [metadata["name"], selector(spec.get("podSelector")), age_of(o, x)]


def ip_address(o: Json, x: Printing) -> Cells:
    parent = fields.spec(o).get("parentRef")
    parent_text = NONE
    if parent:
        resource = ".".join(filter(None, (parent.get("resource"), parent.get("group")))).lower()
        parent_text = "/".join(filter(None, (resource, parent.get("namespace"), parent.get("name"))))
    # The age has no column.
    return [o["metadata"]["name"], parent_text, age_of(o, x)]


def service_cidr(o: Json, x: Printing) -> Cells:
    return [o["metadata"]["name"], ",".join(fields.spec(o).get("cidrs") or ()), age_of(o, x)]
