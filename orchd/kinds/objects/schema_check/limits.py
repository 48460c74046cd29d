"""Time limits of the validation of an object: in the reactor's thread, and in total."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

#: Work of matching texts of one object with patterns, in characters times parts of the pattern: what takes about a
#: second at worst, and some milliseconds. A match cannot be interrupted.
_MOST_MATCHING: Final = 1 << 28
_QUICK_MATCHING: Final = 1 << 20


@dataclass(slots=True, eq=False)
class _Validation:
    """A validation that is under way. `matching`: work of matching that is left."""

    quick: bool
    matching: int


_CURRENT: Final[ContextVar[_Validation | None]] = ContextVar("validation", default=None)


class LongValidationError(Exception):
    """The validation of a small object takes long, because of its schema: it is to be repeated away from the
    reactor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one validation besides the budget of rules. `quick`: LongValidationError is raised for what takes
    longer than some milliseconds. `interrupted` is asked now and then whether nobody waits for the result any more."""

    quick: bool = False
    interrupted: Callable[[], bool] | None = None

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let `check_quick` and `may_match` refuse within the block."""
        matching = _QUICK_MATCHING if self.quick else _MOST_MATCHING
        token = _CURRENT.set(_Validation(self.quick, matching))
        try:
            yield
        finally:
            _CURRENT.reset(token)


NO_LIMITS: Final = Limits()


def check_quick() -> None:
    """Called before work of some milliseconds whose result is kept. Raises LongValidationError in a quick
    validation."""
    validation = _CURRENT.get()
    if validation is not None and validation.quick:
        raise LongValidationError


def may_match(characters: int, parts: int) -> bool:
    """Count the work of matching a text with a pattern of so many parts. False if there is too much for one object: it
    must not be done. Raises LongValidationError in a quick validation."""
    validation = _CURRENT.get()
    if validation is None:
        return True
    validation.matching -= characters * parts
    if validation.matching >= 0:
        return True
    if validation.quick:
        raise LongValidationError
    return False
