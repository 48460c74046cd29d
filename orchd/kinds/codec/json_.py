"""JSON in and out. Decoding is orjson's; only what it refuses is looked at again, to say what is wrong in the words
that clients of the API know, or to take what the API takes and orjson does not (broken UTF-8, lone surrogates).
"""

from __future__ import annotations

import codecs
import json
from typing import Any, Final

import orjson

from orchd.kinds.objects.shape import NumberText

#: Nesting above this cannot be written again (the encoder's limit), so it is not read either.
MAX_DEPTH: Final = 250

_SPACE: Final = frozenset(b" \t\r\n")
_DIGITS: Final = frozenset(b"0123456789")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_ESCAPES: Final = frozenset(b'"\\/bfnrt')
_WORDS: Final = {ord("t"): (b"true", "true"), ord("f"): (b"false", "false"), ord("n"): (b"null", "null")}


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


def quoted(byte: int) -> str:
    """A byte as messages quote it: ``'a'``, ``'\\''``, ``'\\x00'``."""
    special = {0x27: "\\'", 0x22: '"', 0x5C: "\\\\", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
    if byte in special:
        return f"'{special[byte]}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    if 0x80 <= byte < 0xA1 or byte == 0xAD:
        return f"'\\u{byte:04x}'"
    return f"'{chr(byte)}'"


END: Final = "unexpected end of JSON input"


def syntax_error(data: bytes) -> str:
    """What is wrong with a JSON text, "" when nothing is. One pass, no recursion."""
    return _Scanner(data).run()


class _Bad(Exception):
    """Carries the message out of the scanner."""


class _Scanner:
    """Walks a JSON text and stops at the first byte that cannot be there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def run(self) -> str:
        try:
            self._value()
            byte = self._peek()
            if byte >= 0:
                return f"invalid character {quoted(byte)} after top-level value"
        except _Bad as bad:
            return str(bad)
        return ""

    def _peek(self) -> int:
        """The next byte that is not white space, -1 at the end."""
        data, at = self._data, self._at
        end = len(data)
        while at < end and data[at] in _SPACE:
            at += 1
        self._at = at
        return data[at] if at < end else -1

    def _bad(self, where: str) -> _Bad:
        if self._at >= len(self._data):
            return _Bad(END)
        return _Bad(f"invalid character {quoted(self._data[self._at])} {where}")

    def _value(self) -> None:
        # Each open container is "{" or "["; the loop reads one value, then closes or goes on.
        stack: list[int] = []
        while True:
            byte = self._peek()
            if byte in (0x7B, 0x5B):
                if len(stack) >= MAX_DEPTH:
                    raise self._bad("exceeded max depth")
                self._at += 1
                stack.append(byte)
                inner = self._peek()
                if byte == 0x7B and inner != 0x7D:
                    self._key("looking for beginning of object key string")
                    continue
                if byte == 0x5B and inner != 0x5D:
                    continue
                self._at += 1
                stack.pop()
            else:
                self._scalar(byte)
            if not self._close(stack):
                return

    def _close(self, stack: list[int]) -> bool:
        """After a value: closing brackets, or a comma. True when another value follows."""
        while stack:
            byte = self._peek()
            inside = stack[-1]
            if byte == (0x7D if inside == 0x7B else 0x5D):
                self._at += 1
                stack.pop()
                continue
            if byte != 0x2C:
                raise self._bad("after object key:value pair" if inside == 0x7B else "after array element")
            self._at += 1
            if inside == 0x7B:
                self._peek()
                self._key("looking for beginning of object key string")
            return True
        return False

    def _key(self, where: str) -> None:
        if self._at >= len(self._data) or self._data[self._at] != 0x22:
            raise self._bad(where)
        self._string()
        if self._peek() != 0x3A:
            raise self._bad("after object key")
        self._at += 1

    def _scalar(self, byte: int) -> None:
        if byte == 0x22:
            self._string()
        elif byte in _WORDS:
            self._word(*_WORDS[byte])
        elif byte == 0x2D or byte in _DIGITS:
            self._number(byte)
        else:
            raise self._bad("looking for beginning of value")

    def _word(self, word: bytes, name: str) -> None:
        for expected in word:
            if self._at >= len(self._data) or self._data[self._at] != expected:
                raise self._bad(f"in literal {name} (expecting {quoted(expected)})")
            self._at += 1

    def _digits(self, where: str) -> None:
        start = self._at
        while self._at < len(self._data) and self._data[self._at] in _DIGITS:
            self._at += 1
        if self._at == start:
            raise self._bad(where)

    def _number(self, byte: int) -> None:
        if byte == 0x2D:
            self._at += 1
        if self._data[self._at:self._at + 1] == b"0":
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._data[self._at:self._at + 1] == b".":
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._data[self._at:self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._data[self._at:self._at + 1] in (b"+", b"-"):
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _string(self) -> None:
        data = self._data
        end = len(data)
        at = self._at + 1
        while True:
            if at >= end:
                raise _Bad(END)
            byte = data[at]
            if byte == 0x22:
                self._at = at + 1
                return
            if byte == 0x5C:
                at = self._escape(at + 1)
                continue
            if byte < 0x20:
                self._at = at
                raise self._bad("in string literal")
            at += 1

    def _escape(self, at: int) -> int:
        """Checks an escape whose letter is at `at`; the position after it."""
        data = self._data
        self._at = at
        if at >= len(data) or (data[at] not in _ESCAPES and data[at] != 0x75):
            raise self._bad("in string escape code")
        if data[at] == 0x75:
            for self._at in range(at + 1, at + 5):
                if self._at >= len(data) or data[self._at] not in _HEX:
                    raise self._bad("in \\u hexadecimal character escape")
            return at + 5
        return at + 1
