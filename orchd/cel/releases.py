"""Environments of releases of the reference: which libraries and rules each of them has.

A function that a release does not know is an undeclared reference there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .environment import Environment
from .libraries import comprehensions, lists, optionals, patterns, sets, standard, strings

#: (since, until or None, library), in the order in which overloads are tried.
_LIBRARIES = (
    ((1, 0), None, standard.LIBRARY),
    ((1, 0), None, patterns.LIBRARY),
    ((1, 0), None, lists.AGGREGATES),
    ((1, 28), None, optionals.LIBRARY),
    ((1, 0), (1, 29), strings.FIRST),
    ((1, 29), None, strings.LIBRARY),
    ((1, 29), None, sets.LIBRARY),
    ((1, 32), None, comprehensions.LIBRARY),
    ((1, 34), None, lists.LIBRARY),
)
AUTHORIZER: Any = lambda name, values: None


@lru_cache(maxsize=64)
def environment_of_release(release: tuple[int, int], *, mutation: bool = False) -> Environment:
    """Return the environment of a release such as (1, 35), without variables."""
    libraries = tuple(
        library for since, until, library in _LIBRARIES if since <= release and (until is None or release < until)
    )
    return Environment(
        libraries=libraries, homogeneous=True, validated=release >= (1, 29), optionals=release >= (1, 28)
    )
