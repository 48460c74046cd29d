"""Strategies of kinds of the core group that have few special rules: volumes and claims, events, service accounts."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.times import timestamp
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy


class PhaseStrategy(Strategy):
    """Volumes and claims start in phase Pending."""

    def empty_status(self) -> Any:
        return {"phase": "Pending"}


#: The member of a volume's status with the time at which its phase changed.
_CHANGED: Final = "lastPhaseTransitionTime"


class VolumeStrategy(PhaseStrategy):
    """Volumes have the time at which their phase changed, in releases with that field."""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        self._timed = _CHANGED in self.type.fields["status"].type.fields

    def prepare_create(self, context: Context, obj: Object) -> Object:
        prepared = super().prepare_create(context, obj)
        return (
            {**prepared, "status": {**prepared["status"], _CHANGED: timestamp(context.now)}}
            if self._timed
            else prepared
        )

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        prepared = super().prepare_update(context, obj, old)
        if not self._timed or context.subresource != "status":
            return prepared
        status, before = fields.status(prepared), fields.status(old)
        time, time_before = status.get(_CHANGED), before.get(_CHANGED)
        if status.get("phase") == before.get("phase"):
            time = time_before if time is None else time
        elif time in (None, time_before):
            time = timestamp(context.now)
        return prepared if time is None else {**prepared, "status": {**status, _CHANGED: time}}


class ClaimStrategy(PhaseStrategy):
    """A claim's data source is a claim or a snapshot, unless dataSourceRef says more or the claim has one already."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return self._with_sources(super().prepare_create(context, obj), {})

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        prepared = super().prepare_update(context, obj, old)
        return prepared if context.subresource else self._with_sources(prepared, fields.spec(old))

    def _with_sources(self, obj: Object, before: Object) -> Object:
        spec = fields.spec(obj)
        source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
        in_use = before.get("dataSource") is not None or before.get("dataSourceRef") is not None
        if source is not None and reference is None and not in_use and not self._is_volume(source):
            return {**obj, "spec": {name: value for name, value in spec.items() if name != "dataSource"}}
        if not self.settings.feature("AnyVolumeDataSource"):
            return obj
        if reference is None and source is not None:
            return {**obj, "spec": {**spec, "dataSourceRef": source}}
        if source is None and reference is not None and not reference.get("namespace"):
            local = {name: value for name, value in reference.items() if name != "namespace"}
            return {**obj, "spec": {**spec, "dataSource": local}}
        return obj

    def _is_volume(self, source: Object) -> bool:
        snapshots = self.settings.dialect("snapshot.storage.{abbr}.io")
        named = source.get("apiGroup") or "", source.get("kind")
        return named in (("", "PersistentVolumeClaim"), (snapshots, "VolumeSnapshot"))


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
