"""Validation of names and other formatted strings. Each rule returns a list of errors, empty for a valid string.

Sources: RFC 1035 and 1123 (labels, subdomains), RFC 6335 (port names), the specification's naming rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from orchd.kinds.digits import integer, is_whole
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.shorttexts import remember_short

#: The result of a rule for a valid string.
FINE: Final[Sequence[str]] = ()

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = _LABEL + "(\\." + _LABEL + ")*"
_UNDERSCORED: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORED: Final = _UNDERSCORED + "(\\." + _UNDERSCORED + ")*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = "(" + _QUALIFIED + ")?"
_ENV: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HEADER: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"

LABEL_RE: Final = re.compile(_LABEL).fullmatch
SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN).fullmatch
UNDERSCORED_RE: Final = re.compile(_SUBDOMAIN_UNDERSCORED).fullmatch
LABEL_1035_RE: Final = re.compile(_LABEL_1035).fullmatch
QUALIFIED_RE: Final = re.compile(_QUALIFIED).fullmatch
VALUE_RE: Final = re.compile(_VALUE).fullmatch
WILDCARD_RE: Final = re.compile(r"\*\." + _SUBDOMAIN).fullmatch
ENV_RE: Final = re.compile(_ENV).fullmatch
CONFIG_KEY_RE: Final = re.compile(_CONFIG_KEY).fullmatch
HEADER_RE: Final = re.compile(_HEADER).fullmatch
PERCENT_RE: Final = re.compile(_PERCENT).fullmatch
_PORT_CHARS: Final = re.compile("[-a-z0-9]+").fullmatch
_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH_RE: Final = re.compile(_PATH).fullmatch
#: What is wrong with a path of other characters.
INVALID_PATH: Final = f"Invalid path (regex used for validation is '{_PATH}')"


def _wording(text: str, pattern: str, *examples: str) -> str:
    alternatives = "".join(f"{'' if i == 0 else ' or '}'{e}', " for i, e in enumerate(examples))
    return f"{text} (e.g. {alternatives}regex used for validation is '{pattern}')"


def longer(limit: int) -> str:
    return f"must be no more than {limit} characters"


def _longer_in_bytes(limit: int, part: str = "") -> str:
    return reworded(part + longer(limit), ("1.34", f"{part}must be no more than {limit} bytes"))


LABEL: Final = _wording(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
#: The error for a label that would be a subdomain.
_LABEL_WITH_DOTS: Final = reworded(LABEL, ("1.35", "must not contain dots"))
SUBDOMAIN: Final = _wording(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
UNDERSCORED: Final = _wording(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character",
    _SUBDOMAIN_UNDERSCORED,
    "example.com",
)
LABEL_1035: Final = _wording(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
WILDCARD: Final = _wording(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "\\*\\." + _SUBDOMAIN,
    "*.example.com",
)
QUALIFIED: Final = _wording(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
LABEL_VALUE: Final = _wording(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)
ENV_NAME: Final = _wording(
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit",
    _ENV,
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)
CONFIG_KEY: Final = _wording(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
HEADER_NAME: Final = _wording(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name"
)
PERCENT: Final = _wording(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def label(value: str) -> Sequence[str]:
    """A DNS-1123 label."""
    if len(value) <= 63 and LABEL_RE(value):
        return FINE
    return _check_length(value, 63, LABEL_RE(value) is not None, _LABEL_WITH_DOTS if SUBDOMAIN_RE(value) else LABEL)


def subdomain(value: str) -> Sequence[str]:
    """A DNS-1123 subdomain."""
    if len(value) <= 253 and SUBDOMAIN_RE(value):
        return FINE
    return _check_length(value, 253, SUBDOMAIN_RE(value) is not None, SUBDOMAIN)


def subdomain_with_underscores(value: str) -> Sequence[str]:
    """A subdomain whose labels may also contain underscores."""
    return _check_length(value, 253, UNDERSCORED_RE(value) is not None, UNDERSCORED)


def label_1035(value: str) -> Sequence[str]:
    """A DNS-1035 label: begins with a letter."""
    return _check_length(value, 63, LABEL_1035_RE(value) is not None, LABEL_1035)


def wildcard(value: str) -> Sequence[str]:
    """A DNS-1123 subdomain after ``*.``."""
    return _check_length(value, 253, WILDCARD_RE(value) is not None, WILDCARD)


def label_value(value: str) -> Sequence[str]:
    if len(value) <= 63 and VALUE_RE(value):
        return FINE
    out = [_longer_in_bytes(63)] if len(value.encode()) > 63 else []
    return out if VALUE_RE(value) else [*out, LABEL_VALUE]


def _check_length(value: str, limit: int, matches: bool, text: str) -> Sequence[str]:
    out = [longer(limit)] if len(value.encode()) > limit else []
    if not matches:
        out.append(text)
    return out


def qualified_name(value: str) -> Sequence[str]:
    """``name`` or ``domain/name``."""
    prefix, slash, name = value.rpartition("/")
    if len(name) <= 63 and QUALIFIED_RE(name) and (not slash or (len(prefix) <= 253 and SUBDOMAIN_RE(prefix))):
        return FINE
    out: list[str] = []
    if value.count("/") > 1:
        words = f"{QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [reworded(f"a qualified name {words}", ("1.34", f"a valid label key {words}"))]
    if slash:
        if not prefix:
            out.append("prefix part must be non-empty")
        else:
            if len(prefix.encode()) > 253:
                out.append(_longer_in_bytes(253, "prefix part "))
            if not SUBDOMAIN_RE(prefix):
                out.append(f"prefix part {SUBDOMAIN}")
    if not name:
        out.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        out.append(_longer_in_bytes(63, "name part "))
    if not QUALIFIED_RE(name):
        out.append(f"name part {QUALIFIED}")
    return out


def config_key(value: str) -> Sequence[str]:
    """A key of a ConfigMap or Secret."""
    if value and value[0] != "." and len(value) <= 253 and CONFIG_KEY_RE(value):
        return FINE
    out = [longer(253)] if len(value.encode()) > 253 else []
    if not CONFIG_KEY_RE(value):
        out.append(CONFIG_KEY)
    out.extend(_dots(value))
    return out


def env_name(value: str) -> Sequence[str]:
    if ENV_RE(value) and value[0] != ".":
        return FINE
    out = [] if ENV_RE(value) else [ENV_NAME]
    out.extend(_dots(value))
    return out


def relaxed_env_name(value: str) -> Sequence[str]:
    """Any printable ASCII characters except ``=``."""
    if value and value.isascii() and value.isprintable() and "=" not in value:
        return FINE
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def _dots(value: str) -> Sequence[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else FINE


def header_name(value: str) -> Sequence[str]:
    return FINE if HEADER_RE(value) else [HEADER_NAME]


def percent(value: str) -> Sequence[str]:
    return FINE if PERCENT_RE(value) else [PERCENT]


def port(value: int) -> Sequence[str]:
    return FINE if 1 <= value <= 65535 else [PORT_RANGE]


def port_name(value: str) -> Sequence[str]:
    """RFC 6335, section 5.1."""
    out = [longer(15)] if len(value) > 15 else []
    if not _PORT_CHARS(value):
        out.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= c <= "z" for c in value):
        out.append(
            reworded(
                "must contain at least one letter or number (a-z, 0-9)",
                ("1.35", "must contain at least one letter (a-z)"),
            )
        )
    if "--" in value:
        out.append("must not contain consecutive hyphens")
    if value and (value[0] == "-" or value[-1] == "-"):
        out.append("must not begin or end with a hyphen")
    return out


def between(value: int, low: int, high: int) -> Sequence[str]:
    return FINE if low <= value <= high else [f"must be between {low} and {high}, inclusive"]


def path_segment(name: str, prefix: bool = False) -> Sequence[str]:
    """A name that is safe as a segment of a URL path; a prefix may be ``.`` or ``..``."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{bad}'" for bad in ("/", "%") if bad in name]


