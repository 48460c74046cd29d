"""PrioritySort: orders the queue by priority (descending), then by the time a pod was queued."""

from __future__ import annotations

from typing import Any

from zope.interface import implementer

from orchd.scheduler.interfaces import IHandle, IQueueSort
from orchd.scheduler.pods import Pod


@implementer(IQueueSort)
class PrioritySort:
    name = "PrioritySort"
    events = ()

    def __init__(self, handle: IHandle, args: object) -> None:
        """Takes no arguments."""

    def key(self, pod: Pod, added: float) -> Any:
        return -pod.priority, added
