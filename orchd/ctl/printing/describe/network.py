"""Descriptions of services, their endpoints, ingresses, network policies and address ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.ctl.printing.describe.related import Related
from orchd.ctl.printing.describe.sheet import Sheet, moment, plain
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.text import NONE, SHOWN, UNSET, labels, load_balancer, selector
from orchd.kinds.times import parse_time

_SERVICE_NAME: Final = "{long}.io/service-name"
_SLICES: Final = "endpointslices.discovery.{abbr}.io"


async def service(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata, spec, status = obj["metadata"], fields.spec(obj), fields.status(obj)
    sheet.head(obj)
    sheet.row("Selector", labels(spec.get("selector")))
    sheet.row("Type", spec.get("type", ""))
    sheet.rows(spec, {"ipFamilyPolicy": "IP Family Policy"})
    sheet.row("IP Families", ",".join(spec.get("ipFamilies") or ()) or NONE)
    sheet.row("IP", spec.get("clusterIP", ""))
    sheet.row("IPs", ",".join(spec.get("clusterIPs") or ()) or NONE)
    if spec.get("externalIPs"):
        sheet.row("External IPs", ",".join(spec["externalIPs"]))
    sheet.rows(spec, {"loadBalancerIP": "Desired LoadBalancer IP", "externalName": "External Name"})
    ingress = fields.mapping(status, "loadBalancer").get("ingress") or ()
    if ingress:
        sheet.row("LoadBalancer Ingress", ", ".join(map(_ingress, ingress)))
    slices = await _slices(related, metadata["namespace"], metadata["name"]) if spec.get("ports") else []
    for each in spec.get("ports") or ():
        name, protocol = each.get("name") or UNSET, each.get("protocol", "TCP")
        sheet.line(f"Port:\t{name}\t{each.get('port')}/{protocol}")
        sheet.row("TargetPort", f"{each.get('targetPort', 0)}/{protocol}")
        if each.get("nodePort"):
            sheet.line(f"NodePort:\t{name}\t{each['nodePort']}/{protocol}")
        sheet.row("Endpoints", _addresses(slices, each.get("name", "")))
    sheet.row("Session Affinity", spec.get("sessionAffinity", ""))
    policies = {"externalTrafficPolicy": "External Traffic Policy", "internalTrafficPolicy": "Internal Traffic Policy"}
    sheet.rows(spec, {**policies, "healthCheckNodePort": "HealthCheck NodePort"})
    if spec.get("loadBalancerSourceRanges"):
        sheet.row("LoadBalancer Source Ranges", ",".join(spec["loadBalancerSourceRanges"]))
    sheet.rows(spec, {"trafficDistribution": "Traffic Distribution"})


def _ingress(each: Object) -> str:
    mode = f" ({each['ipMode']})" if each.get("ipMode") else ""
    return f"{each['ip']}{mode}" if each.get("ip") else str(each.get("hostname", ""))


async def _slices(related: Related, namespace: str, service: str) -> list[Object]:
    query = {"labelSelector": f"{related.dialect(_SERVICE_NAME)}={service}"}
    try:
        return await related.list(_SLICES, namespace, query)
    except ApiError:
        return []


def _addresses(slices: Sequence[Object], port: str) -> str:
    """The addresses of ready endpoints with their number of a port, and how many more there are."""
    addresses: list[str] = []
    for each in slices:
        ready = [
            endpoint["addresses"][0]
            for endpoint in each.get("endpoints") or ()
            if fields.mapping(endpoint, "conditions").get("ready") is not False
        ]
        ports: Sequence[Object] = each.get("ports") or ({},)
        for one in ports:
            number = one.get("port")
            if one and (one.get("name") or "") != port:
                continue
            hosts = (f"[{address}]" if ":" in address else address for address in ready)
            addresses += ready if number is None else [f"{host}:{number}" for host in hosts]
    if not slices:
        return NONE
    more = len(addresses) - SHOWN
    return ",".join(addresses[:SHOWN]) + (f" + {more} more..." if more > 0 else "")


async def endpoints(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.head(obj)
    sheet.line("Subsets:")
    for each in obj.get("subsets") or ():
        for key, title in (("addresses", "Addresses"), ("notReadyAddresses", "NotReadyAddresses")):
            sheet.row(title, ",".join(one["ip"] for one in each.get(key) or ()) or NONE, 1)
        if each.get("ports"):
            sheet.line("Ports:", 1)
            _ports(sheet, each["ports"], 2)
        sheet.line()


def _ports(sheet: Sheet, ports: Sequence[Object], level: int) -> None:
    rows = [[each.get("name") or UNSET, each.get("port", UNSET), each.get("protocol", "TCP")] for each in ports]
    sheet.table(("Name", "Port", "Protocol"), rows, level)


async def endpoint_slice(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.head(obj)
    sheet.row("AddressType", obj.get("addressType", ""))
    sheet.line("Ports:" if obj.get("ports") else f"Ports: {UNSET}")
    if obj.get("ports"):
        _ports(sheet, obj["ports"], 1)
    sheet.line("Endpoints:" if obj.get("endpoints") else f"Endpoints: {NONE}")
    for each in obj.get("endpoints") or ():
        sheet.row("- Addresses", ", ".join(each.get("addresses") or ()) or NONE, 1)
        sheet.line("Conditions:", 2)
        sheet.row("Ready", fields.mapping(each, "conditions").get("ready", UNSET), 3)
        sheet.row("Hostname", each.get("hostname", UNSET), 2)
        target = each.get("targetRef")
        if target:
            sheet.row("TargetRef", f"{target.get('kind', '')}/{target.get('name', '')}", 2)
        sheet.row("NodeName", each.get("nodeName", UNSET), 2)
        sheet.row("Zone", each.get("zone", UNSET), 2)


async def ingress(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata, spec = obj["metadata"], fields.spec(obj)
    sheet.row("Name", metadata["name"])
    sheet.labels("Labels", metadata.get("labels"))
    sheet.row("Namespace", metadata["namespace"])
    sheet.row("Address", load_balancer(fields.status(obj)))
    sheet.row("Ingress Class", spec.get("ingressClassName", NONE))
    default = await _backend(spec["defaultBackend"], obj, related) if spec.get("defaultBackend") else "<default>"
    sheet.row("Default backend", default)
    if spec.get("tls"):
        sheet.line("TLS:")
    for each in spec.get("tls") or ():
        way = f"{each['secretName']} terminates" if each.get("secretName") else "SNI routes"
        sheet.line(f"{way} {','.join(each.get('hosts') or ())}", 1)
    sheet.line("Rules:")
    sheet.table(("Host", "Path", "Backends"), ())
    rules = [each for each in spec.get("rules") or () if each.get("http")]
    for each in rules:
        sheet.line(f"{each.get('host') or '*'}\t", 1)
        for path in each["http"].get("paths") or ():
            sheet.line(f"\t{path.get('path', '')} \t{await _backend(path['backend'], obj, related)}", 2)
    if not rules:
        sheet.line(f"*\t*\t{default}", 1)
    sheet.annotations(metadata.get("annotations"))


async def _backend(backend: Object, ingress: Object, related: Related) -> str:
    if backend.get("resource"):
        to = backend["resource"]
        return f"APIGroup: {to.get('apiGroup', NONE)}, Kind: {to.get('kind')}, Name: {to.get('name')}"
    if not backend.get("service"):
        return ""
    name, port = backend["service"].get("name", ""), fields.mapping(backend, "service", "port")
    text, namespace = f"{name}:{port.get('number') or port.get('name', '')}", ingress["metadata"]["namespace"]
    try:
        of = await related.get("services", namespace, name)
    except ApiError as error:
        return f"{text} (<error: {error}>)"
    names = [
        each.get("name", "")
        for each in fields.spec(of).get("ports") or ()
        if each.get("port") == port.get("number") or (port.get("name") and each.get("name") == port["name"])
    ]
    return f"{text} ({_addresses(await _slices(related, namespace, name), names[-1] if names else '')})"


async def ingress_class(sheet: Sheet, obj: Object, related: Related) -> None:
    spec = fields.spec(obj)
    sheet.head(obj)
    sheet.row("Controller", spec.get("controller", ""))
    if spec.get("parameters"):
        sheet.line("Parameters:")
        sheet.rows(spec["parameters"], {"apiGroup": "APIGroup", "kind": "Kind", "name": "Name"}, 1)


async def service_cidr(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.head(obj)
    sheet.row("CIDRs", ", ".join(fields.spec(obj).get("cidrs") or ()))
    if fields.status(obj).get("conditions"):
        sheet.line("Status:")
    conditions(sheet, obj)


def conditions(sheet: Sheet, obj: Object) -> None:
    """Add conditions with their times, if there are any."""
    listed = fields.status(obj).get("conditions") or ()
    if listed:
        sheet.line("Conditions:")
        rows = [
            [
                each.get("type"),
                each.get("status"),
                moment(each.get("lastTransitionTime")),
                each.get("reason", ""),
                each.get("message", ""),
            ]
            for each in listed
        ]
        sheet.table(("Type", "Status", "LastTransitionTime", "Reason", "Message"), rows)


async def ip_address(sheet: Sheet, obj: Object, related: Related) -> None:
    sheet.head(obj)
    parent = fields.spec(obj).get("parentRef")
    if parent:
        sheet.line("Parent Reference:")
        for key in ("group", "resource", "namespace", "name"):
            sheet.row(key.capitalize(), parent.get(key, ""), 1)


async def network_policy(sheet: Sheet, obj: Object, related: Related) -> None:
    metadata, spec = obj["metadata"], fields.spec(obj)
    sheet.row("Name", metadata["name"])
    sheet.row("Namespace", metadata["namespace"])
    created = parse_time(metadata["creationTimestamp"]).astimezone()
    sheet.row("Created on", created.strftime("%Y-%m-%d %H:%M:%S %z %Z"))
    sheet.labels("Labels", metadata.get("labels"))
    sheet.annotations(metadata.get("annotations"))
    sheet.line("Spec:")
    chosen = selector(spec.get("podSelector"))
    every = f"{NONE} (Allowing the specific traffic to all pods in this namespace)"
    sheet.line(f"PodSelector:     {every if chosen == NONE else chosen}", 1)
    types = spec.get("policyTypes") or ()
    for type_, peers, word, other in (("Ingress", "from", "From", "source"), ("Egress", "to", "To", "destination")):
        way = type_.lower()
        if type_ not in types:
            sheet.line(f"Not affecting {way} traffic", 1)
            continue
        sheet.line(f"Allowing {way} traffic:", 1)
        rules = spec.get(way) or ()
        if not rules:
            sheet.line(f"{NONE} (Selected pods are isolated for {way} connectivity)", 2)
        for at, rule in enumerate(rules):
            if at:
                sheet.line("----------", 2)
            _rule_ports(sheet, rule)
            if not rule.get(peers):
                sheet.line(f"{word}: <any> (traffic not restricted by {other})", 2)
            for peer in rule.get(peers) or ():
                sheet.line(f"{word}:", 2)
                _peer(sheet, peer)
    sheet.line(f"Policy Types: {', '.join(types) or NONE}", 1)


def _rule_ports(sheet: Sheet, rule: Object) -> None:
    if not rule.get("ports"):
        sheet.line("To Port: <any> (traffic allowed to all ports)", 2)
    for each in rule.get("ports") or ():
        port, protocol = plain(each.get("port")), each.get("protocol", "TCP")
        many = each.get("endPort") is not None
        sheet.line(f"To Port Range: {port}-{each['endPort']}/{protocol}" if many else f"To Port: {port}/{protocol}", 2)


def _peer(sheet: Sheet, peer: Object) -> None:
    for key, title in (("namespaceSelector", "NamespaceSelector"), ("podSelector", "PodSelector")):
        if peer.get(key) is not None:
            sheet.line(f"{title}: {selector(peer[key])}", 3)
    if peer.get("ipBlock") and not peer.keys() & {"namespaceSelector", "podSelector"}:
        sheet.line("IPBlock:", 3)
        sheet.line(f"CIDR: {peer['ipBlock'].get('cidr', '')}", 4)
        sheet.line(f"Except: {', '.join(peer['ipBlock'].get('except') or ())}", 4)
