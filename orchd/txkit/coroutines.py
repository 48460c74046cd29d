"""Where coroutines become Deferreds: once, at the outermost call.

Code below writes ``async def`` and awaits; these are the two ways in. `start` always makes a Deferred. `enter` makes
one only when the coroutine really waits: a request that is answered from memory then costs one `send`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


def start(coro: Coroutine[Deferred[Any], Any, T]) -> Deferred[T]:
    """Run `coro` until it first waits; the Deferred fires with what it returns or raises, and cancels it."""
    return Deferred.fromCoroutine(coro)


def enter(
    coro: Coroutine[Deferred[Any], Any, T], done: Callable[[T], object], failed: Callable[[Failure], object]
) -> Deferred[T] | None:
    """Run `coro` and call exactly one of `done` and `failed` with its end.

    When it ends without waiting they are called before this returns, and the answer is None (what they raise then
    reaches the caller; later it reaches `failed`). Otherwise the answer is
    the Deferred of the rest: cancel it to stop the coroutine (`failed` then sees CancelledError); add nothing to it.
    """
    try:
        waits_for = coro.send(None)
    except StopIteration as end:
        done(end.value)
        return None
    except Exception:
        failed(Failure())
        return None
    rest: Deferred[T] = Deferred.fromCoroutine(_rest(coro, waits_for))
    rest.addCallbacks(done, failed)
    # What `done` itself does wrong must not vanish with the Deferred; `failed` has then not been called yet.
    rest.addErrback(failed)
    return rest


def _rest(coro: Coroutine[Deferred[Any], Any, T], waits_for: Deferred[Any]) -> Generator[Deferred[Any], Any, T]:
    """What is left of a coroutine that has been taken to its first wait, as a generator for Twisted to drive."""
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
