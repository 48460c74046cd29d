"""An index over objects stored elsewhere: holds values and paths, no objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import intern

from twisted.internet.defer import Deferred

from orchd.kinds.jsonvalues import Object

Function = Callable[[Object], Iterable[str]]


class ObjectIndex:
    """Paths by the values that `function` returns for their objects.

    Used by the informer: `requested`: the index has been used, so that changes must be added; `complete`: all
    objects have been added, `waiting` holds the waiters for that.
    """

    __slots__ = ("_paths", "_values", "complete", "function", "requested", "waiting")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.requested = False
        self.complete = False
        self.waiting: list[Deferred[None]] = []
        #: A value with a single path, the common case, needs no dict.
        self._paths: dict[str, str | dict[str, None]] = {}
        self._values: dict[str, tuple[str, ...]] = {}

    def put(self, path: str, obj: Object | None) -> None:
        """Set the object of `path`; None when deleted. Idempotent."""
        before = self._values.get(path, ())
        after = () if obj is None else tuple(intern(value) for value in dict.fromkeys(self.function(obj)))
        if before == after:
            return
        for value in before:
            if value not in after:
                self._remove(value, path)
        for value in after:
            if value not in before:
                self._add(value, path)
        if after:
            self._values[path] = after
        else:
            del self._values[path]

    def _add(self, value: str, path: str) -> None:
        held = self._paths.get(value)
        if held is None:
            self._paths[value] = path
        elif isinstance(held, str):
            self._paths[value] = {held: None, path: None}
        else:
            held[path] = None

    def _remove(self, value: str, path: str) -> None:
        held = self._paths[value]
        if isinstance(held, str):
            del self._paths[value]
            return
        del held[path]
        if len(held) == 1:
            self._paths[value] = next(iter(held))

    def __contains__(self, value: str) -> bool:
        return value in self._paths

    def paths(self, values: Iterable[str]) -> list[str]:
        """The paths of each of `values`, in order of insertion."""
        held = [self._paths[value] for value in values if value in self._paths]
        return [path for each in held for path in ((each,) if isinstance(each, str) else each)]
