"""JSON encoding and decoding with orjson. Texts that orjson rejects are examined again: for error messages in the
format of the API, or to accept what the API accepts and orjson does not (invalid UTF-8, lone surrogates).
"""

from __future__ import annotations

import re
from math import isinf
from typing import Any, Final

import orjson

from orchd.kinds import nested
from orchd.kinds.gotext.json_syntax import syntax_error
from orchd.kinds.objects.shape_scalars import NumberText

#: Maximum nesting depth that can be encoded.
WRITTEN_DEPTH: Final = 250
#: An exponent of three digits, or a run of digits so long that one of two such numbers is out of range.
_LARGE: Final = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{200}")


class JSONError(ValueError):
    """Invalid JSON. The message follows ``json parse error: `` in responses."""


class RangeError(ValueError):
    """A number beyond the range of floats; the message says which."""


def decode(data: bytes) -> Any:
    """Decode a JSON text of at most `json_syntax.MAX_DEPTH` levels. Raises JSONError.

    Of repeated keys, the last value is used. Invalid UTF-8 and lone surrogates become U+FFFD. Values deeper than
    `WRITTEN_DEPTH` cannot be encoded again: check values to be stored with `too_deep`.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return nested.decode(_valid(data))


def decode_finite(data: bytes) -> Any:
    """Like `decode`, for values that are stored unconverted: raises RangeError for a number outside the range of
    floats."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return nested.decode(_valid(data), number=_finite)


def _finite(text: str) -> float:
    """Parse a number with a fraction or exponent. The first one out of range ends the work on a body."""
    value = float(text)
    if isinf(value):
        raise RangeError(nested.out_of_range(NumberText(text)))
    return value


def decode_exact(data: bytes) -> Any:
    """Like `decode`, but numbers with a fraction or exponent keep their spelling (`NumberText`), for error messages
    that quote them."""
    return nested.decode(_valid(data), number=NumberText)


def decode_members(data: bytes) -> Any:
    """Decode a text that `decode` accepts to objects with all members, including repeated ones, for strict decoding."""
    return nested.decode(_text(data), members=True)


def _valid(data: bytes) -> str:
    message = syntax_error(data)
    if message:
        raise JSONError(message)
    return _text(data)


def _text(data: bytes) -> str:
    """Decode UTF-8, with U+FFFD for each invalid byte."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return nested.without_surrogates(data.decode("utf-8", "surrogateescape"))


def too_deep(value: Any) -> bool:
    """True if a value is nested too deeply to be encoded."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True
    return False


def may_be_too_deep(data: bytes) -> bool:
    """True if the number of containers in a JSON text allows a value that is too deep. A cheap check that excludes most
    texts."""
    return data.count(b"{") + data.count(b"[") > WRITTEN_DEPTH


def may_be_out_of_range(data: bytes) -> bool:
    """True if a number of a JSON text may be beyond the range of floats. A cheap check that excludes most texts."""
    return _LARGE.search(data) is not None


def encode(value: Any) -> bytes:
    """Encode a value as compact JSON without a final newline. ``<``, ``>``, ``&``, U+2028 and U+2029 are escaped.

    Raises TypeError for values without a JSON form and for values that are nested too deeply.
    """
    return escape(orjson.dumps(value, default=_spelling))


def _spelling(value: Any) -> orjson.Fragment:
    """A number with its spelling as JSON. Raises TypeError for other values without a JSON form."""
    if isinstance(value, NumberText):
        return orjson.Fragment(value.text)
    raise TypeError


def encode_pretty(value: Any) -> bytes:
    """Encode a value as JSON indented by two spaces, without a final newline."""
    return escape(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def body(value: Any, *, pretty: bool = False) -> bytes:
    """Encode a value as a response body: compact with a final newline, or `pretty` without one."""
    return encode_pretty(value) if pretty else encode(value) + b"\n"


def escape(data: bytes) -> bytes:
    """JSON with ``<``, ``>``, ``&``, U+2028 and U+2029 escaped."""
    # These bytes only occur inside strings, so that they can be replaced without parsing.
    if b"<" in data:
        data = data.replace(b"<", b"\\u003c")
    if b">" in data:
        data = data.replace(b">", b"\\u003e")
    if b"&" in data:
        data = data.replace(b"&", b"\\u0026")
    # The search for two bytes takes twenty times as long as the other check.
    if not data.isascii() and b"\xe2\x80" in data:
        data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return data
