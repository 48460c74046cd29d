"""What the validation of an object in the reactor's thread may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

_QUICK: Final[ContextVar[bool]] = ContextVar("quick validation", default=False)


class LongValidationError(Exception):
    """The validation of a small object takes long, because of its schema: it is to be repeated away from the reactor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one evaluation besides its budget. `quick`: LongValidationError is raised for what takes longer than some
    milliseconds. `interrupted` is asked now and then whether nobody waits for the result any more."""

    quick: bool = False
    interrupted: Callable[[], bool] | None = None

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let `check_quick` refuse within the block, if the validation is to be quick."""
        token = _QUICK.set(self.quick)
        try:
            yield
        finally:
            _QUICK.reset(token)


NO_LIMITS: Final = Limits()


def check_quick() -> None:
    """Called before work of some milliseconds whose result is kept. Raises LongValidationError in a quick validation."""
    if _QUICK.get():
        raise LongValidationError
