"""Admission policies and selectors of devices: their expressions are compiled away from the reactor, but for a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.errors import Cause
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check.limits import LongValidationError
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy
from orchd.txkit.compute_thread import LARGE

#: Bytes of an object whose expressions are compiled in some milliseconds.
_SMALL: Final = 4 << 10


class PolicyStrategy(Strategy):
    """Validates objects of more than a few expressions in another thread."""

    def validate_create(self, context: Context, obj: Object) -> Sequence[Cause]:
        _leave_reactor(context)
        return super().validate_create(context, obj)

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        if not context.subresource:
            _leave_reactor(context)
        return super().validate_update(context, obj, old)


def _leave_reactor(context: Context) -> None:
    if _SMALL < context.size <= LARGE:
        raise LongValidationError
