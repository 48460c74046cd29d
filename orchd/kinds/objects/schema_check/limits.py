"""Time limits of the validation of an object: in the reactor's thread, and in total."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

#: Limits of the work of matching the texts of one object with patterns, in characters times parts of the pattern: at
#: most about a second, and some milliseconds. A match cannot be interrupted.
_MOST_MATCHING: Final = 1 << 28
_QUICK_MATCHING: Final = 1 << 20


@dataclass(slots=True, eq=False)
class _Validation:
    """The state of a running validation. `matching`: the work of matching that it may still do."""

    quick: bool
    matching: int


_CURRENT: Final[ContextVar[_Validation | None]] = ContextVar("validation", default=None)


class LongValidationError(Exception):
    """The schema makes the validation of a small object slow: the caller has to repeat it outside the reactor's
    thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one validation, in addition to the cost budget of its rules. With `quick`, work that takes more than
    some milliseconds raises LongValidationError. `interrupted` is called regularly; when it returns True, because
    nobody waits for the result, the validation stops."""

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
