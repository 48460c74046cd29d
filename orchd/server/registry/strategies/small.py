"""Kinds that differ by a few lines each."""

from __future__ import annotations

from typing import Any

from orchd.kinds.objects import gates
from orchd.kinds.objects.defaults.workloads import TEMPLATE_GENERATION
from orchd.kinds.objects.scalars import timestamp
from orchd.server.registry.interfaces import Context, Object
from orchd.server.registry.strategies.base import Strategy


class PhaseStrategy(Strategy):
    """Volumes and claims start in phase Pending."""

    def empty_status(self) -> Any:
        return {"phase": "Pending"}


class EventStrategy(Strategy):
    """Events go by themselves after --event-ttl."""

    #: Seconds; set from the flags when strategies are made.
    lifetime = 3600

    def ttl(self, obj: Object) -> int | None:
        return self.lifetime


class ServiceAccountStrategy(Strategy):
    """Of the references to secrets only the names count."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return self._clean(super().prepare_create(context, obj))

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        return self._clean(super().prepare_update(context, obj, old))

    def _clean(self, obj: Object) -> Object:
        secrets = obj.get("secrets")
        if not secrets:
            return obj
        return {**obj, "secrets": [{"name": s["name"]} if s.get("name") else {} for s in secrets]}


class JobStrategy(Strategy):
    """A job whose selector is not given by hand gets one from its uid. What is there already stays, for validation to
    refuse."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = gates.drop_job_tracking(super().prepare_create(context, obj), self.settings)
        spec = dict(obj.get("spec") or {})
        if not spec.get("manualSelector"):
            template = dict(spec.get("template") or {})
            metadata = dict(template.get("metadata") or {})
            own = {"controller-uid": obj["metadata"]["uid"], "job-name": obj["metadata"].get("name", "")}
            metadata["labels"] = {**own, **(metadata.get("labels") or {})}
            template["metadata"] = metadata
            spec["template"] = template
            selector = dict(spec.get("selector") or {})
            selector["matchLabels"] = {"controller-uid": own["controller-uid"], **(selector.get("matchLabels") or {})}
            spec["selector"] = selector
        return {**obj, "spec": spec}


class APIServiceStrategy(Strategy):
    """What this server answers itself is available from the start; who is behind others is found out later."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        if (obj.get("spec") or {}).get("service") is not None:
            return obj
        condition = {
            "type": "Available", "status": "True", "lastTransitionTime": timestamp(context.now), "reason": "Local",
            "message": "Local APIServices are always available",
        }
        return {**obj, "status": {"conditions": [condition]}}


class SigningRequestStrategy(Strategy):
    """The requester is who sent the request; conditions come through the approval endpoint only."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        user = context.user.as_json()
        spec = {k: v for k, v in (obj.get("spec") or {}).items() if k not in ("username", "uid", "groups", "extra")}
        return {**obj, "spec": {**spec, **user}}

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        kept = {**old, "metadata": obj["metadata"]}
        status, before = obj.get("status") or {}, old.get("status") or {}
        approval = [c for c in status.get("conditions") or () if c.get("type") in ("Approved", "Denied")]
        approved_before = [c for c in before.get("conditions") or () if c.get("type") in ("Approved", "Denied")]
        other = [c for c in status.get("conditions") or () if c.get("type") not in ("Approved", "Denied")]
        other_before = [c for c in before.get("conditions") or () if c.get("type") not in ("Approved", "Denied")]
        if context.subresource == "approval":
            kept["status"] = {**before, "conditions": [*_stamped(context, approval, approved_before), *other_before]}
        elif context.subresource == "status":
            kept["status"] = {**status, "conditions": [*approved_before, *_stamped(context, other, other_before)]}
        if not kept.get("status", {}).get("conditions"):
            kept["status"] = {k: v for k, v in (kept.get("status") or {}).items() if k != "conditions"}
        return kept


def _stamped(context: Context, conditions: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[dict[str, Any]]:

    now = timestamp(context.now)
    known = {c.get("type"): c for c in before}
    out = []
    for condition in conditions:
        old = known.get(condition.get("type"))
        changed = dict(condition)
        if not changed.get("lastUpdateTime"):
            changed["lastUpdateTime"] = now
        if not changed.get("lastTransitionTime"):
            same = old is not None and old.get("status") == condition.get("status") and old.get("lastTransitionTime")
            changed["lastTransitionTime"] = same or now
        out.append(changed)
    return out


class DeploymentStrategy(Strategy):
    """Annotations count for the generation, and the status endpoint leaves labels alone."""

    def raise_generation(self, obj: Object, old: Object) -> Object:
        raised = super().raise_generation(obj, old)
        if raised is obj and obj["metadata"].get("annotations") != old["metadata"].get("annotations"):
            generation = (old["metadata"].get("generation") or 0) + 1
            return {**obj, "metadata": {**obj["metadata"], "generation": generation}}
        return raised

    def status_update(self, obj: Object, old: Object) -> Object:
        metadata = {k: v for k, v in obj["metadata"].items() if k != "labels"}
        if "labels" in old["metadata"]:
            metadata["labels"] = old["metadata"]["labels"]
        return super().status_update({**obj, "metadata": metadata}, old)


class DaemonSetStrategy(Strategy):
    """Counts changes of the template in an annotation that clients cannot set."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return self._numbered(super().prepare_create(context, obj), 1)

    def raise_generation(self, obj: Object, old: Object) -> Object:
        text = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
        number = int(text) if text.isdigit() else 0
        changed = (obj.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template")
        # The annotation is the server's own: it must not make the rest look changed.
        return super().raise_generation(self._numbered(obj, number + 1 if changed else number), old)

    def _numbered(self, obj: Object, number: int) -> Object:
        metadata = obj["metadata"]
        annotations = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(number)}
        return {**obj, "metadata": {**metadata, "annotations": annotations}}
