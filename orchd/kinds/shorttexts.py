"""What is made of texts from outside, remembered within a bound of memory and not only of number."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

#: Longer texts are not remembered: a client could fill the memory with them.
LONGEST: Final = 512


def remember_short(maxsize: int) -> Callable[[F], F]:
    """As `functools.lru_cache`, for functions whose first argument is text: results for texts of more than `LONGEST`
    characters are made anew each time."""

    def decorate(function: F) -> F:
        remembered = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: str, *args: Any, **kwargs: Any) -> Any:
            return (function if len(text) > LONGEST else remembered)(text, *args, **kwargs)

        return cast(F, call)

    return decorate
