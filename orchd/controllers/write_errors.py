"""Errors of writes that a controller can do nothing about: what it wrote to is gone, or has changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from orchd.errors import ApiError


def terminating_namespace(error: ApiError) -> bool:
    """True if the write was refused because its namespace is terminating."""
    causes = (error.details or {}).get("causes") or ()
    return error.code == 403 and any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


@contextmanager
def _ignore(accepted: Callable[[ApiError], bool]) -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        if not accepted(error):
            raise


def ignore_missing() -> AbstractContextManager[None]:
    """For a write of an object that may be gone meanwhile."""
    return _ignore(lambda error: error.code == 404)


def ignore_missing_or_changed() -> AbstractContextManager[None]:
    """For a write of an object that may be gone meanwhile, or be another one of its name."""
    return _ignore(lambda error: error.code in (404, 409))


def ignore_terminating_namespace() -> AbstractContextManager[None]:
    """For writes in a namespace whose end refuses them; its controller does the rest."""
    return _ignore(terminating_namespace)
