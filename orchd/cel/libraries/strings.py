"""Functions of strings. Indices count code points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from orchd.cel.costs import PER_CHARACTER, UNBOUNDED, Cost, Estimate, Meter, Range, Sized, reading, size_of
from orchd.cel.declare import Function, Implementation, Library, Overload, function, member, overload
from orchd.cel.libraries.format import format_plain, format_text
from orchd.cel.libraries.standard import count_reading
from orchd.cel.operators import find_key, is_list, is_map
from orchd.cel.printed import printed
from orchd.cel.quoting import ESCAPES
from orchd.cel.syntax import Literal
from orchd.cel.types import DYN, INT, STRING, list_of
from orchd.cel.values import EvaluationError, Value

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

# Implementations.


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _index_in_range(search: Callable[[str, str, int], int]) -> Implementation:
    """A search from an index that must be inside of the text."""

    def find(text: str, part: str, start: int) -> int:
        if not 0 <= start <= len(text):
            raise _out_of_range(start)
        return search(text, part, start)

    return find


#: Length of a part that `str.rfind` searches for.
_SHORT = 16


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if not part:
        return len(text) if last is None else last
    if last is None:
        return _find_last(text, part)
    if last < 0:
        raise _out_of_range(last)
    if last >= len(text):
        return -1
    return _find_last(text[: last + len(part)], part)


def _find_last(text: str, part: str) -> int:
    """Like `str.rfind`, which takes time in the product of both lengths where `str.find` does not."""
    if len(part) <= _SHORT:
        return text.rfind(part)
    at = text[::-1].find(part[::-1])
    return -1 if at < 0 else len(text) - at - len(part)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(text):
            raise _out_of_range(start)
        return text[start:]
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _replace(meter: Meter, text: str, old: str, new: str, limit: int = -1) -> str:
    growth = len(new) - len(old)
    if growth > 0:
        count = text.count(old)
        meter.write((count if limit < 0 else min(count, limit)) * growth)
    return text.replace(old, new, limit)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        if limit < 0 or limit >= len(text):
            return list(text)
        return [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _join(meter: Meter, values: Value, separator: str = "") -> str:
    total = 0
    for value in values:
        if value.__class__ is not str:
            raise EvaluationError(f"join: invalid input: {printed(value)}")
        total += len(value) + len(separator)
    meter.write(total)
    return separator.join(values)


def _quote(text: str) -> str:
    return '"' + "".join(ESCAPES.get(character, character) for character in text) + '"'


# Costs.


def _estimate_replace(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    if target is None:
        return None
    text, old, new = target.size, args[0].size, args[1].size
    kept_low = kept_high = 0
    if old.low == 0:
        count_high = text.high + 1 if text.high < UNBOUNDED else text.high
        kept_high = text.high
    elif new.high <= old.low:
        count_high, kept_high = 0, text.high
    else:
        count_high = math.ceil(float(text.high) / float(old.low))
    if old.high == 0:
        count_low = text.low + 1 if text.low < UNBOUNDED else text.low
        kept_low = text.low
    elif old.high <= new.low:
        count_low, kept_low = 0, text.low
    else:
        count_low = math.ceil(float(text.low) / float(old.high))
    size = Range(count_low, min(count_high, UNBOUNDED)).times(new).plus(Range(kept_low, kept_high))
    return Estimate(text.scaled(2 * PER_CHARACTER), size)


def _estimate_split(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    if target is None:
        return None
    most = target.size.high
    if len(args) > 1 and isinstance(args[1].node, Literal) and args[1].node.value.__class__ is int:
        most = args[1].node.value & UNBOUNDED
    return Estimate(target.size.scaled(2 * PER_CHARACTER), Range(0, most))


def _estimate_join(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    if target is None:
        return None
    count = target.size
    element = target.element()
    size = count.times(element.size) if element is not None else Range(0, 0)
    if args:
        size = size.plus(args[0].size.times(Range(max(count.low - 1, 0), max(count.high - 1, 0))))
    return Estimate(size.scaled(PER_CHARACTER), size)


def _estimate_quote(target: Sized | None, args: Sequence[Sized]) -> Estimate:
    size = args[0].size
    return Estimate(size.scaled(PER_CHARACTER), Range((size.low + 2) & UNBOUNDED, (size.high * 2 + 2) & UNBOUNDED))


def _estimate_format(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    return None if target is None else Estimate(target.size.scaled(PER_CHARACTER))


def estimate_search(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    """Estimate a walk over a list, or over a string for ``indexOf``: 1 per element, and what its text costs."""
    if target is None:
        return None
    element = target.element()
    if element is None:
        return Estimate(target.size.scaled(PER_CHARACTER))
    each = Range(1, 1)
    if element.type.kind in ("string", "bytes"):
        each = each.plus(element.size.scaled(PER_CHARACTER))
    return Estimate(target.size.times(each))


def traversal(value: Value) -> int:
    """Count a walk over everything that is in a value."""
    total = 0
    stack = [value]
    while stack:
        value = stack.pop()
        if value.__class__ is str:
            total += int(len(value.encode("utf-8", "surrogatepass")) * PER_CHARACTER)
        elif value.__class__ is bytes:
            total += int(len(value) * PER_CHARACTER)
        elif is_list(value):
            stack.extend(value)
        elif is_map(value):
            seen = 0
            for key in value:
                stack.append(key)
                stack.append(find_key(value, key))
                seen += 1
            # Fields that the schema does not know.
            total += 2 * (len(value) - seen)
        else:
            total += 1
    return total


SEARCH = Cost(estimate_search, lambda args, result: traversal(args[0]), True)
_READ = reading(0, sized=True)
_REPLACE = Cost(_estimate_replace, lambda args, result: math.ceil(size_of(args[0]) * 2 * PER_CHARACTER), True)
_SPLIT = Cost(_estimate_split, lambda args, result: math.ceil(size_of(args[0]) * 2 * PER_CHARACTER), True)
_JOIN = Cost(_estimate_join, lambda args, result: math.ceil(size_of(result) * 2 * PER_CHARACTER), True)
_FORMAT = Cost(_estimate_format, count_reading)
_QUOTE = Cost(_estimate_quote, count_reading)

# Tables.

STRINGS = list_of(STRING)


_BASIC = (
    function("charAt", member("string_char_at_int", [STRING, INT], STRING, _char_at)),
    function(
        "indexOf",
        member("string_index_of_string", [STRING, STRING], INT, _index_of, cost=SEARCH),
        member("string_index_of_string_int", [STRING, STRING, INT], INT, _index_of, cost=SEARCH),
    ),
    function(
        "lastIndexOf",
        member("string_last_index_of_string", [STRING, STRING], INT, _last_index_of, cost=SEARCH),
        member("string_last_index_of_string_int", [STRING, STRING, INT], INT, _last_index_of, cost=SEARCH),
    ),
    function(
        "lowerAscii", member("string_lower_ascii", [STRING], STRING, lambda text: text.translate(_LOWER), cost=_READ)
    ),
    function(
        "replace",
        member("string_replace_string_string", [STRING, STRING, STRING], STRING, _replace, cost=_REPLACE, metered=True),
        member(
            "string_replace_string_string_int",
            [STRING, STRING, STRING, INT],
            STRING,
            _replace,
            cost=_REPLACE,
            metered=True,
        ),
    ),
    function(
        "split",
        member("string_split_string", [STRING, STRING], STRINGS, _split, cost=_SPLIT),
        member("string_split_string_int", [STRING, STRING, INT], STRINGS, _split, cost=_SPLIT),
    ),
    function(
        "substring",
        member("string_substring_int", [STRING, INT], STRING, _substring, cost=_READ),
        member("string_substring_int_int", [STRING, INT, INT], STRING, _substring, cost=_READ),
    ),
    function("trim", member("string_trim", [STRING], STRING, lambda text: text.strip(_SPACE), cost=_READ)),
    function(
        "upperAscii", member("string_upper_ascii", [STRING], STRING, lambda text: text.translate(_UPPER), cost=_READ)
    ),
    function(
        "join",
        member("list_join", [STRINGS], STRING, _join, cost=_JOIN, metered=True),
        member("list_join_string", [STRINGS, STRING], STRING, _join, cost=_JOIN, metered=True),
    ),
)


def _format(call: Implementation) -> Function:
    return function(
        "format",
        Overload(
            id="string_format",
            parameters=(STRING, list_of(DYN)),
            result=STRING,
            call=call,
            member=True,
            metered=True,
            sequential=True,
            cost=_FORMAT,
        ),
    )


#: The first version: without formats and quotes.
FIRST = Library(name="strings 0", functions=_BASIC)
LIBRARY = Library(
    name="strings",
    functions=(
        *_BASIC,
        _format(format_text),
        function("strings.quote", overload("strings_quote", [STRING], STRING, _quote, cost=_QUOTE)),
    ),
)
#: The newest version, which no release has: other texts of formats, and starts of searches must be inside of the text.
LATEST = Library(
    name="strings 4",
    functions=(
        function(
            "indexOf",
            member("string_index_of_string_int", [STRING, STRING, INT], INT, _index_in_range(_index_of), cost=SEARCH),
        ),
        function(
            "lastIndexOf",
            member(
                "string_last_index_of_string_int",
                [STRING, STRING, INT],
                INT,
                _index_in_range(_last_index_of),
                cost=SEARCH,
            ),
        ),
        *_BASIC,
        _format(format_plain),
        function("strings.quote", overload("strings_quote", [STRING], STRING, _quote, cost=_QUOTE)),
        function("reverse", member("string_reverse", [STRING], STRING, lambda text: text[::-1])),
    ),
)
