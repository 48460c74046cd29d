"""Ports and paths that overlap: the answers of a comparison of all pairs, without comparing all pairs."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from orchd.kinds.objects.validate.overlaps import PortDefinitions, WrittenPaths
from orchd.kinds.objects.validate.paths import root

PORTS: list[dict[str, Any]] = [
    {"hostPort": number, "hostIP": address} for number, address in product((0, 5, 6), ("", "1.1.1.1", "2.2.2.2"))
]


def clash(port: dict[str, Any], other: dict[str, Any]) -> str:
    if port == other:
        return "duplicate"
    if not port["hostPort"] or not other["hostPort"]:
        return "overlapping"
    ambiguous = port["hostPort"] == other["hostPort"] and bool(port["hostIP"]) != bool(other["hostIP"])
    return "dangerously ambiguous" if ambiguous else ""


@pytest.mark.parametrize("seed", range(20))
def test_ports_clash_as_in_pairs(seed: int) -> None:
    """A port clashes with exactly those before it that it disagrees with, in their order."""
    ports = Random(seed).choices(PORTS, k=12)
    definitions = PortDefinitions()
    for i, port in enumerate(ports):
        expected = [(clash(port, other), f"ports[{j}]") for j, other in enumerate(ports[:i]) if clash(port, other)]
        assert [(words, str(at)) for words, at in definitions.clashes(port)] == expected
        definitions.add(port, root("ports")[i])


def overlap(path: str, other: str) -> bool:
    return bool(path and other) and (f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/"))


@pytest.mark.parametrize("seed", range(20))
def test_paths_overlap_as_in_pairs(seed: int) -> None:
    """A path overlaps with those before it that are the same, above or below it; the same two writers are reported
    once."""
    random = Random(seed)
    writers = [
        (
            "/".join(random.choices(("a", "b"), k=random.randint(1, 3))) if random.random() < 0.9 else "",
            random.choice("xy"),
        )
        for _ in range(14)
    ]
    paths = WrittenPaths()
    reported = set()
    for i, writer in enumerate(writers):
        expected = []
        for other in writers[:i]:
            if overlap(writer[0], other[0]) and (writer, other) not in reported:
                reported.add((writer, other))
                expected.append(other)
        assert list(paths.write(*writer)) == expected


def test_names_of_directories_are_compared_whole() -> None:
    """A path is not above one that only begins with the same characters."""
    paths = WrittenPaths()
    assert [list(paths.write(path, "")) for path in ("ab", "a", "ab/c")] == [[], [], [("ab", "")]]
