"""Linearizability check of concurrent histories (Herlihy and Wing, "Linearizability").

Clients record their calls and results by key (`History`); `explain` searches for an order in which each operation
happens at one moment between call and return, and every result is that of a single register with guarded writes. Keys
are checked separately, which is sufficient for linearizability of each; `check_order` checks that writes to different
keys follow the order of their revisions. The search is that of Wing and Gong, with visited states skipped.

A write without a result may have happened at any time after its call, or not at all. Written values must be unique, so
that a read identifies the write it saw.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    GET = "get"
    PUT = "put"
    DELETE = "delete"


class Outcome(Enum):
    OK = "ok"
    #: The guard failed: nothing was written.
    REFUSED = "refused"
    #: No result, or one that leaves open whether the write happened.
    UNKNOWN = "unknown"


#: A register's value and the revision of its last write; None when it does not exist.
State = tuple[str, int] | None


@dataclass(slots=True, kw_only=True)
class Operation:
    """One operation on one key. `called` and `returned` are on one clock; `expected` is the guard (0: must not exist).

    `observed` is the result of a GET, `revision` that of a successful write.
    """

    client: str
    key: str
    kind: Kind
    called: float
    value: str = ""
    expected: int = 0
    returned: float = math.inf
    outcome: Outcome = Outcome.UNKNOWN
    observed: State = None
    revision: int = 0

    def __str__(self) -> str:
        asked = {Kind.GET: "", Kind.PUT: f" {self.value!r} over {self.expected}", Kind.DELETE: f" at {self.expected}"}
        result = str(self.observed) if self.kind is Kind.GET else f"{self.outcome.value} {self.revision or ''}".rstrip()
        return (
            f"{self.client} {self.kind.value} {self.key}{asked[self.kind]} [{self.called:.6f}, "
            f"{self.returned:.6f}]: {result}"
        )


@dataclass
class History:
    """The operations of all clients. Appending is atomic, so that threads may share one."""

    clock: Callable[[], float] = time.monotonic
    operations: list[Operation] = field(default_factory=list)

    def begin(self, client: str, kind: Kind, key: str, *, value: str = "", expected: int = 0) -> Operation:
        """Record a call before it is made. Calls without an end count as UNKNOWN."""
        operation = Operation(client=client, kind=kind, key=key, called=self.clock(), value=value, expected=expected)
        self.operations.append(operation)
        return operation

    def saw(self, operation: Operation, state: State) -> None:
        """Record the result of a GET."""
        operation.observed, operation.outcome, operation.returned = state, Outcome.OK, self.clock()

    def wrote(self, operation: Operation, revision: int) -> None:
        operation.revision, operation.outcome, operation.returned = revision, Outcome.OK, self.clock()

    def refused(self, operation: Operation) -> None:
        operation.outcome, operation.returned = Outcome.REFUSED, self.clock()

    def of(self, key: str) -> list[Operation]:
        return [each for each in self.operations if each.key == key]

    def count(self, outcome: Outcome, key: str) -> int:
        """Number of writes to a key with this outcome."""
        return sum(each.kind is not Kind.GET and each.outcome is outcome for each in self.of(key))

    def check(self) -> None:
        """AssertionError unless every key is linearizable and revisions follow real time."""
        for key in {each.key for each in self.operations}:
            wrong = explain(self.of(key))
            assert not wrong, wrong
        wrong = check_order(self.operations)
        assert not wrong, wrong


def explain(operations: Sequence[Operation]) -> str:
    """ "" when the operations on one key are linearizable, else the longest order found and the operations that could
     not follow.

    A GET without a result is ignored. Raises ValueError when a value was written twice.
    """
    operations = [each for each in operations if each.kind is not Kind.GET or each.outcome is Outcome.OK]
    operations.sort(key=lambda each: each.called)
    values = [each.value for each in operations if each.kind is Kind.PUT]
    if len(set(values)) != len(values):
        raise ValueError("values must be unique")
    return _Search(operations).run()


class _Search:
    def __init__(self, operations: list[Operation]) -> None:
        self._operations = operations
        self._needed = sum(each.outcome is not Outcome.UNKNOWN for each in operations)
        #: Revisions of writes without a result that were read later.
        self._seen = {each.observed[0]: each.observed[1] for each in operations if each.observed is not None}

    def run(self) -> str:
        # Completed operations (bits), state of the register, and number of completed mandatory operations.
        todo: list[tuple[int, State, int]] = [(0, None, 0)]
        visited: set[tuple[int, State]] = set()
        best: tuple[int, int, State] = (-1, 0, None)
        while todo:
            done, state, count = todo.pop()
            if count == self._needed:
                return ""
            if count > best[0]:
                best = (count, done, state)
            for number, after in self._next(done, state):
                now = done | 1 << number
                if (now, after) not in visited:
                    visited.add((now, after))
                    more = self._operations[number].outcome is not Outcome.UNKNOWN
                    todo.append((now, after, count + more))
        count, done, state = best
        stuck = "\n".join(f"  {self._operations[number]}" for number in self._candidates(done))
        return f"after {count} of {self._needed} operations the key holds {state}; none of these can follow:\n{stuck}"

    def _candidates(self, done: int) -> list[int]:
        """Operations that may happen next: those called before any pending operation returned."""
        candidates, first_return = [], math.inf
        first = (~done & (done + 1)).bit_length() - 1
        for number in range(first, len(self._operations)):
            if done >> number & 1:
                continue
            operation = self._operations[number]
            if operation.called > first_return:
                break
            first_return = min(first_return, operation.returned)
            candidates.append(number)
        return candidates

    def _next(self, done: int, state: State) -> list[tuple[int, State]]:
        following: list[tuple[int, State]] = []
        for number in self._candidates(done):
            possible, after = self._applied(number, state)
            if not possible:
                continue
            if after == state:
                # An operation without effect can happen immediately: no other order has to be tried.
                return [(number, after)]
            following.append((number, after))
        return following

    def _applied(self, number: int, state: State) -> tuple[bool, State]:
        """The state after the operation; None if it could not have happened here."""
        operation = self._operations[number]
        if operation.kind is Kind.GET:
            return operation.observed == state, state
        holds = (state[1] if state is not None else 0) == operation.expected
        if operation.outcome is Outcome.REFUSED:
            return not holds, state
        if not holds:
            return False, state
        if operation.kind is Kind.DELETE:
            return True, None
        if operation.outcome is Outcome.UNKNOWN:
            # Never read: a unique unknown revision.
            return True, (operation.value, self._seen.get(operation.value, -1 - number))
        return state is None or operation.revision > state[1], (operation.value, operation.revision)


def check_order(operations: Sequence[Operation]) -> str:
    """ "" when no revision was returned twice and a write that began after another returned has the greater one.

    Reads count too: none may return a revision greater than that of a later write.
    """
    written = [each for each in operations if each.revision]
    revisions = {each.revision for each in written}
    if len(revisions) != len(written):
        return "a revision was given to two writes"
    returned = sorted(
        (each.returned, each.revision or (each.observed[1] if each.observed else 0))
        for each in operations
        if each.returned < math.inf
    )
    position, highest = 0, 0
    for each in sorted(written, key=lambda operation: operation.called):
        while position < len(returned) and returned[position][0] < each.called:
            highest = max(highest, returned[position][1])
            position += 1
        if each.revision <= highest:
            return f"revision {highest} was there before this began: {each}"
    return ""
