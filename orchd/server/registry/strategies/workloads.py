"""Strategies of workload kinds: Deployment, DaemonSet, StatefulSet, Job and ControllerRevision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchd.errors import Cause
from orchd.kinds import fields, verbatim
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.fields import annotations_of, with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import joblabels
from orchd.kinds.objects.defaults.workloads import TEMPLATE_GENERATION
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.batch import TRACKING
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy

#: Warning on deletions of jobs without a propagation policy.
_ORPHANED_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
#: A field of a StatefulSet's spec.
_CLAIM_RETENTION = "persistentVolumeClaimRetentionPolicy"


class DeploymentStrategy(Strategy):
    """Annotations count for the generation; the status endpoint does not change labels."""

    def raise_generation(self, obj: Object, old: Object) -> Object:
        raised = super().raise_generation(obj, old)
        if raised is obj and obj["metadata"].get("annotations") != old["metadata"].get("annotations"):
            generation = (old["metadata"].get("generation") or 0) + 1
            return with_metadata(obj, generation=generation)
        return raised

    def status_update(self, obj: Object, old: Object) -> Object:
        metadata = {k: v for k, v in obj["metadata"].items() if k != "labels"}
        if "labels" in old["metadata"]:
            metadata["labels"] = old["metadata"]["labels"]
        return super().status_update({**obj, "metadata": metadata}, old)


class DaemonSetStrategy(Strategy):
    """Counts template changes in an annotation; clients can only set its initial value."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        generation = int(annotations_of(obj).get(TEMPLATE_GENERATION, "0"))
        return self._with_template_generation(super().prepare_create(context, obj), max(generation, 1))

    def raise_generation(self, obj: Object, old: Object) -> Object:
        text = annotations_of(old).get(TEMPLATE_GENERATION, "0")
        number = integer(text) if is_whole(text) else 0
        changed = fields.spec(obj).get("template") != fields.spec(old).get("template")
        # The server's own annotation must not count as a change.
        return super().raise_generation(self._with_template_generation(obj, number + 1 if changed else number), old)

    def status_update(self, obj: Object, old: Object) -> Object:
        text = annotations_of(old).get(TEMPLATE_GENERATION, "0")
        return super().status_update(self._with_template_generation(obj, integer(text) if is_whole(text) else 0), old)

    def _with_template_generation(self, obj: Object, number: int) -> Object:
        metadata = obj["metadata"]
        annotations = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(number)}
        return {**obj, "metadata": {**metadata, "annotations": annotations}}


class StatefulSetStrategy(Strategy):
    """Clients are warned of a retention policy for claims that is dropped because its feature gate is off."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return self._with_warning(context, obj, super().prepare_create(context, obj))

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        return self._with_warning(context, obj, super().prepare_update(context, obj, old))

    def _with_warning(self, context: Context, obj: Object, kept: Object) -> Object:
        if (
            fields.spec(obj).get(_CLAIM_RETENTION)
            and not kept["spec"].get(_CLAIM_RETENTION)
            and not context.subresource
        ):
            context.warn(f"spec.{_CLAIM_RETENTION}: dropped, because the feature gate StatefulSetAutoDeletePVC is off")
        return kept


class JobStrategy(Strategy):
    """A job without a manual selector gets one from its uid. Existing values are preserved, for validation to
    reject."""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        # All jobs are tracked, without a mark, since 1.27.
        self._marks = settings.release.includes(until="1.27") and settings.feature("JobTrackingWithFinalizers")

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        if self._marks:
            # How a job is tracked is decided when it is created.
            annotations = {**annotations_of(obj), self.settings.dialect(TRACKING): ""}
            obj = with_metadata(obj, annotations=annotations)
        spec = dict(fields.spec(obj))
        if not spec.get("manualSelector"):
            template = dict(spec.get("template") or {})
            metadata = dict(fields.metadata(template))
            uid = obj["metadata"]["uid"]
            own = joblabels.generated(uid, obj["metadata"].get("name", ""), self.settings)
            labels = metadata.get("labels") or {}
            metadata["labels"] = {**own, **labels}
            template["metadata"] = metadata
            spec["template"] = template
            selector = dict(spec.get("selector") or {})
            selector["matchLabels"] = {joblabels.selecting(self.settings): uid, **(selector.get("matchLabels") or {})}
            spec["selector"] = selector
            tags = obj["metadata"].get("labels")
            if not tags or tags is labels:
                # By default the job shares the template's labels object, so it receives the added labels too.
                obj = with_metadata(obj, labels=metadata["labels"])
        return {**obj, "spec": spec}

    def deletion_warnings(self, options: Mapping[str, Any]) -> Sequence[str]:
        asked = options.get("propagationPolicy") is not None or options.get("orphanDependents") is not None
        return () if asked or not self.row.orphans else (_ORPHANED_PODS,)


def _changes_nothing(obj: Object, old: Object) -> bool:
    """True if objects differ in managed fields and the resourceVersion at most."""
    counted, before = (
        {k: v for k, v in each["metadata"].items() if k not in ("managedFields", "resourceVersion")}
        for each in (obj, old)
    )
    return counted == before and {**obj, "metadata": None} == {**old, "metadata": None}


class RevisionStrategy(Strategy):
    """The data of a revision is compared as text: as sent in JSON, else encoded with sorted members."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return verbatim.sort_member(super().prepare_create(context, obj), self.row.verbatim)

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        obj = super().prepare_update(context, obj, old)
        if not context.applies:
            return obj
        if _changes_nothing(obj, old):
            # The reference writes the stored object then, with other managed fields.
            kept = verbatim.preserve_text(old, context.stored, self.row.verbatim)
            return {**obj, self.row.verbatim: kept[self.row.verbatim]}
        return verbatim.sort_member(obj, self.row.verbatim)

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        return super().validate_update(context, obj, verbatim.preserve_text(old, context.stored, self.row.verbatim))
