"""Calls between the owner and a serving process."""

from __future__ import annotations

import os
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.assembly.processes.calls import PATIENCE, Calls, ProcessUnavailableError, frame, read_first
from orchd.errors import ApiError, bad_request
from orchd.txkit.coroutines import start


class Pair:
    """Two ends; what one writes arrives at the other in pieces of `size` bytes, while `connected`."""

    def __init__(self, methods: dict[str, Any], size: int = 7) -> None:
        self.clock = Clock()
        self.connected = True
        self.size = size
        self.one = Calls(lambda data: self._pass(data, self.two), {}, self.clock)
        self.two = Calls(lambda data: self._pass(data, self.one), methods, self.clock)

    def _pass(self, data: bytes, to: Calls) -> None:
        if self.connected:
            for begin in range(0, len(data), self.size):
                to.received(data[begin : begin + self.size])


async def _double(value: bytes) -> bytes:
    return value * 2


async def _refuse() -> None:
    raise bad_request("not this")


def _result(deferred: Deferred[Any]) -> Any:
    results: list[Any] = []
    deferred.addBoth(results.append)
    assert results, "not called yet"
    return results[0]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_result_arrives_in_any_pieces(size: int) -> None:
    """A call returns what the method returns, however the bytes are cut."""
    pair = Pair({"double": _double}, size)
    assert _result(start(pair.one.call("double", b"ab" * 50))) == b"ab" * 100


def test_refusal_is_the_methods_error() -> None:
    """An ApiError of the method is raised where it is called."""
    error = _result(start(Pair({"refuse": _refuse}).one.call("refuse"))).value
    assert isinstance(error, ApiError)
    assert (error.code, error.message) == (400, "not this")


def test_call_after_the_end_fails() -> None:
    """A call of a process that has ended fails at once."""
    pair = Pair({})
    pair.one.close()
    assert _result(start(pair.one.call("double"))).check(ProcessUnavailableError)


def test_call_ends_without_an_answer() -> None:
    """A call fails when its time is over; a late answer is dropped."""
    slow: Deferred[bytes] = Deferred()

    async def wait() -> bytes:
        return await slow

    pair = Pair({"wait": wait})
    asked = start(pair.one.call("wait"))
    pair.clock.advance(PATIENCE)
    assert _result(asked).check(ProcessUnavailableError)
    slow.callback(b"late")


def test_end_of_the_other_process_ends_its_calls() -> None:
    """Running calls fail when the other process has ended."""
    pair = Pair({})
    pair.connected = False
    asked = start(pair.one.call("anything"))
    pair.one.close()
    assert "has ended" in str(_result(asked).value)


def test_first_frame_is_read_before_anything_else() -> None:
    """`read_first` takes one value from a pipe, and leaves what follows."""
    reading, writing = os.pipe()
    os.write(writing, frame({"a": 1}) + b"rest")
    assert read_first(lambda size: os.read(reading, min(size, 3))) == {"a": 1}
    assert os.read(reading, 100) == b"rest"
    os.close(writing)
    with pytest.raises(EOFError):
        read_first(lambda size: os.read(reading, size))
    os.close(reading)
