"""Addresses that traffic may be sent to."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any, Final

from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.words import parse_ip, subdomain

_LOCAL_MULTICAST: Final = (IPv4Network("224.0.0.0/24"), IPv6Network("ff02::/16"))


def not_special(value: str, at: Path, report: Report) -> None:
    """No address that means this host or this link: it would reach into the node."""
    address = parse_ip(value)
    if address is None:
        report.invalid(at, value, "must be a valid IP address")
        return
    if address.is_unspecified:
        report.invalid(at, value, f"may not be unspecified ({address})")
    if address.is_loopback:
        report.invalid(at, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        report.invalid(at, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    network = _LOCAL_MULTICAST[0 if isinstance(address, IPv4Address) else 1]
    if address in network:
        report.invalid(at, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def load_balancer_status(status: dict[str, Any], at: Path, report: Report) -> None:
    for i, ingress in enumerate(status.get("ingress") or ()):
        here = (at / "ingress")[i]
        address, name = ingress.get("ip") or "", ingress.get("hostname") or ""
        if address and parse_ip(address) is None:
            report.invalid(here / "ip", address, "must be a valid IP address")
        if name:
            report.invalids(here / "hostname", name, subdomain(name))
            if parse_ip(name) is not None:
                report.invalid(here / "hostname", name, "must be a DNS name, not an IP address")
