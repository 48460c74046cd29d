"""Releases of the reference that can be emulated (docs/glossary.md).

Tables state from which release on, and until which one, something exists; what a release has is what
`Release.includes`. Nothing else compares releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from orchd.dialect import Dialect

Rule = TypeVar("Rule")


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """A minor release: ``1.minor``. `patch` is the patch level that servers and simulated nodes report."""

    minor: int
    patch: int = field(compare=False)

    @property
    def name(self) -> str:
        """Without the patch level, as in flags: ``1.23``."""
        return f"1.{self.minor}"

    @property
    def version(self) -> str:
        """The version with the patch level, as servers report it: ``v1.23.17``."""
        return f"v1.{self.minor}.{self.patch}"

    @property
    def previous(self) -> str:
        """The name of the minor release before."""
        return f"1.{self.minor - 1}"

    def includes(self, since: str = "", until: str = "") -> bool:
        """Does this release have what exists since the release `since` ("": always) until `until`, the first one
        without it ("": still)? Both are names without patch level, with or without ``v``."""
        return (not since or self.minor >= _minor(since)) and (not until or self.minor < _minor(until))

    def choose(self, rows: Sequence[tuple[str, Rule]]) -> Rule:
        """The rule of this release. `rows` are pairs of the release that begins a rule ("" for the first one) and the
        rule, ascending."""
        return next(rule for since, rule in reversed(rows) if self.includes(since))

    def __str__(self) -> str:
        return self.name


def _minor(name: str) -> int:
    return int(name.removeprefix("v").removeprefix("1."))


#: The release of the specification, which tables describe where they state no release.
SPECIFICATION: Final = Release(23, 17)
#: The newest release.
NEWEST: Final = Release(35, 6)
#: The releases that can be emulated, by name, ascending.
RELEASES: Final[Mapping[str, Release]] = {each.name: each for each in (SPECIFICATION, NEWEST)}


def default_release(dialect: Dialect) -> Release:
    """The release of a server without the flag: that of the specification with its names, the newest with those of
    stock clients."""
    return NEWEST if dialect.stock else SPECIFICATION
