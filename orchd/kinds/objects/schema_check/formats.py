"""Checks of string formats; other formats are ignored (specification, "Custom resources": formats)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from ipaddress import AddressValueError, IPv6Address
from typing import Any, Final
from unicodedata import category

from orchd.cel.libraries.urls import url_failure
from orchd.cel.times import read_duration
from orchd.cel.values import Duration
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.names import parse_cidr, parse_ip

Check = Callable[[str], bool]


def _matches(pattern: str, flags: int = re.ASCII) -> Check:
    match = re.compile(pattern, flags).fullmatch
    return lambda text: match(text) is not None


_DATE: Final = re.compile(r"(\d{4})(-\d\d-\d\d)", re.ASCII).fullmatch
_TIME: Final = _matches(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)")


def _date(text: str) -> bool:
    match = _DATE(text)
    if match is None:
        return False
    try:
        # The year 0, which is a leap year, has no date in Python.
        date.fromisoformat(("2000" if match[1] == "0000" else match[1]) + match[2])
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    """A date and a time of RFC 3339, by its pattern. What follows another T is ignored, as in the reference."""
    day, *times = text.lower().split("t")
    return bool(times) and _date(day) and _TIME(times[0])


def _ipv4(text: str) -> bool:
    return "." in text and parse_ip(text) is not None


def _ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text


def _luhn(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
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


_SPACING: Final = re.compile(r"[\t\n\f\r -]")


def _isbn10(text: str) -> bool:
    digits = _SPACING.sub("", text)
    if re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII) is None:
        return False
    return sum((i + 1) * (10 if d == "X" else int(d)) for i, d in enumerate(digits)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = _SPACING.sub("", text)
    if re.fullmatch(r"\d{13}", digits, re.ASCII) is None:
        return False
    return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


_UUID: Final = r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
#: Letters, digits and symbols: labels are those of any language.
_SIGN: Final = "[a-zA-Z0-9$+<=>^`|~]"
_hostname_form: Final = _matches(
    rf"{_SIGN}(-?{_SIGN}{{0,62}})?|({_SIGN}([a-zA-Z0-9$+<=>^`|~-]{{0,61}}{_SIGN})?\.)+[a-zA-Z]{{2,63}}"
)


def _hostname(text: str) -> bool:
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in text.split(".")):
        return False
    return _hostname_form("".join(c if c.isascii() else _HOST_SIGNS.get(category(c)[0], "_") for c in text))


#: Unicode category -> the ASCII character that replaces characters of it before a pattern is applied.
_HOST_SIGNS: Final = {"L": "a", "S": "="}
_ATOM_SIGN: Final = r'[^\x00-\x20\x7f()<>\[\]:;@\\,."]'
_ATOM: Final = rf"(?:{_ATOM_SIGN}|\.)++"
_DOT_ATOM: Final = rf"(?!\.)(?:{_ATOM_SIGN}|\.(?!\.))++(?<!\.)"
_QUOTED: Final = r'"(?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])*+"'
_LITERAL: Final = r"\[([^\x00-\x20\x7f\[\]\\]++)\]"
_ADDRESS: Final = rf'[ \t]*+(?:(?!""){_QUOTED}|{_DOT_ATOM})@[ \t]*+(?:{_LITERAL}|{_DOT_ATOM})'
#: Comments may be nested, here up to two levels.
_COMMENT: Final = r"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*+\))*+\)"
_BLANKS: Final = rf"(?:[ \t]|{_COMMENT})*+"
_PHRASE: Final = rf"[ \t]*+(?:(?:{_ATOM}|{_QUOTED}){_BLANKS})++"
_MAILBOX: Final = rf"(?:{_ADDRESS}[ \t]*+(?:{_COMMENT})?|(?:{_PHRASE})?[ \t]*+<{_ADDRESS}>)"
_email_form: Final = re.compile(rf"(?:{_MAILBOX}|{_PHRASE}:{_MAILBOX}{_BLANKS};){_BLANKS}", re.DOTALL).fullmatch


def _email(text: str) -> bool:
    """An address of RFC 5322, with or without the name of its owner."""
    match = _email_form(text)
    return match is not None and all(literal is None or parse_ip(literal) is not None for literal in match.groups())


FORMATS: Final[dict[str, Check]] = {
    "bsonobjectid": _matches(r"[0-9a-fA-F]{24}"),
    # RFC 4648, section 4: one byte at least, without line breaks.
    "byte": _matches(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?+(?<=.)"),
    "cidr": lambda text: parse_cidr(text) is not None,
    "creditcard": _luhn,
    "date": _date,
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": lambda text: isinstance(read_duration(text), Duration),
    "email": _email,
    "hexcolor": _matches(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "mac": _matches(
        r"([0-9a-fA-F]{2}([:-]))(([0-9a-fA-F]{2}\2){4}|([0-9a-fA-F]{2}\2){6}|([0-9a-fA-F]{2}\2){18})[0-9a-fA-F]{2}"
        r"|(([0-9a-fA-F]{4}\.){2}|([0-9a-fA-F]{4}\.){3}|([0-9a-fA-F]{4}\.){9})[0-9a-fA-F]{4}"
    ),
    "password": lambda text: True,
    "rgbcolor": _matches(
        r"rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
        r"\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)"
    ),
    "ssn": _matches(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "uri": lambda text: url_failure(text) is None,
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
