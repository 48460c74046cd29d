"""Delay in which changes are batched before a reconcile that reads all objects of an owner, service, budget or quota.

The time grows with the number of these objects, so that passes take a limited share of the processor, and a single change
costs the same, however many there are. Few objects are not batched.
"""

from __future__ import annotations

from typing import Final

#: Objects from which on changes are collected.
_LARGE: Final = 200
#: Seconds for each object, ten times what a pass needs for it.
_EACH: Final = 0.0002


def batch_seconds(objects: int) -> float:
    """Seconds between a change and the pass over so many objects."""
    return objects * _EACH if objects >= _LARGE else 0.0
