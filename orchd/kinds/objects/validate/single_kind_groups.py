"""Validation of groups with one kind each: priority classes, leases, runtime classes, endpoint slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from orchd.kinds import fields
from orchd.kinds.fields import metadata
from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.addresses import not_special
from orchd.kinds.objects.validate.core.field_rules import is_label, is_qualified, is_subdomain
from orchd.kinds.objects.validate.core.placement import tolerations
from orchd.kinds.objects.validate.core.pods import preemption_policy
from orchd.kinds.objects.validate.core.resources import requirements
from orchd.kinds.objects.validate.names import IP, ip, label, label_value, parse_ip, subdomain, subdomain_name
from orchd.kinds.objects.validate.paths import METADATA, SPEC, Path, root
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import labels

SYSTEM_PRIORITIES: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
HIGHEST_USER_PRIORITY: Final = 1000000000
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def create_priority_class(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    name, number = metadata(value).get("name") or "", value.get("value") or 0
    if name.startswith("system-"):
        wrong = _unknown_system_class(name, number, bool(value.get("globalDefault")))
        if wrong:
            words = "priority class names with 'system-' prefix are reserved for system use only. error: "
            report.forbidden(METADATA / "name", words + wrong)
    elif number > HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        report.forbidden(root("value"), why)
    if value.get("preemptionPolicy") is not None:
        preemption_policy(value["preemptionPolicy"], root("preemptionPolicy"), report)


def _unknown_system_class(name: str, number: int, default: bool) -> str:
    expected = SYSTEM_PRIORITIES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if number != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if default else ""


def update_priority_class(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    if (value.get("value") or 0) != (old.get("value") or 0):
        _value_changed(report)
    report.immutable(root("preemptionPolicy"), value.get("preemptionPolicy"), old.get("preemptionPolicy"))


def create_lease(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name, core=False)
    _lease(fields.spec(value), report)


def update_lease(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report, core=False)
    _lease(fields.spec(value), report)


def _lease(spec: Object, report: Report) -> None:
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        report.invalid(SPEC / "leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        report.invalid(
            SPEC / "leaseTransitions",
            transitions,
            reworded("must to greater or equal than 0", ("1.35", "must be greater than or equal to 0")),
        )


#: The path of errors of tolerations in the scheduling of a runtime class; that of single ones repeats the name in early
#: releases.
_TOLERATED: Final[tuple[tuple[str, Callable[[Path], Path]], ...]] = (
    ("", lambda at: at / "tolerations" / "tolerations"),
    ("1.33", lambda at: at / "tolerations"),
)


#: The members that make a toleration unique.
_TOLERATION_KEYS: Final = ("key", "operator", "value", "effect")


def create_runtime_class(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name, core=False)
    spec = value.get("spec") or value
    is_label(_handler(value), root("handler"), report)
    if spec.get("overhead") is not None:
        requirements({"limits": spec["overhead"].get("podFixed") or {}}, root("overhead"), report)
    scheduling, at = spec.get("scheduling"), root("scheduling")
    if scheduling is not None:
        labels(scheduling.get("nodeSelector"), at / "nodeSelector", report)
        listed = scheduling.get("tolerations") or []
        tolerations(listed, report.release.choose(_TOLERATED)(at), report)
        for i in sorted(repeats(tuple(each.get(key) or "" for key in _TOLERATION_KEYS) for each in listed)):
            report.duplicate((at / "tolerations")[i], dump("core.Toleration", listed[i]))


def _handler(value: Object) -> str:
    """The handler; in v1alpha1 it is in the spec."""
    return value.get("handler") or fields.spec(value).get("runtimeHandler") or ""


def update_runtime_class(value: Object, old: Object, report: Report) -> None:
    create_runtime_class(value, report)
    meta.update(value, old, report, core=False)
    report.immutable(root("handler"), _handler(value), _handler(old))


def create_slice(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=True, name_rule=subdomain_name)
    kind = value.get("addressType") or ""
    if not kind:
        report.required(root("addressType"))
    elif kind not in _ADDRESS_TYPES:
        report.unsupported(root("addressType"), kind, _ADDRESS_TYPES)
    listed = value.get("endpoints") or []
    if len(listed) > 1000:
        report.too_many(root("endpoints"), len(listed), 1000)
    else:
        for i, endpoint in enumerate(listed):
            _endpoint(endpoint, kind, root("endpoints")[i], report)
    ports = value.get("ports") or []
    if len(ports) > 20000:
        report.too_many(root("ports"), len(ports), 20000)
        return
    names: set[str] = set()
    for i, entry in enumerate(ports):
        _slice_port(entry, names, root("ports")[i], report)


def _endpoint(endpoint: Object, kind: str, at: Path, report: Report) -> None:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        report.required(at / "addresses", "must contain at least 1 address")
    elif len(addresses) > 100:
        report.too_many(at / "addresses", len(addresses), 100)
    for i, address in enumerate(addresses):
        _address(address, kind, (at / "addresses")[i], report)
    if endpoint.get("nodeName") is not None:
        is_subdomain(endpoint["nodeName"], at / "nodeName", report)
    topology = endpoint.get("deprecatedTopology") or endpoint.get("topology") or {}
    if len(topology) > 16:
        report.too_many(at / "deprecatedTopology", len(topology), 16)
    labels(topology, at / "deprecatedTopology", report)
    if endpoint.get("hostname") is not None:
        is_label(endpoint["hostname"], at / "hostname", report)
    hints = endpoint.get("hints") or {}
    _hints(hints.get("forZones") or [], at / "hints" / "forZones", label_value, report)
    if hints.get("forNodes"):
        _hints(hints["forNodes"], at / "hints" / "forNodes", subdomain, report)


def _hints(zones: list[Object], at: Path, rule: Callable[[str], Sequence[str]], report: Report) -> None:
    if len(zones) > 8:
        report.too_many(at, len(zones), 8)
        return
    names = [zone.get("name") or "" for zone in zones]
    for i, name in enumerate(names):
        if name in names[:i]:
            report.duplicate(at[i] / "name", name)
        report.invalids(at[i] / "name", name, rule(name))


def _address_of_kind(address: str, kind: str, at: Path, report: Report) -> None:
    parsed = parse_ip(address)
    if parsed is None or f"IPv{parsed.version}" != kind:
        report.invalid(at, address, f"must be a valid {kind} address")
    not_special(address, at, report)


def _address_or_list(address: str, kind: str, at: Path, report: Report) -> None:
    """Validate an address. An IPv6 one has its canonical form; one of the other family is an error of the list."""
    wrong = ip(address) if kind == "IPv4" else _canonical_ipv6(address)
    if wrong:
        report.invalids(at, address, wrong)
        return
    parsed = parse_ip(address)
    if parsed is None or f"IPv{parsed.version}" != kind:
        report.invalid(at.above or at, address, f"must be an {kind} address")
    not_special(address, at, report)


def _canonical_ipv6(address: str) -> Sequence[str]:
    parsed = parse_ip(address)
    if parsed is None:
        return [IP]
    if ":" not in address:
        return [] if address == str(parsed) else ["must not have leading 0s"]
    if parsed.version == 4:
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if address == str(parsed) else [f"must be in canonical form ({quote(str(parsed))})"]


_ip_address = by_release(_address_of_kind, ("1.33", _address_or_list))


def _address(address: str, kind: str, at: Path, report: Report) -> None:
    if kind in ("IPv4", "IPv6"):
        _ip_address(address, kind, at, report)
    elif kind == "FQDN":
        text = address.removesuffix(".")
        wrong = subdomain(text)
        if not address:
            report.required(at)
        elif wrong:
            report.invalid(at, text, ",".join(wrong))
        elif "." not in text:
            report.invalid(at, text, "should be a domain with at least two segments separated by dots")
        else:
            for part in text.split("."):
                if label(part):
                    report.invalid(at, part, ",".join(label(part)))


def _slice_port(entry: Object, names: set[str], at: Path, report: Report) -> None:
    name, protocol = entry.get("name") or "", entry.get("protocol")
    if name:
        is_label(name, at / "name", report)
    if name in names:
        report.duplicate(at / "name", name)
    names.add(name)
    if protocol is None:
        report.required(at / "protocol")
    elif protocol not in _PROTOCOLS:
        report.unsupported(at / "protocol", protocol, _PROTOCOLS)
    if entry.get("appProtocol") is not None:
        is_qualified(entry["appProtocol"], at / "appProtocol", report)


def update_slice(value: Object, old: Object, report: Report) -> None:
    create_slice(value, report)
    report.immutable(root("addressType"), value.get("addressType"), old.get("addressType"))


def _under_the_field(report: Report) -> None:
    report.forbidden(root("Value"), "may not be changed in an update.")


def _under_the_member(report: Report) -> None:
    report.forbidden(root("value"), "may not be changed in an update.")


_value_changed = by_release(_under_the_field, ("1.35", _under_the_member))
