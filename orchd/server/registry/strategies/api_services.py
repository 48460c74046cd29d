"""Strategy of APIServices."""

from __future__ import annotations

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy


class APIServiceStrategy(Strategy):
    """Locally served APIServices are available immediately; others after a check."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        if fields.spec(obj).get("service") is not None:
            return obj
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": timestamp(context.now),
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        return {**obj, "status": {"conditions": [condition]}}
