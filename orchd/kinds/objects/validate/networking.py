"""Validation of network policies, ingresses and ingress classes."""

from __future__ import annotations

from typing import Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.addresses import load_balancer_status
from orchd.kinds.objects.validate.core.field_rules import is_domain_path, is_label, is_subdomain
from orchd.kinds.objects.validate.names import (
    CIDR,
    label_1035,
    parse_cidr,
    parse_ip,
    path_segment,
    port,
    port_name,
    subdomain,
    subdomain_name,
    wildcard,
)
from orchd.kinds.objects.validate.paths import SPEC, STATUS, Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector

_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_INSIDE: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_AT_END: Final = ("/..", "/.")
CLASS_ANNOTATION: Final = "{long}.io/ingress.class"


def create_policy(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    _policy(fields.spec(value), report)


def update_policy(value: Object, old: Object, report: Report) -> None:
    # The spec is validated twice, as in the reference.
    create_policy(value, report)
    meta.update(value, old, report)
    _policy(fields.spec(value), report)


def _policy(spec: Object, report: Report) -> None:
    label_selector(spec.get("podSelector"), SPEC / "podSelector", report)
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(spec.get(direction) or ()):
            at = (SPEC / direction)[i]
            for j, entry in enumerate(rule.get("ports") or ()):
                _policy_port(entry, (at / "ports")[j], report)
            for j, peer in enumerate(rule.get(peers) or ()):
                _peer(peer, (at / peers)[j], report)
    kinds = spec.get("policyTypes") or []
    if len(kinds) > 2:
        rendered = dump("[]networking.PolicyType", kinds)
        report.invalid(SPEC / "policyTypes", rendered, "may not specify more than two policyTypes")
        return
    for i, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            report.unsupported((SPEC / "policyTypes")[i], kind, ("Ingress", "Egress"))


def _policy_port(entry: Object, at: Path, report: Report) -> None:
    protocol, number, end = entry.get("protocol"), entry.get("port"), entry.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        report.unsupported(at / "protocol", protocol, _PROTOCOLS)
    if number is None:
        if end is not None:
            report.invalid(at / "endPort", end, "may not be specified when `port` is not specified")
    elif isinstance(number, str):
        if end is not None:
            report.invalid(at / "endPort", end, "may not be specified when `port` is non-numeric")
        report.invalids(at / "port", number, port_name(number))
    else:
        report.invalids(at / "port", number, port(number))
        if end is not None:
            if end < number:
                report.invalid(at / "endPort", number, "must be greater than or equal to `port`")
            report.invalids(at / "endPort", end, port(end))


def _peer(peer: Object, at: Path, report: Report) -> None:
    count = 0
    for member in ("podSelector", "namespaceSelector"):
        if peer.get(member) is not None:
            count += 1
            label_selector(peer[member], at / member, report)
    block = peer.get("ipBlock")
    if block is not None:
        count += 1
        _block(block, at / "ipBlock", report)
    if not count:
        report.required(at, "must specify a peer")
    elif count > 1 and block is not None:
        report.forbidden(at, "may not specify both ipBlock and another peer")


_NOT_A_RANGE: Final = reworded("not a valid CIDR", ("1.32", CIDR))


#: Early releases validate no exception after a malformed one.
_ENDS_AT_MALFORMED: Final = (("", True), ("1.32", False))


def _block(block: Object, at: Path, report: Report) -> None:
    text = block.get("cidr") or ""
    if not text:
        report.required(at / "cidr")
        return
    parsed = parse_cidr(text)
    if parsed is None:
        report.invalid(at / "cidr", text, _NOT_A_RANGE)
        return
    for i, hole in enumerate(block.get("except") or ()):
        inner = parse_cidr(hole)
        if inner is None:
            report.invalid((at / "except")[i], hole, _NOT_A_RANGE)
            if report.release.choose(_ENDS_AT_MALFORMED):
                return
            continue
        if inner[1].network_address not in parsed[1] or inner[1].prefixlen <= parsed[1].prefixlen:
            report.invalid((at / "except")[i], hole, "must be a strict subset of `cidr`")


def create_ingress(value: Object, report: Report) -> None:
    metadata, spec = fields.metadata(value), fields.spec(value)
    _ingress(value, report)
    key = report.dialect(CLASS_ANNOTATION)
    class_name = (metadata.get("annotations") or {}).get(key)
    if class_name is not None and spec.get("ingressClassName") is not None and _conflicts(class_name, spec, report):
        report.invalid(
            root("annotations") / key,
            class_name,
            reworded(
                "can not be set when the class field is also set",
                ("1.35", "must match `ingressClassName` when both are specified"),
            ),
        )


def _always(class_name: str, spec: Object, report: Report) -> bool:
    return True


def _if_different(class_name: str, spec: Object, report: Report) -> bool:
    return bool(class_name != spec["ingressClassName"])


#: True if a class in the annotation conflicts with one in the field.
_conflicts = by_release(_always, ("1.29", _if_different))


def update_ingress(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    _ingress(value, report)


def update_ingress_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    status = fields.status(value).get("loadBalancer") or {}
    load_balancer_status(status, STATUS / "loadBalancer", report)


def _ingress(value: Object, report: Report) -> None:
    spec = fields.spec(value)
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        rendered = dump("[]networking.IngressRule", spec.get("rules"))
        report.invalid(SPEC, rendered, "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        _backend(backend, SPEC / "defaultBackend", report)
    for i, rule in enumerate(rules):
        _rule(rule, (SPEC / "rules")[i], report)
    for i, tls in enumerate(spec.get("tls") or ()):
        at = (SPEC / "tls")[i]
        for j, host in enumerate(tls.get("hosts") or ()):
            report.invalids((at / "hosts")[j], host, wildcard(host) if "*" in host else subdomain(host))
        if tls.get("secretName"):
            is_subdomain(tls["secretName"], at / "secretName", report)
    if spec.get("ingressClassName") is not None:
        is_subdomain(spec["ingressClassName"], SPEC / "ingressClassName", report)


def _rule(rule: Object, at: Path, report: Report) -> None:
    host = rule.get("host") or ""
    if host:
        if parse_ip(host) is not None:
            report.invalid(at / "host", host, "must be a DNS name, not an IP address")
        report.invalids(at / "host", host, wildcard(host) if "*" in host else subdomain(host))
    http = rule.get("http")
    if http is None:
        return
    paths = http.get("paths") or []
    if not paths:
        report.required(at / "http" / "paths")
    for i, path in enumerate(paths):
        _path(path, (at / "http" / "paths")[i], report)


def _path(path: Object, at: Path, report: Report) -> None:
    kind, text = path.get("pathType"), path.get("path") or ""
    if kind is None:
        report.required(at / "pathType", "pathType must be specified")
        return
    if kind in ("Exact", "Prefix"):
        if not text.startswith("/"):
            report.invalid(at / "path", text, "must be an absolute path")
        for bad in _BAD_INSIDE:
            if bad in text:
                report.invalid(at / "path", text, f"must not contain '{bad}'")
        for bad in _BAD_AT_END:
            if text.endswith(bad):
                report.invalid(at / "path", text, f"cannot end with '{bad}'")
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            report.invalid(at / "path", text, "must be an absolute path")
    else:
        report.unsupported(at / "pathType", kind, _PATH_TYPES)
    _backend(path.get("backend") or {}, at / "backend", report)


def _backend(backend: Object, at: Path, report: Report) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        report.invalid(at, "", "cannot set both resource and service backends")
    elif resource is not None:
        _typed_reference(resource, at / "resource", report)
    elif service is not None:
        _service(service, at, report)
    else:
        report.invalid(at, "", "resource or service backend is required")


def _service(service: Object, at: Path, report: Report) -> None:
    name, chosen = service.get("name") or "", service.get("port") or {}
    if not name:
        report.required(at / "service" / "name")
    else:
        report.invalids(at / "service" / "name", name, label_1035(name))
    named, number = chosen.get("name") or "", chosen.get("number") or 0
    if named and number:
        report.invalid(at, "", "cannot set both port name & port number")
    elif named:
        report.invalids(at / "service" / "port" / "name", named, port_name(named))
    elif number:
        report.invalids(at / "service" / "port" / "number", number, port(number))
    else:
        report.required(at, "port name or number is required")


def _typed_reference(reference: Object, at: Path, report: Report) -> None:
    if reference.get("apiGroup") is not None:
        group = reference["apiGroup"]
        report.invalids(at / "apiGroup", group, subdomain(group))
    for member in ("kind", "name"):
        value = reference.get(member) or ""
        if not value:
            report.required(at / member, reworded(f"{member} is required", ("1.35", "")))
        else:
            report.invalids(at / member, value, path_segment(value))


def create_class(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    _class(fields.spec(value), report)


def update_class(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    spec = fields.spec(value)
    report.immutable(SPEC / "controller", spec.get("controller") or "", fields.spec(old).get("controller") or "")
    create_class(value, report)


def _class(spec: Object, report: Report) -> None:
    controller = spec.get("controller") or ""
    if len(controller) > 250:
        report.too_long(SPEC / "controller", 250)
    is_domain_path(controller, SPEC / "controller", report)
    parameters = spec.get("parameters")
    if parameters is None:
        return
    at = SPEC / "parameters"
    _typed_reference(parameters, at, report)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        report.required(at / "scope")
        return
    if scope not in ("Cluster", "Namespace"):
        report.unsupported(at / "scope", scope, ("Cluster", "Namespace"))
    elif scope == "Namespace":
        if namespace is None:
            report.required(at / "namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            is_label(namespace, at / "namespace", report)
    elif namespace is not None:
        report.forbidden(at / "namespace", "`parameters.scope` is set to 'Cluster'")
