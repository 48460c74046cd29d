"""Restricts the addresses that the server connects to on behalf of a client, checked at connection time.

A proxied request must not reach addresses that only the server can reach: loopback, link-local, multicast. IPv4
addresses embedded in IPv6 addresses are checked too. Every address of a name is checked, and the connection uses a
checked address: a second lookup could return a different one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError, DNSLookupError, TimeoutError
from twisted.internet.interfaces import IResolutionReceiver, IStreamClientEndpoint
from zope.interface import implementer

from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.tcp_client import address_endpoint
from orchd.txkit.timeouts import within

#: True if the server may connect to an address, given as text.
AddressPolicy = Callable[[str], bool]

_THIS_NETWORK = 0
#: Networks whose addresses embed an IPv4 address, with the number of bits to the right of it.
_EMBEDDING = (
    (IPv6Network("::/96"), 0),  # IPv4-compatible (RFC 4291, 2.5.5.1)
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped (RFC 4291, 2.5.5.2)
    (IPv6Network("::ffff:0:0:0/96"), 0),  # IPv4-translated (RFC 2765)
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64 (RFC 6052)
    (IPv6Network("64:ff9b:1::/48"), 0),  # NAT64 of a site (RFC 8215), whose prefix is 96 bits long
    (IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056)
)
_SITE_NAT64 = IPv6Network("64:ff9b:1::/48")
#: The upper half of an interface identifier of ISATAP (RFC 5214, 6.1), global and local.
_ISATAP = (0x00005EFE, 0x02005EFE)


class AddressNotAllowedError(Exception):
    """The server refuses to connect to this address on behalf of a client."""

    def __init__(self) -> None:
        super().__init__("address not allowed")


def any_address(text: str) -> bool:
    """Policy for peers that administrators configure: every address is allowed."""
    return True


def global_unicast(text: str) -> bool:
    """Policy for peers that objects name: neither loopback nor link-local, multicast, unspecified or broadcast, and no
    zone. Private networks are allowed, since clusters use them."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _is_global(address)
    if address.scope_id is not None:
        return False
    if address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified:
        return False
    return all(_is_global(inner) for inner in _embedded_addresses(address))


def _is_global(address: IPv4Address) -> bool:
    if address.packed[0] == _THIS_NETWORK or address.packed == b"\xff\xff\xff\xff":
        return False
    return not (address.is_loopback or address.is_link_local or address.is_multicast)


def _embedded_addresses(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses to which packets for an IPv6 address may be routed."""
    value = int(address)
    for network, shift in _EMBEDDING:
        if address in network:
            yield IPv4Address(value >> shift & 0xFFFFFFFF)
    if address in _SITE_NAT64:
        # With a prefix of 48 bits the address surrounds eight zero bits (RFC 6052, 2.2).
        yield IPv4Address((value >> 64 & 0xFFFF) << 16 | value >> 40 & 0xFFFF)
    if address.teredo is not None:
        yield from address.teredo
    if value >> 32 & 0xFFFFFFFF in _ISATAP:
        yield IPv4Address(value & 0xFFFFFFFF)


@implementer(IResolutionReceiver)
class _Addresses:
    """Collects resolved addresses; `resolved` fires with them as texts."""

    def __init__(self) -> None:
        self.resolved: Deferred[list[str]] = Deferred()
        self._texts: list[str] = []

    def resolutionBegan(self, resolution: Any) -> None:
        """Does nothing: the resolution is not cancelled."""

    def addressResolved(self, address: Any) -> None:
        self._texts.append(address.host)

    def resolutionComplete(self) -> None:
        if not self.resolved.called:
            self.resolved.callback(self._texts)


@implementer(IStreamClientEndpoint)
class CheckedEndpoint:
    """Connects to a host, by name or address, if `allowed` accepts all its addresses. Otherwise `connect` fails with
    AddressNotAllowedError. `dial` connects to the checked address, None directly."""

    def __init__(
        self, reactor: Any, host: str, port: int, allowed: AddressPolicy, *, seconds: float, dial: Dial | None = None
    ) -> None:
        self._dial = dial
        self._reactor = reactor
        self._host = host
        self._port = port
        self._allowed = allowed
        self._seconds = seconds

    def connect(self, protocolFactory: Any) -> Deferred[Any]:
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, factory: Any) -> Any:
        addresses = await self._resolve()
        if not addresses:
            raise DNSLookupError(f"lookup {self._host}: no such host")
        if not all(self._allowed(address) for address in addresses):
            raise AddressNotAllowedError
        *others, last = addresses
        for address in others:
            try:
                return await self._to(address).connect(factory)
            except (ConnectError, TimeoutError):
                continue
        return await self._to(last).connect(factory)

    def _to(self, address: str) -> Any:
        if self._dial is not None:
            return self._dial(address, self._port, self._seconds)
        return address_endpoint(self._reactor, address, self._port, seconds=self._seconds)

    async def _resolve(self) -> list[str]:
        receiver = _Addresses()
        self._reactor.nameResolver.resolveHostName(receiver, self._host, self._port)
        try:
            return await within(receiver.resolved, self._seconds, self._reactor)
        except defer.TimeoutError:
            raise DNSLookupError(f"lookup {self._host}: i/o timeout") from None
