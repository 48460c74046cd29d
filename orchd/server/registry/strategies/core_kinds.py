"""Strategies of kinds of the core group that have few special rules: volumes and claims, events, service accounts."""

from __future__ import annotations

from typing import Any

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import feature_gates
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy


class PhaseStrategy(Strategy):
    """Volumes and claims start in phase Pending. Some status fields depend on feature gates."""

    def empty_status(self) -> Any:
        return {"phase": "Pending"}

    def status_update(self, obj: Object, old: Object) -> Object:
        return feature_gates.drop_disabled(super().status_update(obj, old), old, self.type, self.settings)


class EventStrategy(Strategy):
    """Events expire after --event-ttl."""

    #: TTL in seconds; set from the flags when strategies are made.
    lifetime = 3600

    def time_to_live(self, obj: Object) -> int | None:
        return self.lifetime


class ServiceAccountStrategy(Strategy):
    """Secret references are reduced to their names."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return self._clean(super().prepare_create(context, obj))

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        return self._clean(super().prepare_update(context, obj, old))

    def _clean(self, obj: Object) -> Object:
        secrets = obj.get("secrets")
        if not secrets:
            return obj
        return {**obj, "secrets": [{"name": s["name"]} if s.get("name") else {} for s in secrets]}
