"""JSON in and out. Decoding is orjson's; only what it refuses is looked at again, to say what is wrong in the words
that clients of the API know, or to take what the API takes and orjson does not (broken UTF-8, lone surrogates).
"""

from __future__ import annotations

import codecs
import json
from typing import Any, Final

import orjson

from orchd.kinds.jsontext import MAX_DEPTH, quoted, syntax_error
from orchd.kinds.objects.shape import NumberText


class JSONError(ValueError):
    """Text that is not JSON; the message is what follows ``json parse error: ``."""


def _one_by_one(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


_EACH_BYTE: Final = "orchd-each-byte"
codecs.register_error(_EACH_BYTE, _one_by_one)


def decode(data: bytes) -> Any:
    """The value of a JSON text. Raises JSONError. A repeated key keeps its last value; bytes that are not UTF-8 and
    lone surrogates become U+FFFD."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return _lenient(data)
    # Reading takes deeper nesting than writing, so what could be too deep is tried.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        try:
            orjson.dumps(value)
        except TypeError:
            raise JSONError(syntax_error(data) or "exceeded max depth") from None
    return value


def decode_exact(data: bytes) -> Any:
    """As `decode`, but numbers with a fraction or exponent keep their spelling (`NumberText`): to shape an object
    once more when its shape was wrong, for a message that quotes the number as it was sent."""
    return _lenient(data, exact=True)


def _lenient(data: bytes, *, exact: bool = False) -> Any:
    message = syntax_error(data)
    if message:
        raise JSONError(message)
    text = data.decode("utf-8", _EACH_BYTE)
    try:
        value = json.loads(text, parse_float=NumberText if exact else float, parse_constant=_no_constant)
    except (RecursionError, ValueError) as error:
        raise JSONError(str(error)) from None
    return _without_surrogates(value) if "\\u" in text else value


def _no_constant(text: str) -> Any:
    raise JSONError(f"invalid character {quoted(ord(text[0]))} looking for beginning of value")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(v) for v in value]
    return value


class _Pairs(list[tuple[str, Any]]):
    """An object before its keys are made unique."""


def duplicates(data: bytes) -> list[str]:
    """Keys that occur more than once in one object of a valid JSON text, each named once, in order of occurrence."""
    found: dict[str, None] = {}

    def walk(value: Any) -> None:
        if isinstance(value, _Pairs):
            seen: set[str] = set()
            for key, inner in value:
                if key in seen:
                    found[key] = None
                seen.add(key)
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(json.loads(data.decode("utf-8", _EACH_BYTE), object_pairs_hook=_Pairs))
    return list(found)


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
