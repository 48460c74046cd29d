"""Memoization of functions of external text, bounded in memory as well as in number."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

#: Longer texts are not memoized, so that clients cannot fill the memory.
LONGEST: Final = 512


def remember_short(maxsize: int) -> Callable[[F], F]:
    """Like `functools.lru_cache`, for functions whose first argument is a text. Results for texts longer than `LONGEST`
    characters are not cached."""

    def decorate(function: F) -> F:
        remembered = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: str, *args: Any, **kwargs: Any) -> Any:
            return (function if len(text) > LONGEST else remembered)(text, *args, **kwargs)

        return cast(F, call)

    return decorate
