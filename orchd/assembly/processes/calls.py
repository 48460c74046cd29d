"""Calls between the owner and a serving process, over a pair of sockets.

A frame is a length, a kind, a number and a pickled value. The sockets are made by the owner for a process that it
starts itself: nobody else can write into them.
"""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable, Mapping
from struct import Struct
from typing import Any, Final

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Factory, Protocol

from orchd.errors import ApiError
from orchd.txkit.background import Background
from orchd.txkit.log import Logger
from orchd.txkit.timeouts import within

_log = Logger(namespace="orchd.processes")
#: Length of the value in bytes, kind, number of the call.
_HEAD: Final = Struct("!IBI")
_CALL, _RESULT, _REFUSED, _FAILED = range(4)
#: Seconds that a call may take.
PATIENCE: Final = 2.0

#: What the other process may call, by name.
Methods = Mapping[str, Callable[..., Awaitable[Any]]]


class ProcessUnavailableError(Exception):
    """The other process has ended, did not respond in time, or failed."""


def frame(value: Any, kind: int = _CALL, number: int = 0) -> bytes:
    """A value as the other process receives it."""
    data = pickle.dumps(value)
    return _HEAD.pack(len(data), kind, number) + data


def read_first(read: Callable[[int], bytes]) -> Any:
    """The value of the first frame, from a function that reads up to a number of bytes and returns b"" at the end.
    Raises EOFError."""

    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = read(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    length, _, _ = _HEAD.unpack(exactly(_HEAD.size))
    return pickle.loads(exactly(length))  # from the process that started this one


def factory_of(protocol: Protocol) -> Any:
    """A factory for a connection that exists already."""
    factory = Factory.forProtocol(lambda: protocol)
    factory.noisy = False
    return factory


class Calls:
    """One end. `write` sends bytes to the other one; `methods` are those that it may call."""

    def __init__(self, write: Callable[[bytes], object], methods: Methods, clock: IReactorTime) -> None:
        self._write = write
        self._methods = methods
        self._clock = clock
        self._data = bytearray()
        self._number = 0
        self._waiting: dict[int, Deferred[Any]] = {}
        self._running = Background()
        self._closed = False

    async def call(self, name: str, *arguments: Any) -> Any:
        """The result of a method of the other process. Raises ApiError as the method does, and
        ProcessUnavailableError."""
        if self._closed:
            raise ProcessUnavailableError(f"{name}: the process has ended")
        self._number += 1
        number = self._number
        waiter = self._waiting[number] = Deferred()
        self._write(frame((name, arguments), _CALL, number))
        try:
            kind, value = await within(waiter, PATIENCE, self._clock)
        except TimeoutError as error:
            raise ProcessUnavailableError(f"{name}: no response within {PATIENCE:g} s") from error
        finally:
            self._waiting.pop(number, None)
        if kind == _RESULT:
            return value
        if kind == _REFUSED:
            code, reason, message, details = value
            raise ApiError(code, reason, message, details=details)
        raise ProcessUnavailableError(f"{name}: {value}")

    def received(self, data: bytes) -> None:
        """Take bytes from the other process."""
        self._data += data
        while len(self._data) >= _HEAD.size:
            length, kind, number = _HEAD.unpack_from(self._data)
            end = _HEAD.size + length
            if len(self._data) < end:
                return
            value = pickle.loads(bytes(self._data[_HEAD.size : end]))  # of this program, see above
            del self._data[:end]
            if kind == _CALL:
                self._running.add(self._respond(number, *value), "a call of another process")
            elif (waiter := self._waiting.pop(number, None)) is not None:
                waiter.callback((kind, value))

    async def _respond(self, number: int, name: str, arguments: tuple[Any, ...]) -> None:
        try:
            kind, value = _RESULT, await self._methods[name](*arguments)
        except ApiError as error:
            kind, value = _REFUSED, (error.code, error.reason, error.message, error.details)
        except ProcessUnavailableError as error:
            kind, value = _FAILED, str(error)
        except Exception as error:  # the caller must not wait for a response that never comes
            _log.failure("a call of another process failed")
            kind, value = _FAILED, str(error)
        if not self._closed:
            self._write(frame(value, kind, number))

    def close(self) -> None:
        """Fail running calls: the other process has ended."""
        self._closed = True
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting.values():
            waiter.callback((_FAILED, "the process has ended"))
