"""Functions of Go's text/template, with ``exists`` and ``base64decode`` of the reference's command line, and
``Printf``.

Values are decoded JSON: dict, list, str, bool, None, float for numbers of the data and int for those of the template.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_plus

from orchd.ctl.printing.gotemplate.syntax import TemplateError
from orchd.kinds.gotext.values import number, plain, quote

_VERB: Final = re.compile(r"%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d*))?(.?)", re.DOTALL)
#: Widths and precisions above this are refused, as Go does.
_WIDEST: Final = 1_000_000


def go_type(value: Any) -> str:
    """The type of a value as ``%T`` prints it."""
    names = {
        dict: "map[string]interface {}",
        list: "[]interface {}",
        str: "string",
        bool: "bool",
        int: "int",
        float: "float64",
    }
    return "<nil>" if value is None else names[type(value)]


def action_text(value: Any) -> str:
    """A value as an action prints it."""
    return "<no value>" if value is None else plain(value)


def truth(value: Any) -> bool:
    """True if a value is true for ``if``: not empty, zero, false or nil."""
    return bool(value)


# -- comparisons


def _basic(value: Any) -> str:
    if isinstance(value, dict | list):
        raise TemplateError(f"uncomparable type {go_type(value)}: {plain(value)}")
    return go_type(value)


def _equal(first: Any, *others: Any) -> bool:
    kind = _basic(first)
    for other in others:
        if other is None or first is None:
            if other is None and first is None:
                return True
        elif _basic(other) != kind:
            raise TemplateError(_different(first, other))
        elif other == first:
            return True
    return False


def _different(first: Any, second: Any) -> str:
    hint = (
        ": write the number with a fraction, such as 2.0"
        if {go_type(first), go_type(second)} == {"float64", "int"}
        else ""
    )
    return f"incompatible types for comparison{hint}"


def _less(first: Any, second: Any) -> bool:
    kinds = _basic(first), _basic(second)
    if kinds[0] != kinds[1]:
        raise TemplateError(_different(first, second))
    if kinds[0] not in ("int", "float64", "string"):
        raise TemplateError("invalid type for comparison")
    return bool(first < second)


# -- containers and texts


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if value is None:
            raise TemplateError("index of untyped nil")
        if isinstance(value, dict):
            if not isinstance(key, str):
                raise TemplateError(f"value has type {go_type(key)}; should be string")
            value = value.get(key)
        elif isinstance(value, list | str):
            members: Sequence[Any] = value if isinstance(value, list) else value.encode()
            value = members[_position(key, len(members), last=False)]
        else:
            raise TemplateError(f"can't index item of type {go_type(value)}")
    return value


def _position(key: Any, length: int, *, last: bool) -> int:
    if not isinstance(key, int) or isinstance(key, bool):
        raise TemplateError(f"cannot index slice/array with type {go_type(key)}")
    if not 0 <= key < length + last:
        raise TemplateError(f"index out of range: {key}")
    return key


def _slice(value: Any, *bounds: Any) -> Any:
    if not isinstance(value, str | list):
        raise TemplateError("slice of untyped nil" if value is None else f"can't slice item of type {go_type(value)}")
    whole: bytes | list[Any] = value.encode() if isinstance(value, str) else value
    low, high, *_ = [*(_position(each, len(whole), last=True) for each in bounds), *(0, len(whole))[len(bounds[:2]) :]]
    if low > high:
        raise TemplateError(f"invalid slice index: {low} > {high}")
    part = whole[low:high]
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else part


def _length(value: Any) -> int:
    if not isinstance(value, dict | list | str):
        raise TemplateError("len of nil pointer" if value is None else f"len of type {go_type(value)}")
    return len(value.encode()) if isinstance(value, str) else len(value)


def _exists(value: Any, *keys: Any) -> bool:
    """True if `index` succeeds with these arguments."""
    for key in keys:
        try:
            member = _index(value, key)
        except TemplateError:
            return False
        if isinstance(value, dict) and key not in value:
            return False
        value = member
    return True


def _base64decode(text: Any) -> str:
    if not isinstance(text, str):
        raise TemplateError(f"wrong type for value; expected string; got {go_type(text)}")
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise TemplateError("illegal base64 data") from None


def _print(*values: Any) -> str:
    """Concatenate values, with a space between two that are both no strings."""
    out = ""
    for at, value in enumerate(values):
        apart = at and not isinstance(value, str) and not isinstance(values[at - 1], str)
        out += (" " if apart else "") + plain(value)
    return out


def _println(*values: Any) -> str:
    return " ".join(map(plain, values)) + "\n"


def _escaped(text: str) -> str:
    return html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def _js(text: str) -> str:
    named = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}
    return "".join(named.get(char) or (f"\\u{ord(char):04X}" if ord(char) < 32 else char) for char in text)


# -- formats


def printf(form: Any, *values: Any) -> str:
    """``fmt.Sprintf``, including invalid uses, which Go reports in the text and not as errors."""
    if not isinstance(form, str):
        raise TemplateError(f"wrong type for value; expected string; got {go_type(form)}")
    left = list(values)

    def verb(match: re.Match[str]) -> str:
        flags, width_text, precision_text, letter = match.groups()
        if letter == "%":
            return "%"
        if not letter:
            return "%!(NOVERB)"
        width, precision = _size(width_text, left), _size(precision_text, left)
        if precision_text == "":
            precision = 0
        if not left:
            return f"%!{letter}(MISSING)"
        return _padded(left.pop(0), letter, flags, width or 0, precision)

    out = _VERB.sub(verb, form)
    if left:
        out += (
            "%!(EXTRA "
            + ", ".join("<nil>" if each is None else f"{go_type(each)}={plain(each)}" for each in left)
            + ")"
        )
    return out


def _size(text: str | None, left: list[Any]) -> int | None:
    if not text:
        return None
    size = (left.pop(0) if left else None) if text == "*" else int(text[:9])
    if not isinstance(size, int) or abs(size) > _WIDEST:
        raise TemplateError(f"width or precision is not a number up to {_WIDEST}")
    return size


def _padded(value: Any, letter: str, flags: str, width: int, precision: int | None) -> str:
    if isinstance(value, dict | list) and letter not in "vT":
        members = (
            [
                f"{_padded(k, letter, flags, width, precision)}:{_padded(value[k], letter, flags, width, precision)}"
                for k in sorted(value)
            ]
            if isinstance(value, dict)
            else [_padded(each, letter, flags, width, precision) for each in value]
        )
        return ("map" if isinstance(value, dict) else "") + "[" + " ".join(members) + "]"
    text = _formatted(value, letter, flags, precision)
    if width < 0 or "-" in flags:
        return text.ljust(abs(width))
    if "0" in flags and isinstance(value, int | float) and not isinstance(value, bool):
        sign = text[:1] if text[:1] in ("-", "+") else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


def _formatted(value: Any, letter: str, flags: str, precision: int | None) -> str:
    """A value in the form of a verb, or how Go prints that the verb is not one of this type."""
    if letter == "T":
        return go_type(value)
    if letter == "v":
        return plain(value)
    if value is None:
        return f"%!{letter}(<nil>)"
    work = _FORMATS.get(type(value), {}).get(letter)
    if work is None:
        return f"%!{letter}({go_type(value)}={plain(value)})"
    text = work(value, precision)
    if isinstance(value, int | float) and not isinstance(value, bool) and not text.startswith("-"):
        return ("+" if "+" in flags else " " if " " in flags else "") + text
    return text


_STRING: Final[dict[str, Callable[[Any, int | None], str]]] = {
    "s": lambda text, precision: text[:precision],
    "q": lambda text, precision: quote(text[:precision]),
    "x": lambda text, precision: text.encode().hex(),
    "X": lambda text, precision: text.encode().hex().upper(),
}
_INT: Final[dict[str, Callable[[Any, int | None], str]]] = {
    "d": lambda value, precision: f"{value:0{precision or 0}d}",
    "b": lambda value, precision: f"{value:b}",
    "o": lambda value, precision: f"{value:o}",
    "x": lambda value, precision: f"{value:x}",
    "X": lambda value, precision: f"{value:X}",
    "c": lambda value, precision: chr(value) if 0 <= value <= 0x10FFFF else "\ufffd",
    "q": lambda value, precision: f"'{chr(value)}'" if 0 <= value <= 0x10FFFF else "'\ufffd'",
    "U": lambda value, precision: f"U+{value:04X}",
}
_FLOAT: Final[dict[str, Callable[[Any, int | None], str]]] = {
    "f": lambda value, precision: f"{value:.{6 if precision is None else precision}f}",
    "F": lambda value, precision: f"{value:.{6 if precision is None else precision}f}",
    "e": lambda value, precision: f"{value:.{6 if precision is None else precision}e}",
    "E": lambda value, precision: f"{value:.{6 if precision is None else precision}E}",
    "g": lambda value, precision: number(value) if precision is None else f"{value:.{precision}g}",
    "G": lambda value, precision: (number(value) if precision is None else f"{value:.{precision}g}").upper(),
}
_FORMATS: Final[dict[type, dict[str, Callable[[Any, int | None], str]]]] = {
    str: _STRING, int: _INT, float: _FLOAT, bool: {"t": lambda value, precision: plain(value)},
}  # fmt: skip


# -- the table


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function with its minimum and maximum number of arguments; `most` None: any number."""

    work: Callable[..., Any]
    least: int
    most: int | None = None


