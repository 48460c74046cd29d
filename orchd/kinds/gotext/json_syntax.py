"""Syntax errors and value types of JSON texts, in the format of the reference's messages."""

from __future__ import annotations

import re
from typing import Final

#: Maximum nesting depth, as in the reference's decoder.
MAX_DEPTH: Final = 10_000

_SPACE: Final = frozenset(b" \t\r\n")
_DIGITS: Final = frozenset(b"0123456789")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_ESCAPES: Final = frozenset(b'"\\/bfnrt')
#: Spans that are skipped at once: valid string contents, digits, white space.
_INSIDE: Final = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_NUMERALS: Final = re.compile(rb"[0-9]*")
_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_WORDS: Final = {ord("t"): (b"true", "true"), ord("f"): (b"false", "false"), ord("n"): (b"null", "null")}


def quote_byte(byte: int) -> str:
    """A byte as messages quote it: ``'a'``, ``'\\''``, ``'\\x00'``."""
    special = {
        0x27: "\\'",
        0x22: '"',
        0x5C: "\\\\",
        7: "\\a",
        8: "\\b",
        9: "\\t",
        10: "\\n",
        11: "\\v",
        12: "\\f",
        13: "\\r",
    }
    if byte in special:
        return f"'{special[byte]}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    if 0x80 <= byte < 0xA1 or byte == 0xAD:
        return f"'\\u{byte:04x}'"
    return f"'{chr(byte)}'"


END: Final = "unexpected end of JSON input"


def syntax_error(data: bytes) -> str:
    """The syntax error of a JSON text, "" if it is valid. One pass, no recursion."""
    return _Scanner(data).run()


class _Bad(Exception):
    """Aborts the scanner with a message."""


class _Scanner:
    """Scans a JSON text up to the first invalid byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def run(self) -> str:
        try:
            self._value()
            byte = self._peek()
            if byte >= 0:
                return f"invalid character {quote_byte(byte)} after top-level value"
        except _Bad as bad:
            return str(bad)
        return ""

    def _peek(self) -> int:
        """The next byte that is not white space, -1 at the end."""
        data, at = self._data, self._at
        if at < len(data) and data[at] in _SPACE:
            at = self._at = _BLANKS.match(data, at).end()  # type: ignore[union-attr]  # it matches everywhere
        return data[at] if at < len(data) else -1

    def _bad(self, where: str) -> _Bad:
        if self._at >= len(self._data):
            return _Bad(END)
        return _Bad(f"invalid character {quote_byte(self._data[self._at])} {where}")

    def _value(self) -> None:
        # Open containers are "{" or "["; each iteration reads one value, then closes containers or continues.
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
        """Read closing brackets or a comma after a value. True if another value follows."""
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
                raise self._bad(f"in literal {name} (expecting {quote_byte(expected)})")
            self._at += 1

    def _digits(self, where: str) -> None:
        start = self._at
        self._at = _NUMERALS.match(self._data, start).end()  # type: ignore[union-attr]  # it matches everywhere
        if self._at == start:
            raise self._bad(where)

    def _number(self, byte: int) -> None:
        if byte == 0x2D:
            self._at += 1
        if self._data[self._at : self._at + 1] == b"0":
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._data[self._at : self._at + 1] == b".":
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._data[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._data[self._at : self._at + 1] in (b"+", b"-"):
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _string(self) -> None:
        data = self._data
        at = _INSIDE.match(data, self._at + 1).end()  # type: ignore[union-attr]  # it matches everywhere
        if at >= len(data):
            raise _Bad(END)
        self._at = at
        if data[at] == 0x22:
            self._at = at + 1
        elif data[at] == 0x5C:
            self._bad_escape(at + 1)
        else:
            raise self._bad("in string literal")

    def _bad_escape(self, at: int) -> None:
        """Raise the error of the escape sequence whose letter is at `at`."""
        data = self._data
        self._at = at
        if at >= len(data) or (data[at] not in _ESCAPES and data[at] != 0x75):
            raise self._bad("in string escape code")
        if data[at] == 0x75:
            for self._at in range(at + 1, at + 5):
                if self._at >= len(data) or data[self._at] not in _HEX:
                    raise self._bad("in \\u hexadecimal character escape")
