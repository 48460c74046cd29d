"""Pods: status and quality of service on create, graceful deletion, bindings and ephemeral containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quality_of_service import qos_class
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies import seccomp
from orchd.server.registry.strategies.base import Strategy


class PodStrategy(Strategy):
    """Graceful deletion: running pods terminate before they are removed."""

    graceful_deletion = True

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = seccomp.sync_profiles(super().prepare_create(context, obj), self.settings.dialect)
        status = {"phase": "Pending", "qosClass": qos_class(obj.get("spec") or {})}
        return {**obj, "status": status}

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        if context.subresource == "binding":
            return obj
        if context.subresource == "ephemeralcontainers":
            spec = {**old["spec"], "ephemeralContainers": obj["spec"].get("ephemeralContainers") or []}
            if not spec["ephemeralContainers"]:
                del spec["ephemeralContainers"]
            return self.raise_generation({**old, "spec": spec}, old)
        return super().prepare_update(context, obj, old)

    def status_update(self, obj: Object, old: Object) -> Object:
        metadata = dict(obj["metadata"])
        owners = old["metadata"].get("ownerReferences")
        if owners is None:
            metadata.pop("ownerReferences", None)
        else:
            metadata["ownerReferences"] = owners
        return super().status_update({**obj, "metadata": metadata}, old)

    def grace_period(self, obj: Object, options: Mapping[str, Any]) -> int:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        asked = options.get("gracePeriodSeconds")
        period: int = spec.get("terminationGracePeriodSeconds") or 0 if asked is None else asked
        if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
            return 0
        return 1 if period < 0 else period
