"""``string.format``: ``%s``, ``%d``, ``%f``, ``%e``, ``%b``, ``%o``, ``%x``, ``%X``, ``%%``, with a precision for the
decimals of ``%f``.

The clauses of a literal format are checked against the types of literal arguments before anything runs
(`check_format`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from orchd.cel import numbers, times
from orchd.cel.costs import Meter
from orchd.cel.operators import find_key, is_list, is_map
from orchd.cel.quoting import quote
from orchd.cel.source import Issue
from orchd.cel.syntax import Call, ListLiteral, Literal, MapLiteral, Node
from orchd.cel.types import Type
from orchd.cel.values import Duration, EvaluationError, Timestamp, Uint, Value, type_name

#: The longest width, and the largest number that may have one more digit in a precision.
MAX_WIDTH = 1_000_000
#: No double has more decimals.
_DECIMALS = 1074
_PRECISION = 6
_CLAUSE = re.compile(r"%(?:\.([0-9]*))?(.)?", re.DOTALL | re.ASCII)
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SPECIAL = ("NaN", "Infinity", "-Infinity")

_FAILURES = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
#: Kinds of types that a clause takes in literals; dyn fits everywhere.
_KINDS = {
    "s": frozenset("list map int uint double bool string timestamp bytes duration type null dyn".split()),
    "d": frozenset(["int", "uint", "dyn"]),
    "f": frozenset(["double", "string", "dyn"]),
    "e": frozenset(["double", "string", "dyn"]),
    "b": frozenset(["int", "uint", "bool", "dyn"]),
    "x": frozenset(["int", "uint", "string", "bytes", "dyn"]),
    "X": frozenset(["int", "uint", "string", "bytes", "dyn"]),
    "o": frozenset(["int", "uint", "dyn"]),
}


class _Clause:
    """One clause of a format, with its precision, None if it has none."""

    __slots__ = ("letter", "precision")

    def __init__(self, letter: str, precision: int | None) -> None:
        self.letter = letter
        self.precision = precision

    def failure(self, name: str) -> EvaluationError:
        return EvaluationError(f"error during formatting: {_FAILURES[self.letter]}, was given {name}")


def _parts(text: str, count: int, *, checking: bool = False) -> Iterator[str | _Clause]:
    """Yield texts and clauses of a format with ``count`` arguments. Raises `EvaluationError`.

    ``checking`` a format looks at its end before it looks for the argument.
    """
    at = used = 0
    while at < len(text):
        percent = text.find("%", at)
        if percent < 0:
            yield text[at:]
            return
        if percent > at:
            yield text[at:percent]
        if text.startswith("%%", percent):
            yield "%"
            at = percent + 2
            continue
        ended = percent + 1 >= len(text)
        if used >= count and not (ended and checking):
            raise EvaluationError(f"index {used} out of range")
        if ended:
            raise EvaluationError("unexpected end of string")
        match = _CLAUSE.match(text, percent)
        assert match is not None
        yield _clause(*match.groups())
        used += 1
        at = match.end()


def _clause(precision: str | None, letter: str | None) -> _Clause:
    start = "could not parse formatting clause: "
    if letter is None:
        raise EvaluationError(f"{start}error while parsing precision: could not find end of precision specifier")
    if precision == "" or (precision is not None and len(precision) > 18):
        reason = "invalid syntax" if not precision else "value out of range"
        text = f"error while converting precision to integer: strconv.Atoi: parsing {quote(precision)}: {reason}"
        raise EvaluationError(f"{start}error while parsing precision: {text}")
    if letter not in _FAILURES:
        # The clause is one byte for those who read it.
        clause = letter if letter < "\x80" else chr(letter.encode()[0])
        raise EvaluationError(f'{start}unrecognized formatting clause "{clause}"')
    return _Clause(letter, int(precision) if precision is not None else None)


def format_text(meter: Meter, text: str, values: Value) -> str:
    """Return a text with clauses replaced by arguments. Raises `EvaluationError`."""
    return _format(meter, text, values, _FORMATTERS)


def format_plain(meter: Meter, text: str, values: Value) -> str:
    """Like `format_text` in the newest version: numbers as other languages print them, and no quotes inside of
    lists."""
    return _format(meter, text, values, _PLAIN)


def _format(meter: Meter, text: str, values: Value, formatters: Mapping[str, _Formatter]) -> str:
    arguments = list(values)
    parts: list[str] = []
    used = 0
    for part in _parts(text, len(arguments)):
        if isinstance(part, _Clause):
            value = arguments[used]
            if value.__class__ is EvaluationError:
                raise value
            part = formatters[part.letter](meter, part, value)
            used += 1
        meter.write(len(part))
        parts.append(part)
    return "".join(parts)


def _string(meter: Meter, clause: _Clause, value: Value) -> str:
    try:
        return _plain(meter, value)
    except _Unformatted:
        raise clause.failure(type_name(value)) from None
    except _NoFormat as error:
        raise EvaluationError(f"error during formatting: {error}") from None


class _Unformatted(Exception):
    """A value has no text at all."""


class _NoFormat(Exception):
    """A part of a list or a map has no text."""


def _plain(meter: Meter, value: Value) -> str:
    """Return the text of a value on its own."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is Uint:
        return str(value.value)
    if kind is float:
        return numbers.shortest(value)
    if kind is bytes:
        return _text(value)
    if kind is Timestamp:
        return times.timestamp_text(value)
    if kind is Duration:
        return times.duration_text(value)
    if kind is Type:
        return str(value.name)
    if is_list(value) or is_map(value):
        return _nested(meter, value)
    raise _Unformatted


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        text = "invalid UTF-8 in bytes, cannot convert to string"
        raise EvaluationError(f'error during formatting: could not convert argument "{text}" to string') from None


