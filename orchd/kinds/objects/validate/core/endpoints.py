"""Validation of Endpoints."""

from __future__ import annotations

from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.addresses import not_special
from orchd.kinds.objects.validate.core.field_rules import is_label, is_qualified, is_subdomain
from orchd.kinds.objects.validate.names import ip, port, subdomain_name
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report

_SUBSETS: Final = root("subsets")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def create(endpoints: Object, report: Report) -> None:
    meta.create(endpoints, report, namespaced=True, name_rule=subdomain_name)
    _subsets(endpoints, report)


def update(endpoints: Object, old: Object, report: Report) -> None:
    meta.update(endpoints, old, report)
    create(endpoints, report)


def _subsets(endpoints: Object, report: Report) -> None:
    for i, subset in enumerate(endpoints.get("subsets") or ()):
        at = _SUBSETS[i]
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            report.required(at, "must specify `addresses` or `notReadyAddresses`")
        for member in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(member) or ()):
                _address(address, (at / member)[j], report)
        ports = subset.get("ports") or []
        for j, entry in enumerate(ports):
            _port(entry, len(ports) > 1, (at / "ports")[j], report)


def _address(address: Object, at: Path, report: Report) -> None:
    value = address.get("ip") or ""
    report.invalids(at / "ip", value, ip(value))
    if address.get("hostname"):
        is_label(address["hostname"], at / "hostname", report)
    if address.get("nodeName") is not None:
        is_subdomain(address["nodeName"], at / "nodeName", report)
    not_special(value, at / "ip", report)


def _port(entry: Object, several: bool, at: Path, report: Report) -> None:
    name, protocol = entry.get("name") or "", entry.get("protocol") or ""
    if name:
        is_label(name, at / "name", report)
    elif several:
        report.required(at / "name")
    report.invalids(at / "port", entry.get("port") or 0, port(entry.get("port") or 0))
    if not protocol:
        report.required(at / "protocol")
    elif protocol not in _PROTOCOLS:
        report.unsupported(at / "protocol", protocol, _PROTOCOLS)
    if entry.get("appProtocol") is not None:
        is_qualified(entry["appProtocol"], at / "appProtocol", report)
