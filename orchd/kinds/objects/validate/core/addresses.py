"""Validation of addresses to which traffic is sent."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate.names import IP, parse_ip, subdomain
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_INVALID: Final = "must be a valid IP address"
_INVALID_BALANCED: Final = reworded(_INVALID, ("1.32", IP))
_LOCAL_MULTICAST: Final = IPv4Network("224.0.0.0/24")


def not_special(value: str, at: Path, report: Report) -> None:
    """Reject loopback, link-local and unspecified addresses, which would reach the node itself."""
    address = parse_ip(value)
    if address is None:
        report.invalid(at, value, _INVALID)
        return
    if address.is_unspecified:
        report.invalid(at, value, f"may not be unspecified ({value})")
    if address.is_loopback:
        report.invalid(at, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        report.invalid(at, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if isinstance(address, IPv4Address):
        local = address in _LOCAL_MULTICAST
    else:
        # ff02::/16, with any flags.
        local = address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02
    if local:
        report.invalid(at, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def both_families(addresses: list[str], at: Path, report: Report) -> bool:
    """True if there is an address of each IP family. Reports an invalid address."""
    versions: set[int] = set()
    for text in addresses:
        address = parse_ip(text)
        if address is None:
            report.internal(at, "failed to check for dual stack with error:ip <nil> is invalid")
            return False
        versions.add(address.version)
    return len(versions) == 2


def load_balancer_status(status: dict[str, Any], at: Path, report: Report) -> None:
    for i, ingress in enumerate(status.get("ingress") or ()):
        here = (at / "ingress")[i]
        address, name = ingress.get("ip") or "", ingress.get("hostname") or ""
        mode = ingress.get("ipMode")
        if address and parse_ip(address) is None:
            report.invalid(here / "ip", address, _INVALID_BALANCED)
        if mode is not None and not address:
            report.forbidden(here / "ipMode", "may not be specified when `ip` is not set")
        elif mode is not None and mode not in ("Proxy", "VIP"):
            report.unsupported(here / "ipMode", mode, ("Proxy", "VIP"))
        if name:
            report.invalids(here / "hostname", name, subdomain(name))
            if parse_ip(name) is not None:
                report.invalid(here / "hostname", name, "must be a DNS name, not an IP address")
