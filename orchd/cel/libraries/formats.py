"""Named formats: ``format.dns1123Label().validate('x')`` is an optional list of errors of a text."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Sequence

from orchd.cel import times
from orchd.cel.costs import FLAT, PER_CHARACTER, PER_PATTERN_CHARACTER, Cost, Estimate, Meter, Sized, size_of
from orchd.cel.declare import Library, function, member, overload
from orchd.cel.libraries.urls import url_failure
from orchd.cel.types import STRING, VENDOR, Type, list_of, optional_of, struct
from orchd.cel.values import NONE, Opaque, Optional, Value, no_overload

FORMAT_TYPE = struct(f"{VENDOR}.NamedFormat")
_LONGEST_PATTERN = 128

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII)

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    f"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL_1035}')"
)
_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_MAX_LABEL, _MAX_SUBDOMAIN = 63, 253


class Format(Opaque):
    """A format: its name, what finds mistakes, and the length of its pattern, which is what it costs."""

    __slots__ = ("find", "name", "pattern")
    cel_type: Type = FORMAT_TYPE
    class_name = "cel.Format"

    def __init__(self, name: str, find: Callable[[str], list[str]], pattern: int) -> None:
        self.name = name
        self.find = find
        self.pattern = pattern

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, Format):
            raise no_overload()
        return self.name == other.name


# What is wrong with a text.


def _too_long(text: str, most: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {most} {unit}"] if len(text.encode()) > most else []


def _named(pattern: str, message: str, most: int, *, prefix: bool = False) -> Callable[[str], list[str]]:
    """Mistakes of a name; a prefix may end in a dash."""
    compiled = re.compile(pattern, re.ASCII)

    def find(text: str) -> list[str]:
        if prefix and len(text) > 1 and text.endswith("-"):
            text = text[:-2] + "a"
        mistakes = _too_long(text, most)
        if not compiled.fullmatch(text):
            mistakes.append("must not contain dots" if _is_dotted(pattern, text) else message)
        return mistakes

    return find


_WHOLE_SUBDOMAIN = re.compile(_SUBDOMAIN, re.ASCII)


def _is_dotted(pattern: str, text: str) -> bool:
    return pattern == _LABEL and bool(_WHOLE_SUBDOMAIN.fullmatch(text))


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    mistakes: list[str] = []
    if len(parts) > 2:
        example = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NAME_TEXT}{example}"]
    if len(parts) == 2:
        if not parts[0]:
            mistakes.append("prefix part must be non-empty")
        else:
            mistakes += [f"prefix part {text}" for text in _SUBDOMAIN_MISTAKES(parts[0])]
    name = parts[-1]
    if not name:
        mistakes.append("name part must be non-empty")
    mistakes += [f"name part {text}" for text in _too_long(name, _MAX_LABEL, "bytes")]
    if not re.fullmatch(_NAME, name, re.ASCII):
        mistakes.append(f"name part {_NAME_TEXT}")
    return mistakes


_SUBDOMAIN_MISTAKES = _named(_SUBDOMAIN, _SUBDOMAIN_TEXT, _MAX_SUBDOMAIN)


def _label_value(text: str) -> list[str]:
    mistakes = _too_long(text, _MAX_LABEL, "bytes")
    return mistakes if re.fullmatch(_VALUE, text, re.ASCII) else [*mistakes, _VALUE_TEXT]


def _uri(text: str) -> list[str]:
    failure = url_failure(text)
    return [] if failure is None else [failure]


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    try:
        if text and re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text, re.ASCII):
            base64.b64decode(text, validate=True)
            return []
    except (binascii.Error, ValueError):
        pass
    return ["invalid base64"]


def _date(text: str) -> list[str]:
    valid = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII) and times.parse_timestamp(f"{text}T00:00:00Z")
    return [] if valid else ["invalid date"]


def _datetime(text: str) -> list[str]:
    return [] if times.is_date_time(text) else ["invalid datetime"]


_FORMATS = {
    format_.name: format_
    for format_ in (
        Format("dns1123Label", _named(_LABEL, _LABEL_TEXT, _MAX_LABEL), 30),
        Format("dns1123Subdomain", _SUBDOMAIN_MISTAKES, 60),
        Format("dns1035Label", _named(_LABEL_1035, _LABEL_1035_TEXT, _MAX_LABEL), 30),
        Format("qualifiedName", _qualified_name, 60),
        Format("dns1123LabelPrefix", _named(_LABEL, _LABEL_TEXT, _MAX_LABEL, prefix=True), 30),
        Format("dns1123SubdomainPrefix", _named(_SUBDOMAIN, _SUBDOMAIN_TEXT, _MAX_SUBDOMAIN, prefix=True), 60),
        Format("dns1035LabelPrefix", _named(_LABEL_1035, _LABEL_1035_TEXT, _MAX_LABEL, prefix=True), 30),
        Format("labelValue", _label_value, 40),
        Format("uri", _uri, 1103),
        Format("uuid", _uuid, 72),
        Format("byte", _byte, 84),
        Format("date", _date, 72),
        Format("datetime", _datetime, 72),
    )
}


def _validate(form: Format, text: str) -> Value:
    mistakes = form.find(text)
    return Optional(mistakes) if mistakes else NONE


def _estimate(target: Sized | None, args: Sequence[Sized]) -> Estimate:
    return Estimate(args[0].size.scaled(PER_CHARACTER).scaled(_LONGEST_PATTERN * PER_PATTERN_CHARACTER))


def _count(args: Sequence[Value], result: Value) -> int:
    form = args[0]
    if not isinstance(form, Format):
        return 1
    return math.ceil((1 + size_of(args[1])) * PER_CHARACTER) * math.ceil(form.pattern * PER_PATTERN_CHARACTER)


def _constant(form: Format) -> Callable[[], Format]:
    return lambda: form


LIBRARY = Library(
    name="format",
    functions=(
        *(
            function(f"format.{name}", overload(f"format.{name}", [], FORMAT_TYPE, _constant(form)))
            for name, form in _FORMATS.items()
        ),
        function(
            "format.named",
            overload(
                "format-named",
                [STRING],
                optional_of(FORMAT_TYPE),
                lambda name: Optional(_FORMATS[name]) if name in _FORMATS else NONE,
                cost=FLAT,
            ),
        ),
        function(
            "validate",
            member(
                "format-validate",
                [FORMAT_TYPE, STRING],
                optional_of(list_of(STRING)),
                _validate,
                cost=Cost(_estimate, _count, True),
            ),
        ),
    ),
)