@remember_short(4096)
def parse_ip(value: str) -> IPv4Address | IPv6Address | None:
    """Parse an address, None if it is invalid. Leading zeros in IPv4 are decimal, zones are invalid, and an IPv4
    address that is written as IPv6 (``::ffff:1.2.3.4``) is an IPv4 address."""
    address = _parse_ip(value)
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _parse_ip(value: str) -> IPv4Address | IPv6Address | None:
    try:
        if ":" in value:
            return None if "%" in value else IPv6Address(value)
        parts = value.split(".")
        if len(parts) != 4 or not all(p.isascii() and p.isdigit() for p in parts):
            return None
        return IPv4Address(".".join(str(integer(p)) for p in parts))
    except (AddressValueError, ValueError):
        return None


def ip(value: str) -> Sequence[str]:
    return FINE if parse_ip(value) is not None else [IP]


def parse_cidr(value: str) -> tuple[IPv4Address | IPv6Address, IPv4Network | IPv6Network] | None:
    """The address and the network of a CIDR, None if it is invalid."""
    host, slash, bits = value.partition("/")
    address = _parse_ip(host)
    if address is None or not slash or not is_whole(bits) or integer(bits) > address.max_prefixlen:
        return None
    if isinstance(address, IPv4Address):
        return address, IPv4Network((int(address) >> (32 - int(bits)) << (32 - int(bits)), int(bits)))
    return address, IPv6Network((int(address) >> (128 - int(bits)) << (128 - int(bits)), int(bits)))


def fully_qualified(name: str) -> Sequence[str]:
    """A subdomain with at least three segments."""
    if not name:
        return ["must not be empty"]
    wrong = subdomain(name)
    if wrong:
        return wrong
    if name.count(".") < 2:
        return ["should be a domain with at least three segments separated by dots"]
    return FINE


def domain_prefixed_path(value: str) -> Sequence[tuple[str, str]]:
    """Parts of a path such as ``acme.io/foo`` that are wrong, and why."""
    host, slash, path = value.partition("/")
    if not slash or not host or not path:
        return [(value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    wrong = [(host, why) for why in subdomain(host)]
    if not _PATH_RE(path):
        wrong.append((path, INVALID_PATH))
    return wrong


def dns_label_name(name: str, prefix: bool = False) -> Sequence[str]:
    """Name rule: a DNS-1123 label."""
    return label(_without_trailing_dash(name) if prefix else name)


def subdomain_name(name: str, prefix: bool = False) -> Sequence[str]:
    """Name rule: a DNS-1123 subdomain."""
    return subdomain(_without_trailing_dash(name) if prefix else name)


def label_1035_name(name: str, prefix: bool = False) -> Sequence[str]:
    """Name rule: a DNS-1035 label."""
    return label_1035(_without_trailing_dash(name) if prefix else name)


def _without_trailing_dash(prefix: str) -> str:
    """Remove the trailing dash of a prefix, which more characters follow."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
