"""Ports that are defined twice and files that are written twice, found in time proportional to what is found."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.paths import Path


class PortDefinitions:
    """The definitions of one container port and protocol, in their order."""

    def __init__(self) -> None:
        #: Host port, address and path of each definition.
        self._definitions: list[tuple[int, str, Path]] = []
        #: Positions of definitions by host port and address, and by host port and whether there is an address.
        self._equal: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        self._alike: defaultdict[tuple[int, bool], list[int]] = defaultdict(list)

    def add(self, port: Object, at: Path) -> None:
        address, number = port.get("hostIP") or "", port.get("hostPort") or 0
        position = len(self._definitions)
        self._definitions.append((number, address, at))
        self._equal[number, address].append(position)
        self._alike[number, bool(address)].append(position)

    def clashes(self, port: Object) -> Iterator[tuple[str, Path]]:
        """How earlier definitions disagree with `port`, with their paths, in their order."""
        address, number = port.get("hostIP") or "", port.get("hostPort") or 0
        if not number:
            for other_number, other_address, at in self._definitions:
                yield "overlapping" if other_number or other_address != address else "duplicate", at
            return
        merged = merge(
            _marked(self._equal.get((number, address)), "duplicate"),
            _marked(self._alike.get((number, not address)), "dangerously ambiguous"),
            _marked(self._alike.get((0, False)), "overlapping"),
            _marked(self._alike.get((0, True)), "overlapping"),
        )
        for position, clash in merged:
            yield clash, self._definitions[position][2]


def _marked(positions: Iterable[int] | None, clash: str) -> Iterator[tuple[int, str]]:
    return ((position, clash) for position in positions or ())


class _Directory:
    """One path in the tree of all paths: the positions of the writers of exactly this path, and of those below it as
    well."""

    __slots__ = ("entries", "here", "within")

    def __init__(self) -> None:
        self.entries: dict[str, _Directory] = {}
        self.here: list[int] = []
        self.within: list[int] = []


class WrittenPaths:
    """The paths of one volume with their sources, in the order in which they were first written."""

    def __init__(self) -> None:
        self._writers: list[tuple[str, str]] = []
        #: Writer -> position of the first one that it was not compared with.
        self._compared: dict[tuple[str, str], int] = {}
        self._root = _Directory()

    def write(self, path: str, source: str) -> Iterator[tuple[str, str]]:
        """Yield the earlier writers of the same path, or of one above or below it, but each pair once; then add this
        writer.

        A path does not end in a slash."""
        if not path:
            return
        writer = path, source
        first = self._compared.get(writer, 0)
        way = [self._root]
        for name in path.split("/"):
            way.append(way[-1].entries.setdefault(name, _Directory()))
        above = (each.here for each in way[:-1] if each.here)
        for position in merge(*(_since(first, positions) for positions in (*above, way[-1].within))):
            yield self._writers[position]
        added = len(self._writers)
        if writer not in self._compared:
            self._writers.append(writer)
            way[-1].here.append(added)
            for each in way:
                each.within.append(added)
        # A repeated writer overlaps with itself, too.
        self._compared[writer] = added


def _since(first: int, positions: list[int]) -> Iterator[int]:
    """The positions from `first` on, of those that are there now."""
    return (positions[i] for i in range(bisect_left(positions, first), len(positions)))