#: Functions that stop at the first argument with this truth value.
LAZY: Final = {"and": False, "or": True}
FUNCTIONS: Final[dict[str, Builtin]] = {
    "not": Builtin(lambda value: not truth(value), 1, 1),
    "len": Builtin(_length, 1, 1),
    "index": Builtin(_index, 1),
    "slice": Builtin(_slice, 1, 3),
    "print": Builtin(_print, 0),
    "printf": Builtin(printf, 1),
    "println": Builtin(_println, 0),
    "html": Builtin(lambda *values: _escaped(_print(*values)), 0),
    "js": Builtin(lambda *values: _js(_print(*values)), 0),
    "urlquery": Builtin(lambda *values: quote_plus(_print(*values)), 0),
    "eq": Builtin(_equal, 2),
    "ne": Builtin(lambda first, second: not _equal(first, second), 2, 2),
    "lt": Builtin(_less, 2, 2),
    "le": Builtin(lambda first, second: _less(first, second) or _equal(first, second), 2, 2),
    "gt": Builtin(lambda first, second: not _less(first, second) and not _equal(first, second), 2, 2),
    "ge": Builtin(lambda first, second: not _less(first, second), 2, 2),
    "exists": Builtin(_exists, 1),
    "base64decode": Builtin(_base64decode, 1, 1),
}
