"""Delay in which changes are batched before a reconcile that reads all objects of an owner, service, budget or quota.

The time grows with the number of these objects, so that passes take a limited share of the processor, and a single change
costs the same, however many there are. Few objects are not batched.
"""

from __future__ import annotations

from typing import Final

#: Number of objects from which changes are batched.
_LARGE: Final = 200
#: Delay in seconds per object: ten times the cost of a pass per object.
_EACH: Final = 0.0002


def batch_seconds(objects: int) -> float:
    """Delay in seconds between a change and the pass over so many objects."""
    return objects * _EACH if objects >= _LARGE else 0.0
