"""The budget of an object: values and bytes, of a request body, of what defaults add to it, and of what is stored.

The cost of a body grows with its values, which may be tiny and many. The reference only limits bytes (3 MiB per body,
1.5 MiB per stored object), and processes bodies in parallel threads. The largest published definitions have 52,000
values in 0.9 MB, so that one with 100,000 values exceeds the limit of its store. Defaults and admission may make
several values of one.
"""

from __future__ import annotations

import re
from threading import local
from typing import Any, Final

import orjson

from orchd.errors import ApiError

#: Maximum number of values in a body, including containers; in YAML after expansion of aliases; in protobuf of fields.
MAX_VALUES: Final = 100_000

#: Maximum number of values of an object after defaults and admission.
MAX_OBJECT_VALUES: Final = 2 * MAX_VALUES
#: Maximum size in bytes of a write to the reference's store: etcd's default limit (MAX_STORED), and that of its client
#: (MAX_SENT).
MAX_STORED: Final = 1536 * 1024
#: Size of an object in JSON up to which its write is certainly within MAX_STORED.
MAX_STORED_TEXT: Final = MAX_STORED - 4096
MAX_SENT: Final = 2 * 1024 * 1024
#: Maximum number of values and bytes that defaults of a schema add to an object: more cannot be stored.
MAX_ADDED: Final = 2 * MAX_SENT
_REFUSED: Final = "etcdserver: request is too large"
_UNSENT: Final = "rpc error: code = ResourceExhausted desc = trying to send message larger than max"

#: A string (an unterminated one extends to the end of the text), or a character that begins or separates values.
_PARTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([,{\[])', re.S)


def too_many(limit: int = MAX_VALUES) -> ApiError:
    """ApiError 413 for more values than `limit`: that of bodies, or that of objects."""
    what = "body" if limit == MAX_VALUES else "object"
    return ApiError(
        413, "RequestEntityTooLarge", f"Request entity too large: the {what} holds more than {limit} values"
    )


def too_large(size: int) -> ApiError:
    """The error of the reference for an object whose write to the store has `size` bytes."""
    return ApiError(500, "", f"{_UNSENT} ({size} vs. {MAX_SENT})" if size > MAX_SENT else _REFUSED)


def is_too_large(error: ApiError) -> bool:
    """True if an object was refused for its size: writing it again does not help."""
    return error.code == 413 or error.message == _REFUSED or error.message.startswith(_UNSENT)


class Growth(local):
    """Counts the bytes and values that defaults add to the object of the current thread: large objects are defaulted
    in threads."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin with another object."""
        self.bytes = MAX_ADDED
        self.values = MAX_VALUES

    def spend(self, cost: tuple[int, int]) -> None:
        """Count added bytes and values. Raises ApiError above the limits of storable objects."""
        self.bytes -= cost[0]
        self.values -= cost[1]
        if self.bytes < 0:
            raise too_large(MAX_ADDED - self.bytes)
        if self.values < 0:
            raise ApiError(
                413, "RequestEntityTooLarge", f"Request entity too large: defaults add more than {MAX_VALUES} values"
            )


#: Shared: defaulting is synchronous, so that each thread has one object at a time.
GROWTH: Final = Growth()


def cost_of(value: Any) -> tuple[int, int]:
    """Bytes and values of a default."""
    text = orjson.dumps(value)
    return len(text), 1 + json_values(text)


def exceeds(value: Any, size: int) -> bool:
    """True if a JSON value has more than about `size` bytes; the work is bounded by `size`."""
    values = [value]
    while values and size >= 0:
        each = values.pop()
        size -= 4
        if isinstance(each, str):
            size -= len(each)
        elif isinstance(each, list | dict):
            if 4 * len(each) > size:
                return True
            values += each if isinstance(each, list) else (*each, *each.values())
    return size < 0


def check_object(obj: Any) -> int:
    """Size in bytes of an object that defaults or admission have changed. Raises ApiError for too many values."""
    text = orjson.dumps(obj, default=str)
    check_json(text, MAX_OBJECT_VALUES)
    return len(text)


def _most_values(data: bytes) -> int:
    """An upper bound of the number of values in a JSON text, found in one fast pass."""
    return data.count(b",") + data.count(b"{") + data.count(b"[")


def needs_counting(data: bytes) -> bool:
    """True if a body may have too many values, so that `json_values`, which takes tens of milliseconds, must tell."""
    return len(data) > MAX_VALUES and _most_values(data) > MAX_VALUES


def json_values(data: bytes, limit: int = MAX_VALUES) -> int:
    """Estimate the number of values in a JSON text: its commas and containers outside of strings.

    Stops counting above `limit`. One pass, no copies; the text need not be valid.
    """
    count = _most_values(data)
    if count <= limit:
        return count
    count = strings = 0
    for part in _PARTS.finditer(data):
        if part.lastindex:
            count += 1
        else:
            strings += 1
        if count > limit or strings > 2 * limit:
            return limit + 1
    return count


def check_json(data: bytes, limit: int = MAX_VALUES) -> None:
    """Raise ApiError 413 for a JSON text of more than `limit` values."""
    if len(data) > limit and json_values(data, limit) > limit:
        raise too_many(limit)
