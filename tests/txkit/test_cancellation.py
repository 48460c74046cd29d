"""Cancellation that the cancelled work cannot suppress."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred

from orchd.txkit.cancellation import cleanly_cancelled


def test_cancellation_is_raised_whatever_the_work_does() -> None:
    """CancelledError is raised even if the work catches it."""
    inner: Deferred[int] = Deferred(lambda waiting: waiting.errback(OSError("no such host")))
    outer = cleanly_cancelled(inner)
    results: list[object] = []
    outer.addErrback(lambda failure: results.append(failure.type))
    outer.cancel()
    assert results == [CancelledError]


def test_results_pass_through() -> None:
    """Without a cancellation results and failures are passed on."""
    good: Deferred[int] = Deferred()
    bad: Deferred[int] = Deferred()
    results: list[object] = []
    cleanly_cancelled(good).addCallback(results.append)
    cleanly_cancelled(bad).addErrback(lambda failure: results.append(failure.type))
    good.callback(1)
    bad.errback(OSError())
    assert results == [1, OSError]
