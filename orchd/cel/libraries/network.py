"""IP addresses and networks: ``ip``, ``cidr`` and their predicates and parts. IPv4 in IPv6 and zones are refused."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from orchd.cel.costs import FLAT, PER_CHARACTER, UNIT, Cost, Estimate, Meter, Range, Sized, reading, size_of
from orchd.cel.declare import Function, Implementation, Library, function, member, overload
from orchd.cel.quoting import quote
from orchd.cel.types import BOOL, INT, STRING, Type, opaque
from orchd.cel.values import EvaluationError, Opaque, Value, no_overload

IP_TYPE = opaque("net.IP")
CIDR_TYPE = opaque("net.CIDR")

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_HEX = re.compile(r"[0-9a-fA-F]*")


class IP(Opaque):
    """An address."""

    __slots__ = ("address",)
    cel_type: Type = IP_TYPE
    class_name = "cel.IP"
    data_name = "netip.Addr"

    def __init__(self, address: _Address) -> None:
        self.address = address

    def __str__(self) -> str:
        return str(self.address)

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, IP):
            raise no_overload()
        return self.address == other.address

    def key(self) -> Hashable:
        return self.address

    def size(self) -> int:
        return self.address.max_prefixlen // 8

    def wire(self, spell: Callable[[str], str]) -> dict[str, str]:
        return {"ip": str(self.address)}


class CIDR(Opaque):
    """A network, with the address that it was written with."""

    __slots__ = ("address", "bits")
    cel_type: Type = CIDR_TYPE
    class_name = "cel.CIDR"
    data_name = "netip.Prefix"

    def __init__(self, address: _Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, CIDR):
            raise no_overload()
        return self.address == other.address and self.bits == other.bits

    def size(self) -> int:
        return math.ceil(self.bits / 8)

    def key(self) -> Hashable:
        return self.address, self.bits

    def wire(self, spell: Callable[[str], str]) -> dict[str, str]:
        return {"cidr": str(self)}

    def prefix(self, address: _Address) -> int:
        """The bits of an address that this network fixes."""
        return int(address) >> (address.max_prefixlen - self.bits)

    def contains(self, address: _Address) -> bool:
        return address.version == self.address.version and self.prefix(address) == self.prefix(self.address)


# Parsing.


class _Bad(ValueError):
    """Text is no address; ``at`` is what could not be read, empty if that is nothing in particular."""

    def __init__(self, message: str, at: str = "") -> None:
        super().__init__(message)
        self.at = at


def _parse_address(text: str) -> tuple[_Address, str]:
    """Return address and zone. Raises `_Bad`."""
    for character in text:
        if character == ".":
            return ipaddress.IPv4Address(_parse_fields(text)), ""
        if character == ":":
            return _parse_ipv6(text)
        if character == "%":
            raise _Bad("missing IPv6 address")
    raise _Bad("unable to parse IP")


def _parse_fields(text: str) -> int:
    """Return the number of four decimal fields."""
    total = value = digits = fields = 0
    for index, character in enumerate(text):
        if "0" <= character <= "9":
            if digits == 1 and value == 0:
                raise _Bad("IPv4 field has octet with leading zero")
            value = value * 10 + int(character)
            digits += 1
            if value > 255:
                raise _Bad("IPv4 field has value >255")
        elif character == ".":
            if index == 0 or index == len(text) - 1 or text[index - 1] == ".":
                raise _Bad("IPv4 field must have at least one digit", text[index:])
            if fields == 3:
                raise _Bad("IPv4 address too long")
            total = total << 8 | value
            fields += 1
            value = digits = 0
        else:
            raise _Bad("unexpected character", text[index:])
    if fields < 3:
        raise _Bad("IPv4 address too short")
    return total << 8 | value


def _parse_ipv6(text: str) -> tuple[_Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _Bad("zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return ipaddress.IPv6Address(0), zone
    while len(groups) < 8:
        digits = _HEX.match(rest)
        length = digits.end() if digits else 0
        if length > 4:
            raise _Bad("each group must have 4 or less digits", rest)
        if not length:
            raise _Bad("each colon-separated field must have at least one digit", rest)
        if rest[length : length + 1] == ".":
            if ellipsis < 0 and len(groups) != 6:
                raise _Bad("embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(groups) > 6:
                raise _Bad("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            number = _parse_fields(rest)
            groups += [number >> 16, number & 0xFFFF]
            rest = ""
            break
        groups.append(int(rest[:length], 16))
        rest = rest[length:]
        if not rest:
            break
        if rest[0] != ":":
            raise _Bad("unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _Bad("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis >= 0:
                raise _Bad("multiple :: in address", rest)
            ellipsis, rest = len(groups), rest[1:]
            if not rest:
                break
    if rest:
        raise _Bad("trailing garbage after address", rest)
    if len(groups) < 8:
        if ellipsis < 0:
            raise _Bad("address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis >= 0:
        raise _Bad("the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return ipaddress.IPv6Address(number), zone


def _described(text: str, error: _Bad) -> str:
    at = f" (at {quote(error.at)})" if error.at else ""
    return f"ParseAddr({quote(text)}): {error}{at}"


def literal_failure(text: str) -> str | None:
    """Say why a text is no address of IPv6, None if it is one; it may have a zone."""
    try:
        address, _ = _parse_address(text)
    except _Bad as error:
        return f"invalid host: {_described(text, error)}"
    return "invalid IP-literal" if address.version == 4 else None


def parse_ip(text: str) -> IP:
    """Return the address of a text. Raises `EvaluationError`."""
    try:
        address, zone = _parse_address(text)
    except _Bad as error:
        message = f"IP Address {quote(text)} parse error during conversion from string: {_described(text, error)}"
        raise EvaluationError(message) from None
    if zone:
        raise EvaluationError(f"IP address {quote(text)} with zone value is not allowed")
    if _mapped(address):
        raise EvaluationError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IP(address)


def parse_any_ip(text: str) -> IP:
    """Like `parse_ip`, but addresses of IPv4 may be written as IPv6 if they have no dots. Raises `EvaluationError`."""
    try:
        address, _ = _parse_address(text)
    except _Bad:
        return parse_ip(text)
    if "." in text or not _mapped(address):
        return parse_ip(text)
    return IP(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))


def _mapped(address: _Address) -> bool:
    return address.version == 6 and int(address) >> 32 == 0xFFFF


def parse_cidr(text: str) -> CIDR:
    """Return the network of a text. Raises `EvaluationError`."""
    outer = "network address parse error during conversion from string: "
    try:
        prefix = _parse_prefix(text)
    except _Bad as error:
        raise EvaluationError(f"{outer}{outer}netip.ParsePrefix({quote(text)}): {error}") from None
    if _mapped(prefix.address):
        raise EvaluationError(f"{outer}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return prefix


def _parse_prefix(text: str) -> CIDR:
    head, slash, tail = text.rpartition("/")
    if not slash:
        raise _Bad("no '/'")
    try:
        address, zone = _parse_address(head)
    except _Bad as error:
        raise _Bad(_described(head, error)) from None
    if zone:
        raise _Bad("IPv6 zones cannot be present in a prefix")
    if not re.fullmatch(r"0|[1-9][0-9]*", tail, re.ASCII) or len(tail) > 18:
        raise _Bad(f"bad bits after slash: {quote(tail)}")
    if int(tail) > address.max_prefixlen:
        raise _Bad("prefix length out of range")
    return CIDR(address, int(tail))


def _valid(parse: Callable[[str], Value]) -> Implementation:
    def check(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return check


# Questions.


def _is_global_unicast(ip: IP) -> bool:
    address = ip.address
    if address.version == 4 and int(address) == 0xFFFFFFFF:
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or _link_local_unicast(ip))


def _link_local_unicast(ip: IP) -> bool:
    number = int(ip.address)
    return number >> 16 == 0xA9FE if ip.address.version == 4 else number >> 118 == 0xFE80 >> 6


def _link_local_multicast(ip: IP) -> bool:
    number = int(ip.address)
    return number >> 8 == 0xE00000 if ip.address.version == 4 else number >> 112 & 0xFF0F == 0xFF02


def _contains_ip_text(cidr: CIDR, text: str) -> bool:
    try:
        return cidr.contains(parse_ip(text).address)
    except EvaluationError:
        raise no_overload() from None


def _contains_cidr(cidr: CIDR, other: CIDR) -> bool:
    return cidr.bits <= other.bits and cidr.contains(other.address)


def _masked(cidr: CIDR) -> CIDR:
    free = cidr.address.max_prefixlen - cidr.bits
    return CIDR(type(cidr.address)(int(cidr.address) >> free << free), cidr.bits)


# Costs.

_ADDRESS = Range(4, 16)


def _estimate_contains(cidr: bool, text: bool) -> Cost:
    """The cost of comparing two addresses, of two networks once more, and of parsing a text."""

    def estimate(target: Sized | None, args: Sequence[Sized]) -> Estimate:
        cost = _ADDRESS.plus(_ADDRESS).scaled(PER_CHARACTER)
        if cidr:
            cost = cost.plus(_ADDRESS.scaled(PER_CHARACTER)).plus(UNIT)
        if text:
            cost = cost.plus(args[0].size.scaled(PER_CHARACTER))
        return Estimate(cost)

    def count(args: Sequence[Value], result: Value) -> int:
        size = size_of(args[0])
        cost = math.ceil((size + size) * PER_CHARACTER)
        if cidr:
            cost += math.ceil(size * PER_CHARACTER) + 1
        if text:
            cost += math.ceil(size_of(args[1]) * PER_CHARACTER)
        return cost

    return Cost(estimate, count, by_name=not text)


_PARSE = reading(0)
_TWICE = reading(0, 2 * PER_CHARACTER)


def _question(name: str, identifier: str, call: Implementation) -> Function:
    return function(name, member(identifier, [IP_TYPE], BOOL, call, cost=FLAT))


LIBRARY = Library(
    name="ip",
    functions=(
        function("ip", overload("string_to_ip", [STRING], IP_TYPE, parse_ip, cost=_PARSE)),
        function("isIP", overload("is_ip", [STRING], BOOL, _valid(parse_ip), cost=_PARSE)),
        function(
            "ip.isCanonical",
            overload("ip_is_canonical", [STRING], BOOL, lambda text: str(parse_ip(text).address) == text, cost=_TWICE),
        ),
        function("family", member("ip_family", [IP_TYPE], INT, lambda ip: ip.address.version, cost=FLAT)),
        function("string", overload("ip_to_string", [IP_TYPE], STRING, lambda ip: str(ip.address))),
        _question("isUnspecified", "ip_is_unspecified", lambda ip: ip.address.is_unspecified),
        _question("isLoopback", "ip_is_loopback", lambda ip: ip.address.is_loopback),
        _question("isLinkLocalMulticast", "ip_is_link_local_multicast", _link_local_multicast),
        _question("isLinkLocalUnicast", "ip_is_link_local_unicast", _link_local_unicast),
        _question("isGlobalUnicast", "ip_is_global_unicast", _is_global_unicast),
    ),
    types=(IP_TYPE,),
)
#: `LIBRARY` as its specification has it.
LATEST = replace(
    LIBRARY,
    functions=tuple(
        function("ip", overload("string_to_ip", [STRING], IP_TYPE, parse_any_ip, cost=_PARSE))
        if row.name == "ip"
        else row
        for row in LIBRARY.functions
    ),
)
# Where the type of an argument is not known, the cost of the first overload counts.
CIDRS = Library(
    name="cidr",
    functions=(
        function("cidr", overload("string_to_cidr", [STRING], CIDR_TYPE, parse_cidr, cost=_PARSE)),
        function("isCIDR", overload("is_cidr", [STRING], BOOL, _valid(parse_cidr), cost=_PARSE)),
        function(
            "containsIP",
            member(
                "cidr_contains_ip_string",
                [CIDR_TYPE, STRING],
                BOOL,
                _contains_ip_text,
                cost=_estimate_contains(False, True),
            ),
            member(
                "cidr_contains_ip_ip",
                [CIDR_TYPE, IP_TYPE],
                BOOL,
                lambda cidr, ip: cidr.contains(ip.address),
                cost=_estimate_contains(False, False),
            ),
        ),
        function(
            "containsCIDR",
            member(
                "cidr_contains_cidr_string",
                [CIDR_TYPE, STRING],
                BOOL,
                lambda cidr, text: _contains_cidr(cidr, parse_cidr(text)),
                cost=_estimate_contains(True, True),
            ),
            member(
                "cidr_contains_cidr", [CIDR_TYPE, CIDR_TYPE], BOOL, _contains_cidr, cost=_estimate_contains(True, False)
            ),
        ),
        function("ip", member("cidr_ip", [CIDR_TYPE], IP_TYPE, lambda cidr: IP(cidr.address), cost=FLAT)),
        function("prefixLength", member("cidr_prefix_length", [CIDR_TYPE], INT, lambda cidr: cidr.bits, cost=FLAT)),
        function("masked", member("cidr_masked", [CIDR_TYPE], CIDR_TYPE, _masked, cost=FLAT)),
        function("string", overload("cidr_to_string", [CIDR_TYPE], STRING, str)),
    ),
    types=(CIDR_TYPE, IP_TYPE),
)
