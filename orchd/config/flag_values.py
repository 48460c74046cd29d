"""The values of flags, as the functions that build settings read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from orchd.config import feature_gates
from orchd.config.source import FlagError
from orchd.dialect import Dialect
from orchd.kinds.release import RELEASES, Release


class FlagValues:
    """Values of all flags of a program by their names in the rows, and the names of those that were given in
    `explicit`.

    `warnings` are about the values, to be logged; the functions that build settings add to them.
    """

    def __init__(self, dialect: Dialect, values: Mapping[str, Any], explicit: Collection[str]) -> None:
        self.dialect = dialect
        self.explicit = frozenset(explicit)
        self.warnings: list[str] = []
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def by_name(self) -> dict[str, Any]:
        return dict(self._values)

    @property
    def release(self) -> Release:
        """The release that is emulated."""
        return RELEASES[self._values["emulated-version"]]

    def error(self, name: str, message: str) -> FlagError:
        """The error of a flag."""
        return FlagError(f"--{self.dialect(name)}: {message}")

    def at_least(self, name: str, least: float) -> Any:
        """The value of a number. Raises FlagError for a smaller one."""
        value = self._values[name]
        if value < least:
            raise self.error(name, f"must be at least {least:g}")
        return value

    def pair(self, certificate: str, key: str) -> tuple[str, str]:
        """The values of two flags that must be given together. Raises FlagError."""
        files = self._values[certificate], self._values[key]
        if bool(files[0]) != bool(files[1]):
            one, other = (key, certificate) if files[0] else (certificate, key)
            raise self.error(one, f"is needed together with --{self.dialect(other)}")
        return files

    @cached_property
    def features(self) -> Mapping[str, bool]:
        """Values of the given feature gates, by their names in the table. Raises FlagError."""
        try:
            chosen = feature_gates.resolve(self.dialect, self._values["feature-gates"], self.release)
        except ValueError as error:
            raise self.error("feature-gates", str(error)) from None
        self.warnings += [f"--feature-gates: {warning}" for warning in chosen.warnings]
        return chosen.values
