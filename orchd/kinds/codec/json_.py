"""JSON in and out. Decoding is orjson's; only what it refuses is looked at again, to say what is wrong in the words
that clients of the API know, or to take what the API takes and orjson does not (broken UTF-8, lone surrogates).
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchd.kinds.codec import nested
from orchd.kinds.jsontext import syntax_error
from orchd.kinds.objects.shape import NumberText

#: Levels of nesting that can be encoded.
WRITTEN_DEPTH: Final = 250


class JSONError(ValueError):
    """Text that is not JSON; the message is what follows ``json parse error: ``."""


class RangeError(ValueError):
    """A number beyond the range of floats; the message says which."""


def decode(data: bytes) -> Any:
    """The value of a JSON text, nested up to `jsontext.MAX_DEPTH` levels. Raises JSONError. A repeated key keeps its last
    value; bytes that are not UTF-8 and lone surrogates become U+FFFD.

    What is nested deeper than `WRITTEN_DEPTH` cannot be encoded again: look with `too_deep` at what is to be kept."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return nested.decode(_valid(data))


def decode_finite(data: bytes) -> Any:
    """As `decode`, for values that are kept as they are: raises RangeError for a number that no float can be."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        value = nested.decode(_valid(data))
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting.extend(reversed(found.values()))
        elif isinstance(found, list):
            waiting.extend(reversed(found))
        elif isinstance(found, NumberText):
            raise RangeError(f"json: cannot unmarshal number {found.text} into Go value of type float64")
    return value


def decode_exact(data: bytes) -> Any:
    """As `decode`, but numbers with a fraction or exponent keep their spelling (`NumberText`): to shape an object
    once more when its shape was wrong, for a message that quotes the number as it was sent."""
    return nested.decode(_valid(data), number=NumberText)


def decode_members(data: bytes) -> Any:
    """The value of a text that `decode` took, with the members of objects as they stand there, for strict decoding."""
    return nested.decode(_text(data), members=True)


def _valid(data: bytes) -> str:
    message = syntax_error(data)
    if message:
        raise JSONError(message)
    return _text(data)


def _text(data: bytes) -> str:
    """The text with U+FFFD for each byte that is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return nested.without_surrogates(data.decode("utf-8", "surrogateescape"))


def too_deep(value: Any) -> bool:
    """Is a value nested so deeply that it cannot be encoded?"""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True
    return False


def may_be_too_deep(data: bytes) -> bool:
    """Does a JSON text open so many containers that its value may be too deep? One look, for nearly all texts."""
    return data.count(b"{") + data.count(b"[") > WRITTEN_DEPTH


def encode(value: Any) -> bytes:
    """Compact JSON without a final newline. ``<``, ``>``, ``&``, U+2028 and U+2029 are escaped, as the API does.

    Raises TypeError for what JSON cannot hold, or is nested too deeply."""
    return _escaped(orjson.dumps(value))


def encode_pretty(value: Any) -> bytes:
    """JSON indented by two spaces, without a final newline."""
    return _escaped(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def body(value: Any, *, pretty: bool = False) -> bytes:
    """JSON as the body of an answer: the compact form ends with a newline, the pretty one does not."""
    return encode_pretty(value) if pretty else encode(value) + b"\n"


def _escaped(data: bytes) -> bytes:
    # These bytes can only be inside strings, so replacing them needs no parser.
    if b"<" in data:
        data = data.replace(b"<", b"\\u003c")
    if b">" in data:
        data = data.replace(b">", b"\\u003e")
    if b"&" in data:
        data = data.replace(b"&", b"\\u0026")
    if b"\xe2\x80" in data:
        data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return data
