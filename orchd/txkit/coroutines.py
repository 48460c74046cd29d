"""Conversion of coroutines to Deferreds, at the outermost call only.

Inner code uses ``async def`` and ``await``. `start` always creates a Deferred. `enter` creates one only if the
coroutine suspends: a request that is served from memory costs a single `send`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


def start(coro: Coroutine[Deferred[Any], Any, T]) -> Deferred[T]:
    """Run `coro` until it first suspends. The Deferred fires with its result or failure; cancelling it cancels
    `coro`."""
    return Deferred.fromCoroutine(coro)


def enter(
    coro: Coroutine[Deferred[Any], Any, T], done: Callable[[T], object], failed: Callable[[Failure], object]
) -> Deferred[T] | None:
    """Run `coro` and call exactly one of `done` (with its result) and `failed`.

    If `coro` ends without suspending, they are called before this returns None, and their exceptions propagate to the
    caller. Otherwise this returns a Deferred for the rest, and exceptions of `done` are passed to `failed`. Cancelling
    the Deferred cancels the coroutine (`failed` gets CancelledError). Do not add callbacks to it. Context variables
    that `coro` sets are its own.
    """
    context = copy_context()
    try:
        waits_for = context.run(coro.send, None)
    except StopIteration as end:
        done(end.value)
        return None
    except Exception:
        failed(Failure())
        return None
    rest: Deferred[T] = context.run(Deferred.fromCoroutine, _rest(coro, waits_for))
    rest.addCallbacks(done, failed)
    # Reports exceptions of `done`, in which case `failed` has not been called yet.
    rest.addErrback(failed)
    return rest


def _rest(coro: Coroutine[Deferred[Any], Any, T], waits_for: Deferred[Any]) -> Generator[Deferred[Any], Any, T]:
    """The rest of a coroutine that is suspended at its first await, as a generator for Twisted to drive."""
    while True:
        try:
            value = yield waits_for
        except GeneratorExit:
            coro.close()
            raise
        except BaseException as error:
            try:
                waits_for = coro.throw(error)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]  # StopIteration is not generic in typeshed
        else:
            try:
                waits_for = coro.send(value)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]  # as above
