"""Delay in which changes are batched before a reconcile that reads all objects of an owner, service, budget or quota.

The time grows with the number of these objects, so that passes take a limited share of the processor, and a single
change costs the same, however many there are. Few objects are not batched.
"""

from __future__ import annotations

from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchd.txkit.token_bucket import TokenBucket

#: Number of objects from which changes are batched.
_LARGE: Final = 200
#: Delay in seconds per object: ten times the cost of a pass per object.
_EACH: Final = 0.0002


def batch_seconds(objects: int) -> float:
    """Delay in seconds between a change and the pass, for an owner of this many objects."""
    return objects * _EACH if objects >= _LARGE else 0.0


#: Share of one processor for the writes of a controller, and the seconds of such work that may be done at once.
_SHARE: Final = 0.1
_BURST: Final = 1.0
#: Estimated seconds of a write, and of each object that is listed in it.
_WRITE: Final = 0.001
_LISTED: Final = 0.00003


class WriteShare:
    """Limits the share of the processor of a controller whose passes write one object about many others.

    Every change of one of these makes a pass due. While its queue is on hold, their changes are collected.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._bucket = TokenBucket(_SHARE, _BURST, clock.seconds())

    def spend(self, objects: int) -> float:
        """Account for a write that covers this many objects. Returns the seconds for which the queue is to be held."""
        return self._bucket.reserve(self._clock.seconds(), _WRITE + _LISTED * objects)