def _nested(meter: Meter, value: Value, depth: int = 0) -> str:
    """Return the text of a value inside a list or a map: strings are quoted, doubles have six decimals."""
    meter.work(1)
    if value.__class__ is EvaluationError:
        raise value
    if is_list(value):
        text = "[" + ", ".join(_nested(meter, element, depth + 1) for element in value) + "]"
    elif is_map(value):
        rows = sorted((_key(key), _nested(meter, find_key(value, key), depth + 1)) for key in value)
        text = "{" + ", ".join(f"{key}:{element}" for key, element in rows) + "}"
    elif value.__class__ is str:
        text = quote(value)
    elif value.__class__ is bytes:
        text = f"b{quote(_text(value))}"
    elif value.__class__ is float:
        text = quote(numbers.special(value) or "") if not math.isfinite(value) else f"{value:.6f}"
    elif value.__class__ is Timestamp:
        text = f'timestamp("{times.timestamp_text(value)}")'
    elif value.__class__ is Duration:
        text = f'duration("{times.duration_text(value)}")'
    else:
        try:
            text = _plain(meter, value)
        except _Unformatted:
            raise _NoFormat(f"no formatting function for {type_name(value)}") from None
    meter.write(len(text))
    return text


def _key(key: Value) -> str:
    if key.__class__ not in (str, bool, int, Uint):
        raise _NoFormat(f"no formatting function for map key of type {type_name(key)}")
    if key.__class__ is str:
        return quote(key)
    if key.__class__ is bool:
        return "true" if key else "false"
    return str(key.value if key.__class__ is Uint else key)


def _decimal(meter: Meter, clause: _Clause, value: Value) -> str:
    return str(_integer(clause, value))


def _integer(clause: _Clause, value: Value) -> int:
    if value.__class__ is int:
        return int(value)
    if value.__class__ is Uint:
        return int(value.value)
    raise clause.failure(type_name(value))


def _binary(meter: Meter, clause: _Clause, value: Value) -> str:
    if value.__class__ is bool:
        return "1" if value else "0"
    return f"{_integer(clause, value):b}"


def _octal(meter: Meter, clause: _Clause, value: Value) -> str:
    return f"{_integer(clause, value):o}"


def _hexadecimal(meter: Meter, clause: _Clause, value: Value) -> str:
    if value.__class__ is str:
        text = value.encode("utf-8", "surrogatepass").hex()
    elif value.__class__ is bytes:
        text = value.hex()
    else:
        text = f"{_integer(clause, value):x}"
    return text.upper() if clause.letter == "X" else text


def _double(clause: _Clause, value: Value) -> float:
    if value.__class__ is float:
        return float(value)
    if value.__class__ is str and value in _SPECIAL:
        return float(value)
    raise clause.failure(type_name(value))


