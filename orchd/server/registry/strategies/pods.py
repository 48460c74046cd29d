"""Pods: status and quality of service on create, graceful deletion, bindings and ephemeral containers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.apparmor import FIELDS_SINCE
from orchd.kinds.objects.label_keys import merge_affinity_keys, merge_spread_keys
from orchd.kinds.objects.quality_of_service import qos_class
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies import apparmor, seccomp
from orchd.server.registry.strategies.base import Strategy

#: Members of metadata that a write through the subresource resize sets.
_OWN_METADATA: Final = ("managedFields", "resourceVersion")
#: The condition of a pod that is created with scheduling gates.
_GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
#: What adds label keys to selectors, by the feature gates that turn it on.
_MERGES: Final = (
    (("MatchLabelKeysInPodAffinity",), merge_affinity_keys),
    (("MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge"), merge_spread_keys),
)
_RESIZED: Final = ("resources", "resizePolicy")


def _resized_containers(containers: Sequence[Object], before: Sequence[Object]) -> Sequence[Object]:
    if any(new["name"] != old["name"] for new, old in zip(containers, before, strict=True)):
        return containers
    return [
        {
            **{name: value for name, value in old.items() if name not in _RESIZED},
            **{name: new[name] for name in _RESIZED if name in new},
        }
        for new, old in zip(containers, before, strict=True)
    ]


def _as_sent(status: Object, before: Object) -> Object:
    return status


def _with_class(status: Object, before: Object) -> Object:
    """`status` with the stored class of service if it omits it."""
    kept = before.get("qosClass")
    return {**status, "qosClass": kept} if kept and not status.get("qosClass") else status


def _with_generations(status: Object, before: Object) -> Object:
    """As `_with_class`, and with the stored observedGeneration of the status and of its conditions where it is
    omitted."""
    status = _with_class(status, before)
    observed = "observedGeneration"
    if before.get(observed) and not status.get(observed):
        status = {**status, observed: before[observed]}
    stored: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        stored.setdefault(condition.get("type") or "", []).append(condition.get(observed) or 0)
    if not any(map(any, stored.values())):
        return status
    conditions = []
    for condition in status.get("conditions") or ():
        generations = stored.get(condition.get("type") or "")
        generation = generations.pop(0) if generations else 0
        missing = generation and not condition.get(observed)
        conditions.append({**condition, observed: generation} if missing else condition)
    return {**status, "conditions": conditions} if conditions else status


#: What a status becomes that is written, from a release on.
_STATUSES: Final[tuple[tuple[str, Callable[[Object, Object], Object]], ...]] = (
    ("", _as_sent),
    ("1.32", _with_class),
    ("1.34", _with_generations),
)


class PodStrategy(Strategy):
    """Graceful deletion: running pods terminate before they are removed."""

    graceful_deletion = True

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        self._with_profiles = settings.release.choose((("", seccomp.sync_profiles), ("1.27", seccomp.as_given)))
        self._with_apparmor = settings.release.choose((("", apparmor.as_given), (FIELDS_SINCE, apparmor.with_profiles)))
        #: What adds label keys to selectors.
        self._merges = tuple(merge for gates, merge in _MERGES if all(map(settings.feature, gates)))

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = self._with_profiles(super().prepare_create(context, obj), self.settings.dialect)
        obj = self._with_apparmor(context, obj, self.settings.dialect)
        spec, labels = fields.spec(obj), fields.labels(obj)
        status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
        if spec.get("schedulingGates"):
            status["conditions"] = [{**_GATED, "lastTransitionTime": obj["metadata"].get("creationTimestamp")}]
        for merge in self._merges if labels else ():
            spec = merge(spec, labels)
        return {**obj, "spec": spec, "status": status}

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        if context.subresource == "binding":
            return obj
        if context.subresource == "ephemeralcontainers":
            spec = {**old["spec"], "ephemeralContainers": obj["spec"].get("ephemeralContainers") or []}
            if not spec["ephemeralContainers"]:
                del spec["ephemeralContainers"]
            kept = {name: value for name, value in old["metadata"].items() if name != "managedFields"}
            if "managedFields" in obj["metadata"]:
                kept["managedFields"] = obj["metadata"]["managedFields"]
            return self.raise_generation({**old, "metadata": kept, "spec": spec}, old)
        if context.subresource == "resize":
            return self.raise_generation(self._resized(obj, old), old)
        return super().prepare_update(context, obj, old)

    def _resized(self, obj: Object, old: Object) -> Object:
        """`old` with the resources and resize policies of the containers of `obj`. Other containers than those of `old`
        are kept, for validation to reject."""
        spec, before = obj["spec"], old["spec"]
        members = ("containers", "initContainers")
        if any(len(spec.get(member) or ()) != len(before.get(member) or ()) for member in members):
            return obj
        resized = {
            member: _resized_containers(spec[member], before[member]) for member in members if before.get(member)
        }
        metadata = {
            **old["metadata"],
            **{name: obj["metadata"][name] for name in _OWN_METADATA if name in obj["metadata"]},
        }
        return {**old, "metadata": metadata, "spec": {**before, **resized}}

    def status_update(self, obj: Object, old: Object) -> Object:
        metadata = dict(obj["metadata"])
        owners = old["metadata"].get("ownerReferences")
        if owners is None:
            metadata.pop("ownerReferences", None)
        else:
            metadata["ownerReferences"] = owners
        status = self.settings.release.choose(_STATUSES)(fields.status(obj), fields.status(old))
        return super().status_update({**obj, "metadata": metadata, "status": status}, old)

    def grace_period(self, obj: Object, options: Mapping[str, Any]) -> int:
        spec, status = fields.spec(obj), fields.status(obj)
        asked = options.get("gracePeriodSeconds")
        period: int = spec.get("terminationGracePeriodSeconds") or 0 if asked is None else asked
        if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
            return 0
        return 1 if period < 0 else period
