"""Errors of the reference's ASN.1 parser (X.690) for malformed DER of signing requests.

Only tags and lengths of nested sequences are checked; contents of leaves are left to the library that parses them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: Structure -> its members: (type as messages name it, universal tag, compound). Tag -1 matches any.
_STRUCTS: Final[dict[str, tuple[tuple[str, int, bool], ...]]] = {
    "certificateRequest": (
        ("tbsCertificateRequest", 16, True),
        ("AlgorithmIdentifier", 16, True),
        ("BitString", 3, False),
    ),
    "tbsCertificateRequest": (("int", 2, False), ("", -1, False), ("publicKeyInfo", 16, True)),
    "publicKeyInfo": (("AlgorithmIdentifier", 16, True), ("BitString", 3, False)),
    "AlgorithmIdentifier": (("ObjectIdentifier", 6, False),),
}
_NO_PARAMETERS: Final = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 "
    "set:false omitEmpty:false}"
)
_MAX_LENGTH: Final = 1 << 23


class _BrokenError(Exception):
    pass


class _Head(NamedTuple):
    """Tag and length of a value, and the position of its contents."""

    class_: int
    tag: int
    length: int
    compound: bool
    start: int

    def __str__(self) -> str:
        compound = "true" if self.compound else "false"
        return f"{{class:{self.class_} tag:{self.tag} length:{self.length} isCompound:{compound}}}"


def der_error(data: bytes, name: str) -> str:
    """The error of `data`, which must be one structure called `name`; "" if tags and lengths are valid."""
    try:
        end = _read(data, 0, name, 16, True)
    except _BrokenError as broken:
        return f"asn1: {broken}"
    return "asn1: syntax error: trailing data" if end != len(data) else ""


def _read(data: bytes, at: int, name: str, tag: int, compound: bool) -> int:
    """The end of the value of type `name` that begins at `at`."""
    if at == len(data):
        raise _BrokenError("syntax error: sequence truncated")
    head = _head(data, at)
    if tag >= 0 and (head.class_, head.tag, head.compound) != (0, tag, compound):
        why = f"tags don't match ({tag} vs {head}) {_NO_PARAMETERS} {name} @{head.start}"
        raise _BrokenError(f"structure error: {why}")
    end = head.start + head.length
    if end > len(data):
        raise _BrokenError("syntax error: data truncated")
    inner, here = data[head.start : end], 0
    for member in _STRUCTS.get(name, ()):
        here = _read(inner, here, *member)
    return end


def _head(data: bytes, at: int) -> _Head:
    first = data[at]
    at += 1
    tag = first & 0x1F
    if tag == 0x1F:
        tag, at = _long_tag(data, at)
    length = _byte(data, at)
    at += 1
    if length & 0x80:
        count, length = length & 0x7F, 0
        if not count:
            raise _BrokenError("syntax error: indefinite length found (not DER)")
        for _ in range(count):
            byte = _byte(data, at)
            at += 1
            if length >= _MAX_LENGTH:
                raise _BrokenError("structure error: length too large")
            length = length << 8 | byte
            if not length:
                raise _BrokenError("structure error: superfluous leading zeros in length")
        if length < 0x80:
            raise _BrokenError("structure error: non-minimal length")
    return _Head(first >> 6, tag, length, bool(first & 0x20), at)


def _byte(data: bytes, at: int) -> int:
    if at >= len(data):
        raise _BrokenError("syntax error: truncated tag or length")
    return data[at]


def _long_tag(data: bytes, at: int) -> tuple[int, int]:
    tag = 0
    for count in range(5):
        if at >= len(data):
            raise _BrokenError("syntax error: truncated base 128 integer")
        byte = data[at]
        at += 1
        if not count and byte == 0x80:
            raise _BrokenError("syntax error: integer is not minimally encoded")
        tag = tag << 7 | byte & 0x7F
        if not byte & 0x80:
            if tag > 0x7FFFFFFF:
                break
            if tag < 0x1F:
                raise _BrokenError("syntax error: non-minimal tag")
            return tag, at
    raise _BrokenError("structure error: base 128 integer too large")
