"""Validation of the ranges of cluster IPs, and of the addresses taken from them."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.names import CIDR, IP, parse_cidr, parse_ip, path_segment, subdomain, subdomain_name
from orchd.kinds.objects.validate.paths import SPEC
from orchd.kinds.objects.validate.report import Report

_PARENT = SPEC / "parentRef"
_RANGES = SPEC / "cidrs"


def canonical_address(name: str, prefix: bool = False) -> Sequence[str]:
    """Name rule: an IP address as programs print it."""
    address = parse_ip(name)
    if address is None:
        return [IP]
    if ":" not in name and name != str(address):
        return ["must not have leading 0s"]
    if ":" in name and address.version == 4:
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if str(address) == name else [f'must be in canonical form ("{address}")']


def create_address(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=canonical_address)
    parent = fields.spec(value).get("parentRef")
    if parent is None:
        report.required(_PARENT)
    else:
        parent_reference(parent, report)


def parent_reference(parent: Object, report: Report) -> None:
    """Validate what refers to the owner of an address."""
    if parent.get("group"):
        report.invalids(_PARENT / "group", parent["group"], subdomain(parent["group"]))
    for member in ("resource", "name", "namespace"):
        text = parent.get(member) or ""
        if text:
            report.invalids(_PARENT / member, text, path_segment(text))
        elif member != "namespace":
            report.required(_PARENT / member)


def update_address(value: Object, old: Object, report: Report) -> None:
    create_address(value, report)
    meta.update(value, old, report)
    parent, before = fields.spec(value).get("parentRef"), fields.spec(old).get("parentRef")
    if parent != before:
        report.invalid(_PARENT, dump("*networking.ParentReference", parent), "field is immutable")


def create_range(value: Object, report: Report) -> None:
    meta.create(value, report, namespaced=False, name_rule=subdomain_name)
    _ranges(value, report)


def _ranges(value: Object, report: Report) -> None:
    listed = fields.spec(value).get("cidrs") or []
    if not listed:
        report.required(_RANGES, "at least one CIDR required")
        return
    if len(listed) > 2:
        report.invalid(_RANGES, dump("networking.ServiceCIDRSpec", fields.spec(value)), "may only hold up to 2 values")
        return
    families = []
    for i, text in enumerate(listed):
        parsed = parse_cidr(text)
        if parsed is None:
            report.invalid(_RANGES[i], text, CIDR)
            continue
        address, network = parsed
        families.append(address.version)
        host, _, bits = text.partition("/")
        if bits != str(network.prefixlen) or (":" not in host and host != str(address)):
            report.invalid(_RANGES[i], text, "must not have leading 0s in IP or prefix length")
        elif isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            report.invalid(_RANGES[i], text, "must not have an IPv4-mapped IPv6 address")
        elif address != network.network_address:
            report.invalid(_RANGES[i], text, "must not have bits set beyond the prefix length")
        elif str(network) != text:
            report.invalid(_RANGES[i], text, f'must be in canonical form ("{network}")')
    if len(families) == 2 and families[0] == families[1]:
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        report.invalid(_RANGES, listed, why)


def update_range(value: Object, old: Object, report: Report) -> None:
    """Validate a change: a second range may be added."""
    meta.update(value, old, report)
    now, was = fields.spec(value).get("cidrs") or [], fields.spec(old).get("cidrs") or []
    if len(now) == len(was) or (len(was), len(now)) == (1, 2):
        for i, (text, before) in enumerate(zip(now, was, strict=False)):
            if text != before:
                report.invalid(_RANGES[i], text, "field is immutable")
        if len(now) > len(was):
            _ranges(value, report)
    else:
        report.invalid(_RANGES, fields.spec(value).get("cidrs"), "field is immutable")


def update_range_status(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
