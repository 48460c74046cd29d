"""Validation of services."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.addresses import load_balancer_status, not_special
from orchd.kinds.objects.validate.core.field_rules import is_label, is_qualified, is_subdomain, port_or_name
from orchd.kinds.objects.validate.names import CIDR, ip, label_1035_name, parse_cidr, parse_ip, port
from orchd.kinds.objects.validate.paths import METADATA, SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import labels

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_TOPOLOGY_MODE: Final = "service.{long}.io/topology-mode"
_TOPOLOGY_HINTS: Final = "service.{long}.io/topology-aware-hints"
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_NODE_AGENT_PORT: Final = 10250
SOURCE_RANGES: Final = "service.beta.{long}.io/load-balancer-source-ranges"
_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
MAX_AFFINITY_SECONDS: Final = 86400


def create(service: Object, report: Report) -> None:
    body(service, report)
    _one_protocol(fields.spec(service), {}, report)


def needs_health_check(spec: ObjectView) -> bool:
    """True if the service has a health check node port."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _one_protocol(spec: Object, old: Object, report: Report) -> None:
    """Validate protocols of a load balancer: one, unless the stored service has several."""
    if report.settings.feature("MixedProtocolLBService") or (_mixes_protocols(old) and _mixes_protocols(spec)):
        return
    if _mixes_protocols(spec):
        rendered = dump("[]core.ServicePort", spec.get("ports") or [])
        report.invalid(SPEC / "ports", rendered, "may not contain more than 1 protocol when type is 'LoadBalancer'")


