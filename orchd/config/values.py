"""Parses and formats flag values. Parsers raise ValueError with a message that omits the flag's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from orchd.kinds.gotext.durations import DurationError, format_seconds, parse_seconds

_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCertKey:
    """A serving certificate for host names. `names` () means the names in the certificate."""

    cert_file: str
    key_file: str
    names: tuple[str, ...] = ()


def parse_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"{text!r} is not a boolean: true or false")


def parse_int(text: str) -> int:
    try:
        if "_" in text:
            raise ValueError
        value = int(text, 10)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError("is not a number of 64 bits")
    return value


def url_parts(text: str) -> SplitResult:
    """The parts of a URL; those of "" for a text that is not a URL."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return urlsplit("")
    return parts


def parse_float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def parse_duration(text: str) -> float:
    """Seconds of a duration such as ``1h30m``, ``1.5s``, ``-10ms`` or ``0``."""
    try:
        return parse_seconds(text)
    except DurationError:
        raise ValueError(f"{text!r} is not a duration such as 1h, 1m30s, 500ms") from None


def parse_strings(text: str) -> tuple[str, ...]:
    """Items of a comma-separated list; an item in double quotes may contain commas."""
    if not text:
        return ()
    out: list[str] = []
    for match in re.finditer(r'\s*"((?:[^"]|"")*)"\s*(?:,|$)|([^,]*)(?:,|$)', text):
        if match.group(1) is not None:
            out.append(match.group(1).replace('""', '"'))
        elif match.start() < len(text) or text.endswith(","):
            out.append(match.group(2).strip())
    return tuple(item for item in out if item)


def parse_ip(text: str) -> IPv4Address | IPv6Address | None:
    if not text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address") from None


def parse_cidrs(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    out = []
    for item in parse_strings(text):
        try:
            out.append(ip_network(item, strict=False))
        except ValueError:
            raise ValueError(f"{item!r} is not a range such as 10.0.0.0/24") from None
    return tuple(out)


def parse_pairs(text: str) -> dict[str, str]:
    """A map from ``a=b,c=d``; a key without ``=`` has the value ""."""
    out: dict[str, str] = {}
    for item in parse_strings(text):
        key, _, value = item.partition("=")
        if not key.strip():
            raise ValueError(f"{item!r} is not key=value")
        out[key.strip()] = value.strip()
    return out


def parse_pair(text: str) -> dict[str, str]:
    """A single ``key=value`` pair, whose value may contain commas."""
    if not text:
        return {}
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"{text!r} is not key=value")
    return {key.strip(): value.strip()}


def parse_bools(text: str) -> dict[str, bool]:
    """A map of booleans from ``a=true,b=false``."""
    out: dict[str, bool] = {}
    for item in parse_strings(text):
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{item!r} is not name=true or name=false")
        try:
            out[key.strip()] = parse_bool(value.strip())
        except ValueError as error:
            raise ValueError(f"{key.strip()}: {error}") from None
    return out


def parse_port_range(text: str) -> tuple[int, int]:
    """First and last port of ``30000-32767``, ``30000+2767`` or a single port."""
    match = re.fullmatch(r"([0-9]+)(?:([-+])([0-9]+))?", text)
    if match is None:
        raise ValueError(f"{text!r} is not a port range such as 30000-32767")
    low = int(match.group(1))
    high = low if match.group(3) is None else int(match.group(3))
    if match.group(2) == "+":
        high += low
    if not 0 < low <= high <= 65535:
        raise ValueError(f"{text!r} is not a port range within 1-65535")
    return low, high


def parse_named_cert_key(text: str) -> tuple[NamedCertKey, ...]:
    """A certificate pair from ``cert,key`` or ``cert,key:name,name``."""
    if not text:
        return ()
    files, _, names = text.partition(":")
    parts = files.split(",")
    if len(parts) != 2 or not all(part.strip() for part in parts):
        raise ValueError(f"{text!r} is not certificate,key or certificate,key:name,name")
    hosts = tuple(name.strip() for name in names.split(",") if name.strip())
    return (NamedCertKey(cert_file=parts[0].strip(), key_file=parts[1].strip(), names=hosts),)


def parse_array(text: str) -> tuple[str, ...]:
    """A one-item list; commas are part of the item."""
    return (text,) if text else ()


def _show(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _show_bool(value: bool) -> str:
    return "true" if value else "false"


def _show_pairs(value: Mapping[str, str | bool]) -> str:
    return ",".join(f"{key}={_show_bool(each) if isinstance(each, bool) else each}" for key, each in value.items())


def _show_port_range(value: tuple[int, int]) -> str:
    return f"{value[0]}-{value[1]}"


def _show_named_cert_keys(value: Iterable[NamedCertKey]) -> str:
    return " ".join(f"{v.cert_file},{v.key_file}" + (":" + ",".join(v.names) if v.names else "") for v in value)


def _replace(earlier: Any, later: Any) -> Any:
    return later


def _extend(earlier: tuple[Any, ...], later: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*earlier, *later)


def _update(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    return {**earlier, **later}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlagType:
    """A type of flags. `parse` raises ValueError, and `combine(earlier, later)` is the value of a flag repeated in the
    same source: lists and maps accumulate, other values are replaced."""

    #: In the documentation of flags.
    name: str
    parse: Callable[[str], Any]
    #: A value in help texts; "" for a switch, which needs none.
    placeholder: str
    #: The default that is written as ""; None to parse that.
    zero: Any = None
    combine: Callable[[Any, Any], Any] = _replace
    format: Callable[[Any], str] = _show

    def default(self, text: str) -> Any:
        """The value of a default of a row."""
        return self.parse(text) if text or self.zero is None else self.zero

    def show(self, value: Any) -> str:
        """A value in command line syntax, for help texts and the effective configuration."""
        return "" if value is None else self.format(value)


BOOL: Final = FlagType(name="bool", parse=parse_bool, placeholder="", zero=False, format=_show_bool)
INT: Final = FlagType(name="int", parse=parse_int, placeholder="int", zero=0)
FLOAT: Final = FlagType(name="float", parse=parse_float, placeholder="float", zero=0.0)
DURATION: Final = FlagType(
    name="duration", parse=parse_duration, placeholder="duration", zero=0.0, format=format_seconds
)
STRING: Final = FlagType(name="string", parse=str, placeholder="text")
STRINGS: Final = FlagType(name="strings", parse=parse_strings, placeholder="list", combine=_extend)
STRING_ARRAY: Final = FlagType(name="stringArray", parse=parse_array, placeholder="text", combine=_extend)
IP: Final = FlagType(name="ip", parse=parse_ip, placeholder="ip")
CIDRS: Final = FlagType(name="cidrs", parse=parse_cidrs, placeholder="CIDR,...")
BOOLS: Final = FlagType(
    name="mapStringBool", parse=parse_bools, placeholder="name=bool,...", combine=_update, format=_show_pairs
)
PAIRS: Final = FlagType(
    name="mapStringString", parse=parse_pairs, placeholder="key=value,...", combine=_update, format=_show_pairs
)
PAIR: Final = FlagType(name="pair", parse=parse_pair, placeholder="pair", combine=_update, format=_show_pairs)
NAMED_CERT_KEY: Final = FlagType(
    name="namedCertKey",
    parse=parse_named_cert_key,
    placeholder="cert,key:names",
    combine=_extend,
    format=_show_named_cert_keys,
)
PORT_RANGE: Final = FlagType(name="portRange", parse=parse_port_range, placeholder="low-high", format=_show_port_range)
