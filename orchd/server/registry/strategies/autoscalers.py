"""HorizontalPodAutoscalers: stored in version 1, validated in version 2.

Version 1 cannot express all fields of newer versions, including invalid ones; so the spec as sent is validated in the
version that can express every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.errors import Cause
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import convert
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch as validation
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy

_WIDEST: Final = "autoscaling/v2"


class AutoscalerStrategy(Strategy):
    """Every write regenerates the annotations that hold newer fields in version 1, so that only decoded values
    remain."""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        self._catalog = catalog

    def prepare_create(self, context: Context, obj: Object) -> Object:
        wide = self._drop_disabled({**self._wide(obj), "status": {}}, None)
        return super().prepare_create(context, self._to_stored_version(wide))

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        wide, before = self._wide(obj), self._wide(old)
        if context.subresource == "status":
            return self._to_stored_version({**before, "metadata": wide["metadata"], "status": fields.status(wide)})
        wide = self._drop_disabled({**wide, "status": fields.status(before)}, before)
        return super().prepare_update(context, self._to_stored_version(wide), old)

    def _drop_disabled(self, wide: Object, before: Object | None) -> Object:
        """`obj` without container resource metrics while their feature gate is off, unless they are stored already."""
        if self.settings.feature("HPAContainerMetrics") or (before and _has_container_metrics(before)):
            return wide
        if not _has_container_metrics(wide):
            return wide
        spec = wide["spec"]
        metrics = [{k: v for k, v in metric.items() if k != "containerResource"} for metric in spec["metrics"]]
        return {**wide, "spec": {**spec, "metrics": metrics}}

    def _wide(self, obj: Object) -> Object:
        return convert.convert(obj, _WIDEST, self._catalog)

    def _to_stored_version(self, wide: Object) -> Object:
        """`obj` in the stored version, where parts of the status are in annotations."""
        return convert.convert(wide, self.resource.storage_version, self._catalog)

    def _with_sent_spec(self, context: Context, obj: Object) -> Object:
        """`obj` with the spec as it was sent, for validation."""
        sent = obj if context.sent is None else context.sent
        return {**obj, "apiVersion": _WIDEST, "spec": self._wide(sent)["spec"]}

    def validate_create(self, context: Context, obj: Object) -> Sequence[Cause]:
        return validation.validate_create(self._with_sent_spec(context, obj), self.resource, self.settings)

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        judged = obj if context.subresource else self._with_sent_spec(context, obj)
        return validation.validate_update(judged, old, self.resource, self.settings, subresource=context.subresource)


def _has_container_metrics(wide: Object) -> bool:
    return any("containerResource" in metric for metric in fields.spec(wide).get("metrics") or ())
