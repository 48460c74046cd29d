"""Parses and formats flag values. Parsers raise ValueError with a message that omits the flag's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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
    """The parts of a URL; those of "" for a text that is none."""
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
    """A map from ``a=b,c=d``; a key without ``=`` has the value "true"."""
    out: dict[str, str] = {}
    for item in parse_strings(text):
        key, equals, value = item.partition("=")
        if not key.strip():
            raise ValueError(f"{item!r} is not key=value")
        out[key.strip()] = value.strip() if equals else "true"
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


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "bool": parse_bool,
    "int": parse_int,
    "float": parse_float,
    "duration": parse_duration,
    "string": str,
    "strings": parse_strings,
    "stringArray": parse_array,
    "ip": parse_ip,
    "cidrs": parse_cidrs,
    "mapStringBool": parse_bools,
    "mapStringString": parse_pairs,
    "pair": parse_pair,
    "namedCertKey": parse_named_cert_key,
    "portRange": parse_port_range,
}

_ZEROS: Final[Mapping[str, Any]] = {"bool": False, "int": 0, "float": 0.0, "duration": 0.0}


def parse(type_: str, text: str) -> Any:
    """The value of `text` for a flag of type `type_`. Raises ValueError."""
    return _PARSERS[type_](text)


def default(type_: str, text: str) -> Any:
    """The value of a default in a table; "" is the zero of the type."""
    if not text and type_ in _ZEROS:
        return _ZEROS[type_]
    return parse(type_, text)


def combine(type_: str, earlier: Any, later: Any) -> Any:
    """The value of a flag repeated in the same source: lists and maps accumulate, other values are replaced."""
    if type_ in ("strings", "stringArray", "namedCertKey"):
        return (*earlier, *later)
    if type_ in ("mapStringBool", "mapStringString", "pair"):
        return {**earlier, **later}
    return later


def show(type_: str, value: Any) -> str:
    """A value in command line syntax, for help texts and the effective configuration."""
    if value is None:
        return ""
    if type_ == "bool":
        return "true" if value else "false"
    if type_ == "duration":
        return format_seconds(value)
    if type_ == "portRange":
        return f"{value[0]}-{value[1]}"
    if type_ == "namedCertKey":
        return " ".join(f"{v.cert_file},{v.key_file}" + (":" + ",".join(v.names) if v.names else "") for v in value)
    if type_ in ("mapStringBool", "mapStringString", "pair"):
        return ",".join(f"{k}={show('bool', v) if isinstance(v, bool) else v}" for k, v in value.items())
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)
