"""What the tests use of pytest-twisted, which has no annotations."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar, overload

from twisted.internet.defer import Deferred

_P = ParamSpec("_P")
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., AsyncIterator[Any]])

def ensureDeferred(function: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, Deferred[_T]]: ...
@overload
def async_yield_fixture(function: _F, /) -> _F: ...
@overload
def async_yield_fixture(
    *, scope: str = ..., params: Any = ..., ids: Any = ..., name: str | None = ...
) -> Callable[[_F], _F]: ...
def blockon(deferred: Deferred[_T]) -> _T: ...
