"""Strategy of PriorityClasses."""

from __future__ import annotations

from orchd.kinds.objects.validate.single_kind_groups import SYSTEM_PRIORITIES
from orchd.server.registry.strategies.base import Strategy


class PriorityClassStrategy(Strategy):
    """The system priority classes cannot be deleted."""

    def deletion_error(self, name: str) -> str:
        return "this is a system priority class and cannot be deleted" if name in SYSTEM_PRIORITIES else ""