def _mixes_protocols(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and len({p.get("protocol") for p in spec.get("ports") or ()}) > 1


def body(service: Object, report: Report) -> None:
    """The rules that apply on create and on update."""
    metadata, spec = fields.metadata(service), fields.spec(service)
    meta.create(service, report, namespaced=True, name_rule=label_1035_name)
    if metadata.get("annotations"):
        _topology(metadata["annotations"], report)
    kind, ports = spec.get("type") or "", spec.get("ports") or []
    headless = _headless(spec)
    if not ports and not headless and kind != "ExternalName":
        report.required(SPEC / "ports")
    _by_type(kind, spec, headless, report)
    names: set[str] = set()
    for i, entry in enumerate(ports):
        _port(entry, len(ports) > 1, names, (SPEC / "ports")[i], report)
    if spec.get("selector"):
        labels(spec["selector"], SPEC / "selector", report)
    _affinity(spec, report)
    address_fields(spec, report)
    for i, address in enumerate(spec.get("externalIPs") or ()):
        wrong = ip(address)
        if wrong:
            report.invalids((SPEC / "externalIPs")[i], address, wrong)
        else:
            not_special(address, (SPEC / "externalIPs")[i], report)
    if not kind:
        report.required(SPEC / "type")
    elif kind not in _TYPES:
        report.unsupported(SPEC / "type", kind, _TYPES)
    _unique_ports(kind, ports, report)
    _balancer(kind, metadata, spec, report)
    _traffic(kind, spec, report)


def _any_topology(annotations: Object, report: Report) -> None:
    """The annotations have no rule."""


def _one_topology(annotations: Object, report: Report) -> None:
    mode, hints = map(report.dialect, (_TOPOLOGY_MODE, _TOPOLOGY_HINTS))
    if mode in annotations and hints in annotations and annotations[mode] != annotations[hints]:
        why = f"must match annotations[{hints}] when both are specified"
        report.invalid((METADATA / "annotations")[mode], annotations[mode], why)


_topology = by_release(_any_topology, ("1.27", _one_topology))


def _headless(spec: Object) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def _by_type(kind: str, spec: Object, headless: bool, report: Report) -> None:
    if kind == "LoadBalancer":
        for i, entry in enumerate(spec.get("ports") or ()):
            if entry.get("port") == _NODE_AGENT_PORT:
                why = (
                    f"may not expose port {_NODE_AGENT_PORT} externally since it is used by "
                    f"{report.dialect('{short}let')}"
                )
                report.invalid((SPEC / "ports")[i], entry["port"], why)
    if kind in ("LoadBalancer", "NodePort") and headless:
        report.invalid((SPEC / "clusterIPs")[0], "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        if spec.get("clusterIPs"):
            report.forbidden(SPEC / "clusterIPs", "may not be set for ExternalName services")
        if spec.get("ipFamilies"):
            report.forbidden(SPEC / "ipFamilies", "may not be set for ExternalName services")
        if spec.get("ipFamilyPolicy") is not None:
            report.forbidden(SPEC / "ipFamilyPolicy", "may not be set for ExternalName services")
        name = (spec.get("externalName") or "").removesuffix(".")
        if name:
            is_subdomain(name, SPEC / "externalName", report)
        else:
            report.required(SPEC / "externalName")


def _port(entry: Object, several: bool, names: set[str], at: Path, report: Report) -> None:
    name, protocol = entry.get("name") or "", entry.get("protocol") or ""
    if not name:
        if several:
            report.required(at / "name")
    else:
        is_label(name, at / "name", report)
        if name in names:
            report.duplicate(at / "name", name)
        names.add(name)
    report.invalids(at / "port", entry.get("port") or 0, port(entry.get("port") or 0))
    if not protocol:
        report.required(at / "protocol")
    elif protocol not in _PROTOCOLS:
        report.unsupported(at / "protocol", protocol, _PROTOCOLS)
    target = entry.get("targetPort")
    port_or_name(0 if target is None else target, at / "targetPort", report)
    if entry.get("appProtocol") is not None:
        is_qualified(entry["appProtocol"], at / "appProtocol", report)


def _affinity(spec: Object, report: Report) -> None:
    affinity, config = spec.get("sessionAffinity") or "", spec.get("sessionAffinityConfig")
    if not affinity:
        report.required(SPEC / "sessionAffinity")
    elif affinity not in ("ClientIP", "None"):
        report.unsupported(SPEC / "sessionAffinity", affinity, ("ClientIP", "None"))
    at = SPEC / "sessionAffinityConfig"
    if affinity == "ClientIP":
        words = "when session affinity type is ClientIP"
        client = (config or {}).get("clientIP")
        seconds = (client or {}).get("timeoutSeconds")
        if config is None:
            report.required(at, words)
        elif client is None:
            report.required(at / "clientIP", words)
        elif seconds is None:
            report.required(at / "clientIP" / "timeoutSeconds", words)
        elif not 0 < seconds <= MAX_AFFINITY_SECONDS:
            why = f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"
            report.invalid(at / "clientIP" / "timeoutSeconds", seconds, why)
    elif affinity == "None" and config is not None:
        report.forbidden(at, "must not be set when session affinity is None")


def address_fields(spec: Object, report: Report) -> None:
    """Validate cluster IPs, IP families and their policy. Called before and after addresses are allocated."""
    if spec.get("type") == "ExternalName":
        return
    at = SPEC / "clusterIPs"
    first, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if first:
        if not addresses:
            report.required(at)
        elif addresses[0] != first:
            report.invalid(at, addresses, "first value must match `clusterIP`")
    elif addresses:
        report.invalid(at, addresses, "must be empty when `clusterIP` is not specified")
    families = spec.get("ipFamilies") or []
    repeated = repeats(families)
    for i, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            report.unsupported((SPEC / "ipFamilies")[i], family, ("IPv4", "IPv6"))
        if i in repeated:
            report.duplicate((SPEC / "ipFamilies")[i], family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in ("PreferDualStack", "RequireDualStack", "SingleStack"):
        report.unsupported(SPEC / "ipFamilyPolicy", policy, ("PreferDualStack", "RequireDualStack", "SingleStack"))
    bad = False
    for i, address in enumerate(addresses):
        if i == 0 and address == "None":
            if len(addresses) > 1:
                bad = True
                report.invalid(at, addresses, "'None' must be the first and only value")
            continue
        wrong = ip(address)
        bad = bad or bool(wrong)
        report.invalids(at[i], address, wrong)
    if len(addresses) > 2:
        report.invalid(at, addresses, "may only hold up to 2 values")
    if bad or _headless(spec):
        return
    versions = [a.version for a in map(parse_ip, addresses) if a is not None]
    if len(addresses) > 1 and len(set(versions)) != 2:
        report.invalid(at, addresses, "may specify no more than one IP for each IP family")
    for i, (version, family) in enumerate(zip(versions, families, strict=False)):
        if family in ("IPv4", "IPv6") and family != f"IPv{version}":
            report.invalid(at[i], addresses[i], f"expected an {family} value as indicated by `ipFamilies[{i}]`")


def _unique_ports(kind: str, ports: list[Object], report: Report) -> None:
    at = SPEC / "ports"
    if kind == "ClusterIP":
        for i, entry in enumerate(ports):
            if entry.get("nodePort"):
                report.forbidden(at[i] / "nodePort", "may not be used when `type` is 'ClusterIP'")
    taken: set[tuple[Any, Any]] = set()
    for i, entry in enumerate(ports):
        number = entry.get("nodePort")
        if number:
            if (entry.get("protocol"), number) in taken:
                report.duplicate(at[i] / "nodePort", number)
            taken.add((entry.get("protocol"), number))
    taken.clear()
    for i, entry in enumerate(ports):
        key = (entry.get("protocol"), entry.get("port"))
        if key in taken:
            report.duplicate(at[i], dump("core.ServicePort", {"protocol": key[0], "port": key[1]}))
        taken.add(key)


def _balancer(kind: str, metadata: Object, spec: Object, report: Report) -> None:
    balanced = kind == "LoadBalancer"
    key = report.dialect(SOURCE_RANGES)
    annotation = (metadata.get("annotations") or {}).get(key)
    ranges = spec.get("loadBalancerSourceRanges") or []
    if ranges or annotation is not None:
        if ranges:
            at, text_of_ranges = SPEC / "LoadBalancerSourceRanges", "[" + " ".join(ranges) + "]"
            listed = ranges
        else:
            at, text_of_ranges = (METADATA / "annotations")[key], str(annotation)
            listed = text_of_ranges.strip().split(",") if text_of_ranges.strip() else []
        if not balanced:
            report.forbidden(at, _ONLY_BALANCED)
        if any(parse_cidr(r.strip()) is None for r in listed):
            _bad_ranges(listed, text_of_ranges, at, report)
    allocate = spec.get("allocateLoadBalancerNodePorts")
    if allocate is not None and not balanced:
        report.forbidden(SPEC / "allocateLoadBalancerNodePorts", _ONLY_BALANCED)
    if allocate is None and balanced and report.settings.feature("ServiceLBNodePortControl"):
        report.required(root("allocateLoadBalancerNodePorts"))
    _balancer_class(spec, report)


def _ranges_as_one(listed: list[str], text_of_ranges: str, at: Path, report: Report) -> None:
    report.invalid(at, text_of_ranges, "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ")


def _each_range(listed: list[str], text_of_ranges: str, at: Path, report: Report) -> None:
    for i, text in enumerate(listed):
        if parse_cidr(text.strip()) is None:
            report.invalid(at[i], text, CIDR)


_bad_ranges = by_release(_ranges_as_one, ("1.32", _each_range))


def _balancer_class(spec: Object, report: Report) -> None:
    name = spec.get("loadBalancerClass")
    if name is not None:
        if spec.get("type") == "LoadBalancer":
            is_qualified(name, SPEC / "loadBalancerClass", report)
        else:
            report.forbidden(SPEC / "loadBalancerClass", _ONLY_BALANCED)


def _by_its_type(spec: Object, report: Report) -> bool:
    return spec.get("type") in ("LoadBalancer", "NodePort")


def _by_type_or_address(spec: Object, report: Report) -> bool:
    outside = spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs"))
    return outside or spec.get("type") in ("LoadBalancer", "NodePort")


#: True if traffic from outside the cluster may reach a service.
_reached_outside = by_release(_by_its_type, ("1.26", _by_type_or_address))


def _traffic(kind: str, spec: Object, report: Report) -> None:
    policy, number = spec.get("externalTrafficPolicy") or "", spec.get("healthCheckNodePort") or 0
    if not _reached_outside(spec, report):
        if policy:
            why: str = reworded(
                "may only be set when `type` is 'NodePort' or 'LoadBalancer'",
                ("1.26", "may only be set for externally-accessible services"),
            )
            report.invalid(SPEC / "externalTrafficPolicy", policy, why)
    elif not policy:
        if kind in ("LoadBalancer", "NodePort"):
            report.required(SPEC / "externalTrafficPolicy")
    elif policy not in ("Cluster", "Local"):
        report.unsupported(SPEC / "externalTrafficPolicy", policy, ("Cluster", "Local"))
    if needs_health_check(spec):
        if not number:
            report.required(SPEC / "healthCheckNodePort")
        else:
            report.invalids(SPEC / "healthCheckNodePort", number, port(number))
    elif number:
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        report.invalid(SPEC / "healthCheckNodePort", number, why)
    internal = spec.get("internalTrafficPolicy")
    if internal is None:
        if kind in ("ClusterIP", "NodePort", "LoadBalancer") and report.settings.feature(
            "ServiceInternalTrafficPolicy"
        ):
            report.required(SPEC / "internalTrafficPolicy")
    elif internal not in ("Cluster", "Local"):
        report.unsupported(SPEC / "internalTrafficPolicy", internal, ("Cluster", "Local"))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        report.unsupported(SPEC / "trafficDistribution", distribution, _DISTRIBUTIONS)


def update(service: Object, old: Object, report: Report) -> None:
    meta.update(service, old, report)
    new, before = fields.spec(service), fields.spec(old)
    if "ExternalName" not in (new.get("type"), before.get("type")):
        if not (_headless(new) and _headless(before)):
            _kept_addresses(new, before, report)
        if not _headless(new) and not _headless(before):
            _kept_families(new, before, report)
    if new.get("type") == before.get("type") == "LoadBalancer":
        name = new.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            report.invalid(SPEC / "loadBalancerClass", name, "may not change once set")
    # Checked twice for a change.
    _balancer_class(new, report)
    number, was = new.get("healthCheckNodePort") or 0, before.get("healthCheckNodePort") or 0
    if number != was and needs_health_check(new) and needs_health_check(before):
        report.forbidden(SPEC / "healthCheckNodePort", "field is immutable")
    body(service, report)
    _one_protocol(new, before, report)


def _kept_addresses(new: Object, old: Object, report: Report) -> None:
    """Validate a change of cluster IPs: the second may be added or removed, the first is immutable."""
    at = SPEC / "clusterIPs"
    now, was = new.get("clusterIPs") or [], old.get("clusterIPs") or []
    if len(now) == len(was):
        for i, address in enumerate(was):
            if address != now[i]:
                report.invalid(at[i], now, "may not change once set")
        return
    if not now:
        report.invalid(at[0], _strings(now), "primary clusterIP can not be unset")
    elif was and now[0] != was[0]:
        report.invalid(at[0], now, "may not change once set")
    _single_again(now, was, "secondary clusterIP", new, report)


def _kept_families(new: Object, old: Object, report: Report) -> None:
    at = (SPEC / "ipFamilies")[0]
    now, was = new.get("ipFamilies") or [], old.get("ipFamilies") or []
    if len(now) == len(was):
        for i, family in enumerate(was):
            if family != now[i]:
                report.invalid(at, _families(now), "may not change once set")
        return
    addresses = new.get("clusterIPs") or []
    if len(was) > len(now) and not addresses:
        report.invalid(at, _families(now), "primary ipFamily can not be unset")
    if now and was and now[0] != was[0]:
        # The reference's message contains the addresses.
        report.invalid(at, _strings(addresses), "may not change once set")
    _single_again(now, was, "secondary ipFamily", new, report)


def _single_again(now: list[str], was: list[str], what: str, new: Object, report: Report) -> None:
    policy = new.get("ipFamilyPolicy")
    if len(was) > len(now) == 1 and policy != "SingleStack":
        why = f"must be set to 'SingleStack' when releasing the {what}"
        report.invalid(SPEC / "ipFamilyPolicy", policy, why)


def _strings(values: list[str]) -> Any:
    return values or dump("[]string", None)


def _families(values: list[str]) -> Any:
    return dump("[]core.IPFamily", values or None)


def update_status(service: Object, old: Object, report: Report) -> None:
    meta.update(service, old, report)
    status = fields.status(service).get("loadBalancer") or {}
    _balancer_status(service, status, report)


def _any_balancer(service: Object, status: Object, report: Report) -> None:
    """Services of all types may have addresses of a load balancer."""
    load_balancer_status(status, STATUS / "loadBalancer", report)


def _own_balancer(service: Object, status: Object, report: Report) -> None:
    if status.get("ingress") and fields.spec(service).get("type") != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        report.forbidden(STATUS / "loadBalancer" / "ingress", why)
    else:
        load_balancer_status(status, STATUS / "loadBalancer", report)


_balancer_status = by_release(_any_balancer, ("1.29", _own_balancer))
