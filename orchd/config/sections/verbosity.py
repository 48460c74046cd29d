"""Log verbosity by module (-v, --vmodule)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from orchd.config.flag_values import FlagValues


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbosity:
    """Log verbosity by namespace. `modules` are (pattern, verbosity); the first that matches the namespace, or its last
    part, replaces `default`."""

    default: int = 0
    modules: tuple[tuple[str, int], ...] = ()

    def of(self, namespace: str) -> int:
        last = namespace.rpartition(".")[2]
        for pattern, level in self.modules:
            if fnmatchcase(last, pattern) or fnmatchcase(namespace, pattern):
                return level
        return self.default

    def with_default(self, default: int) -> Callable[[str], int]:
        """The verbosity by namespace with another default."""
        return replace(self, default=default).of


def verbosity(flags: FlagValues) -> Verbosity:
    """Raises FlagError."""
    try:
        modules = parse_modules(flags["vmodule"])
    except ValueError as error:
        raise flags.error("vmodule", str(error)) from None
    return Verbosity(default=flags.at_least("v", 0), modules=modules)


def parse_modules(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """The elements of --vmodule, each ``pattern=N``. Raises ValueError."""
    out = []
    for text in texts:
        pattern, equals, level = text.rpartition("=")
        if (
            not equals
            or not pattern.strip()
            or not level.strip().isascii()
            or not level.strip().isdigit()
            or len(level) > 9
        ):
            raise ValueError(f"{text!r} is not pattern=N")
        out.append((pattern.strip(), int(level)))
    return tuple(out)
