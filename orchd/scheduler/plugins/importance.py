"""Importance of the pods on a node: the order in which preemption keeps them.

A pod that has not started counts as starting when it is looked at, so that of two such pods each is "earlier" than the
one it is compared with. The order of the reference then follows from its sorting procedure, which is repeated here.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from orchd.scheduler.pods import Pod

#: The reference uses insertion sort up to this length.
_FEW = 12


def is_more_important(pod: Pod, other: Pod) -> bool:
    """True if the first pod has a higher priority, or the same and an earlier start."""
    if pod.priority != other.priority:
        return pod.priority > other.priority
    if pod.started is None:
        return other.started is None
    return other.started is None or pod.started < other.started


def by_importance(pods: Iterable[Pod]) -> list[Pod]:
    """The most important first."""
    out = list(pods)
    if len(out) > _FEW:
        # Equal pods come in reverse order, as below.
        out.reverse()
        return sorted(out, key=_place)
    for begin in range(1, len(out)):
        at = begin
        while at > 0 and is_more_important(out[at], out[at - 1]):
            out[at], out[at - 1] = out[at - 1], out[at]
            at -= 1
    return out


def _place(pod: Pod) -> tuple[int, float]:
    """Equal for two pods that have not started, of which each is the more important one."""
    return -pod.template.priority, inf if pod.started is None else pod.started
