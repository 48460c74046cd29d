"""Warnings of addresses and ranges that are accepted although they are not in their standard form."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from orchd.dialect import Dialect
from orchd.kinds.gotext.values import quote
from orchd.kinds.objects.validate.names import parse_cidr, parse_ip
from orchd.kinds.objects.validate.paths import Path

_FUTURE: Final = "will be considered invalid in a future {Long} release"


def of_address(value: str, at: Path, dialect: Dialect) -> list[str]:
    """Warnings of an IP address; none of a text that is no address."""
    address = parse_ip(value)
    if address is None:
        return []
    if isinstance(address, IPv4Address):
        if value == str(address):
            return []
        return [f"{at}: non-standard IP address {quote(value)} {dialect(_FUTURE)}: use {quote(str(address))}"]
    return _canonical(value, str(address), "IPv6 address", at)


def of_range(value: str, at: Path, dialect: Dialect) -> list[str]:
    """Warnings of a CIDR; none of a text that is no CIDR."""
    parsed = parse_cidr(value)
    if parsed is None:
        return []
    address, network = parsed
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    out: list[str] = []
    if address != network.network_address:
        single = f"{mapped or address}/{network.max_prefixlen}"
        either = f"{quote(_text(network))} or {quote(single)}"
        out.append(f"{at}: CIDR value {quote(value)} is ambiguous in this context (should be {either}?)")
    host, _, bits = value.partition("/")
    if mapped is not None or bits != str(network.prefixlen) or (":" not in host and host != str(address)):
        out.append(f"{at}: non-standard CIDR value {quote(value)} {dialect(_FUTURE)}: use {quote(_text(network))}")
    if not out and isinstance(address, IPv6Address):
        return _canonical(value, f"{address}/{network.prefixlen}", "IPv6 CIDR value", at)
    return out


def _text(network: IPv4Network | IPv6Network) -> str:
    """The text of a range; that of an IPv4 range that is written as IPv6 is the IPv4 range's."""
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    return str(network) if mapped is None or network.prefixlen < 96 else f"{mapped}/{network.prefixlen - 96}"


def _canonical(value: str, text: str, what: str, at: Path) -> list[str]:
    if value == text:
        return []
    return [f"{at}: {what} {quote(value)} should be in RFC 5952 canonical format ({quote(text)})"]