def _infinite(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"


def _fixed(meter: Meter, clause: _Clause, value: Value) -> str:
    number = _double(clause, value) + 0.0  # Zero has no sign.
    precision = _PRECISION if clause.precision is None else clause.precision
    if precision // 10 > MAX_WIDTH:
        return "%!(NOVERB)"
    if not math.isfinite(number):
        return _infinite(number)
    # At least as many decimals as a byte says, and at most as many as a signed number of 16 bits says.
    least, most = precision % 2**8, (precision + 2**15) % 2**16 - 2**15
    meter.write(max(most, least))
    text = f"{number:,.{min(most, _DECIMALS)}f}" if most >= 0 else f"{Decimal(repr(number)):,f}"
    whole, _, decimals = text.partition(".")
    decimals = decimals.rstrip("0").ljust(least, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _scientific(meter: Meter, clause: _Clause, value: Value) -> str:
    number = _double(clause, value) + 0.0
    # What is written as a precision is a width here.
    width = (clause.precision or 0) % 2**16
    if (clause.precision or 0) // 10 > MAX_WIDTH:
        return "%!(NOVERB)"
    meter.write(width)
    if not math.isfinite(number):
        return _infinite(number).rjust(_PRECISION if clause.precision is None else width)
    mantissa, _, exponent = f"{number:.{_PRECISION}e}".partition("e")
    power = int(exponent)
    digits = f"{power:03d}" if power < 0 else f"{power:02d}"
    text = f"{mantissa}\u00d710{digits.translate(_SUPERSCRIPTS)}"
    return text.rjust(width)


def _number_text(value: float) -> str:
    return {"+Inf": "Infinity", "-Inf": "-Infinity"}.get(numbers.special(value) or "") or numbers.plain(value)


def _unquoted(meter: Meter, clause: _Clause, value: Value) -> str:
    meter.work(1)
    if value.__class__ is EvaluationError:
        raise value
    if value.__class__ is float:
        return _number_text(value)
    if is_list(value):
        text = "[" + ", ".join(_unquoted(meter, clause, element) for element in value) + "]"
    elif is_map(value):
        rows = sorted((_unquoted(meter, clause, key), _unquoted(meter, clause, find_key(value, key))) for key in value)
        text = "{" + ", ".join(f"{key}: {element}" for key, element in rows) + "}"
    else:
        return _string(meter, clause, value)
    meter.write(len(text))
    return text


def _any_number(meter: Meter, clause: _Clause, value: Value) -> str:
    return _number_text(value) if value.__class__ is float else _decimal(meter, clause, value)


def _with_decimals(kind: str) -> _Formatter:
    """``%f`` and ``%e`` of numbers of all types."""

    def formatted(meter: Meter, clause: _Clause, value: Value) -> str:
        number = value if value.__class__ is float else float(_integer(clause, value))
        if not math.isfinite(number):
            return _number_text(number)
        precision = _PRECISION if clause.precision is None else min(clause.precision, MAX_WIDTH)
        meter.write(precision)
        return f"{number:.{precision}{kind}}"

    return formatted


_Formatter = Callable[[Meter, _Clause, Value], str]
_FORMATTERS: dict[str, _Formatter] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": _hexadecimal,
}


_PLAIN = {**_FORMATTERS, "s": _unquoted, "d": _any_number, "f": _with_decimals("f"), "e": _with_decimals("e")}


def check_format(call: Call) -> Issue | None:
    """Return the error of a literal format with its literal list of arguments, None if they fit."""
    target, (args,) = call.target, call.args
    if not isinstance(target, Literal) or not isinstance(target.value, str) or not isinstance(args, ListLiteral):
        return None
    used = 0
    try:
        for part in _parts(target.value, len(args.elements), checking=True):
            if isinstance(part, _Clause):
                bad = _misfit(part.letter, args.elements[used])
                if bad is not None:
                    return Issue(offset=bad.offset, message=str(part.failure(bad.type.name)))
                used += 1
    except EvaluationError as error:
        return Issue(offset=call.offset, message=error.message)
    if len(args.elements) > used:
        text = f"too many arguments supplied to string.format (expected {used}, got {len(args.elements)})"
        return Issue(offset=call.offset, message=text)
    return None


def _misfit(letter: str, node: Node) -> Node | None:
    """Return the node that a clause does not take: the argument, or for ``%s`` a part of a literal in it."""
    stack = [node]
    while stack:
        node = stack.pop()
        if node.type.kind not in _KINDS[letter]:
            return node
        if letter == "s" and isinstance(node, ListLiteral):
            stack.extend(reversed(node.elements))
        elif letter == "s" and isinstance(node, MapLiteral):
            stack.extend(part for entry in reversed(node.entries) for part in (entry.value, entry.key))
    return None
