"""Checks of string formats; other formats are ignored (specification, "Custom resources": formats)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any, Final
from urllib.parse import urlsplit

from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.names import parse_cidr

Check = Callable[[str], bool]


def _matches(pattern: str, flags: int = re.ASCII) -> Check:
    match = re.compile(pattern, flags).fullmatch
    return lambda text: match(text) is not None


#: RFC 3339 with any number of fractional digits. A missing time zone is accepted, as in the reference.
_DATE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d|[+-]\d{4})?", re.ASCII
).fullmatch


def _date(text: str) -> bool:
    if len(text) != 10:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return text[4] == "-"


def _date_time(text: str) -> bool:
    match = _DATE_TIME(text)
    if match is None:
        return False
    day, hour, minute, second = match.group(1, 2, 3, 4)
    try:
        datetime.fromisoformat(f"{day}T{hour}:{minute}:{second}")
    except ValueError:
        return False
    return True


def _ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


def _ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text


def _uri(text: str) -> bool:
    """A valid request URI: an absolute URI or an absolute path."""
    if any(c <= " " or c == "\x7f" for c in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    if text.startswith("/"):
        return True
    return bool(parts.scheme) and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:.*", text, re.DOTALL) is not None


def _luhn(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    if (
        re.fullmatch(
            r"4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}",
            digits,
            re.ASCII,
        )
        is None
    ):
        return False
    doubled = [int(d) * 2 if i % 2 else int(d) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    if re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII) is None:
        return False
    return sum((i + 1) * (10 if d == "X" else int(d)) for i, d in enumerate(digits)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    if re.fullmatch(r"\d{13}", digits, re.ASCII) is None:
        return False
    return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


_UUID: Final = r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_LABEL: Final = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_hostname_form: Final = _matches(rf"{_LABEL}(\.{_LABEL})*\.?")

FORMATS: Final[dict[str, Check]] = {
    "bsonobjectid": _matches(r"[0-9a-fA-F]{24}"),
    # RFC 4648, section 4: one byte at least, without line breaks.
    "byte": _matches(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?+(?<=.)"),
    "cidr": lambda text: parse_cidr(text) is not None,
    "creditcard": _luhn,
    "date": _date,
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": _matches(
        r"[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+|0"
        r"|(\d+\s*(d|day|days|h|hr|hrs|hour|hours|m|min|minute|minutes|s|sec|second|seconds|w|week|weeks"
        r"|ms|milli|millis|millisecond|milliseconds|us|µs|μs|micro|micros|microsecond|microseconds"
        r"|ns|nano|nanos|nanosecond|nanoseconds)\s*)+"
    ),
    "email": _matches(r'("[^"\r\n]+"|[^@\s,;:<>()\[\]\\"]+)@[^@\s,;:<>()\\"]+|[^<>]*<[^@\s<>]+@[^@\s<>]+>'),
    "hexcolor": _matches(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": lambda text: len(text) <= 255 and _hostname_form(text),
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "mac": _matches(
        r"([0-9A-Fa-f]{2}([:-]))([0-9A-Fa-f]{2}\2){4,18}[0-9A-Fa-f]{2}|([0-9A-Fa-f]{4}\.){2,9}[0-9A-Fa-f]{4}"
    ),
    "password": lambda text: True,
    "rgbcolor": _matches(
        r"rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
        r"\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)"
    ),
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _uri,
    "uuid": _matches(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _matches(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _matches(_UUID % ("4", "[89ab]")),
    "uuid5": _matches(_UUID % ("5", "[89ab]")),
}
_NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_short_name: Final = _matches(_NAME)
_long_name: Final = _matches(rf"{_NAME}(\.{_NAME})*")
#: Formats of later releases, by templates of a dialect.
_LATER: Final[dict[str, Check]] = {
    "{abbr}-short-name": lambda text: len(text) <= 63 and _short_name(text),
    "{abbr}-long-name": lambda text: len(text) <= 253 and _long_name(text),
}
_BY_RELEASE: Final[tuple[tuple[str, Mapping[str, Check]], ...]] = (("", {}), ("1.34", _LATER))


def formats_of(settings: ObjectSettings) -> Mapping[str, Check]:
    """The formats that a release checks, by name."""
    later = settings.release.choose(_BY_RELEASE)
    return {**FORMATS, **{settings.dialect(name): check for name, check in later.items()}} if later else FORMATS


def unknown_formats(schema: Mapping[str, Any], settings: ObjectSettings) -> Iterator[str]:
    """The formats of the strings of a schema that the release does not check. Dashes in names do not count."""
    supported = {name.replace("-", "") for name in formats_of(settings)}
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            name = part.get("format")
            if isinstance(name, str) and part.get("type") == "string" and name.replace("-", "") not in supported:
                yield name
            for word in _BELOW:
                inner = part.get(word)
                pending += inner.values() if word in _MAPS and isinstance(inner, dict) else [inner]


_MAPS: Final = ("properties", "patternProperties", "definitions")
_BELOW: Final = (*_MAPS, "items", "additionalItems", "additionalProperties", "allOf", "anyOf", "oneOf", "not")
