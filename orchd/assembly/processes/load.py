"""How many connections each serving process has, and which are busy, in memory that all of them share: connections are
long, and the system gives most of those that arrive at the same time to the same process."""

from __future__ import annotations

import mmap
import os
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.tcp import Server

from orchd.txkit.turns import shared_budget

#: Seconds for which a connection is left to processes that have fewer: some turns of a busy one, each of which may
#: hold the handshake of another connection.
_PATIENCE: Final = 0.02
_ABSENT: Final = 0xFFFFFFFF
#: Seconds between measurements of a process, and the part of them that controllers and other work of its own take in a
#: busy one. It counts as having so many more connections: while pods are rolled out, clients that arrive are better
#: served by others. What it does for its clients does not count: they would all go to one process, then all to another.
_PERIOD: Final = 1.0
_BUSY: Final = 0.25
_MORE: Final = 1 << 20
#: The number of the owner. Each of its connections counts as two, and its store, controllers and scheduler as one of
#: them: it also commits what the others write, and their turns are shorter.
_OWNER: Final = 0
_OWNER_WEIGHT: Final = 2


class Load:
    """A number for each process in the memory of the file `descriptor`, of connections and of `_MORE` if it is busy:
    that of the owner, which is number 0, and those of serving processes, from 1 on. Each writes its own."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._numbers = memoryview(mmap.mmap(descriptor, 0)).cast("I")

    @classmethod
    def of(cls, processes: int) -> Load:
        """Memory for the owner and so many serving processes, none of which accepts yet."""
        descriptor = os.memfd_create("load")
        os.write(descriptor, b"\xff" * 4 * (1 + processes))
        return cls(descriptor)

    def set(self, process: int, connections: int | None) -> None:
        """Record the number of a process; None if it accepts no connections."""
        self._numbers[process] = _ABSENT if connections is None else connections

    def is_least(self, process: int) -> bool:
        """True if no other process has a smaller number."""
        return self._numbers[process] <= min(self._numbers)


class FairPort:
    """Makes a listening port of `process` leave connections to processes that have fewer, unless they are too busy to
    take them."""

    def __init__(self, port: Any, load: Load, process: int, clock: IReactorTime) -> None:
        self._port = port
        self._load = load
        self._process = process
        self._clock = clock
        self._own_work = shared_budget(clock)
        self._busy = False
        self._weight, self._count = (_OWNER_WEIGHT, _OWNER_WEIGHT) if process == _OWNER else (1, 0)
        self._do_read, self._close = port.doRead, port.connectionLost
        port.doRead, port.connectionLost = self._ready, self._closed
        port.transport, port.fair = _Counted, self
        self._publish()
        self._measuring = clock.callLater(_PERIOD, self._measure, clock.seconds(), self._own_work.worked)

    def _ready(self) -> None:
        if self._load.is_least(self._process):
            self._accept()
        else:
            self._port.stopReading()
            self._clock.callLater(_PATIENCE, self._go_on)

    def _go_on(self) -> None:
        if self._port.connected:
            # What is still there the others have left. Those that arrive next are theirs again.
            self._accept()
            self._port.startReading()

    def _accept(self) -> None:
        # One connection in each turn of the reactor: what a busy process leaves, others take. Twisted raises the number
        # after each turn that accepts as many.
        self._port.numberAccepts = 1
        self._do_read()

    def changed(self, by: int) -> None:
        """There are so many more connections."""
        self._count += by * self._weight
        self._publish()

    def _measure(self, began: float, worked: float) -> None:
        """`began` is the time of the last measurement, and `worked` the seconds of own work until then."""
        now, in_all = self._clock.seconds(), self._own_work.worked
        self._busy = in_all - worked > _BUSY * (now - began)
        self._publish()
        self._measuring = self._clock.callLater(_PERIOD, self._measure, now, in_all)

    def _publish(self) -> None:
        if self._port.connected:
            self._load.set(self._process, self._count + _MORE * self._busy)

    def _closed(self, reason: Any) -> None:
        """The port accepts no more."""
        self._measuring.cancel()
        self._load.set(self._process, None)
        self._close(reason)


class _Counted(Server):
    """A connection of such a port."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._fair: FairPort = arguments[3].fair
        self._fair.changed(1)

    def connectionLost(self, reason: Any) -> None:
        self._fair.changed(-1)
        super().connectionLost(reason)
