"""Strategies of kinds with few special rules."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds import verbatim
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import feature_gates
from orchd.kinds.objects.defaults.workloads import TEMPLATE_GENERATION
from orchd.kinds.objects.scalars import timestamp
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.single_kind_groups import SYSTEM_PRIORITIES
from orchd.pki.certificates import load_chain
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy
from orchd.txkit.instruments import Counter

#: Warning on deletions of jobs without a propagation policy.
_ORPHANED_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


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


class RevisionStrategy(Strategy):
    """The data of a revision is compared as text."""

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        return super().validate_update(context, obj, verbatim.preserve_text(old, context.stored, self.row.verbatim))


class PriorityClassStrategy(Strategy):
    """The system priority classes cannot be deleted."""

    def deletion_error(self, name: str) -> str:
        return "this is a system priority class and cannot be deleted" if name in SYSTEM_PRIORITIES else ""


class JobStrategy(Strategy):
    """A job without a manual selector gets one from its uid. Existing values are preserved, for validation to reject."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = feature_gates.drop_job_tracking(super().prepare_create(context, obj), self.settings)
        spec = dict(obj.get("spec") or {})
        if not spec.get("manualSelector"):
            template = dict(spec.get("template") or {})
            metadata = dict(template.get("metadata") or {})
            own = {"controller-uid": obj["metadata"]["uid"], "job-name": obj["metadata"].get("name", "")}
            given = metadata.get("labels") or {}
            metadata["labels"] = {**own, **given}
            template["metadata"] = metadata
            spec["template"] = template
            selector = dict(spec.get("selector") or {})
            selector["matchLabels"] = {"controller-uid": own["controller-uid"], **(selector.get("matchLabels") or {})}
            spec["selector"] = selector
            tags = obj["metadata"].get("labels")
            if not tags or tags is given:
                # By default the job shares the template's labels object, so it receives the added labels too.
                obj = {**obj, "metadata": {**obj["metadata"], "labels": metadata["labels"]}}
        return {**obj, "spec": spec}

    def deletion_warnings(self, options: Mapping[str, Any]) -> Sequence[str]:
        asked = options.get("propagationPolicy") is not None or options.get("orphanDependents") is not None
        return () if asked or not self.row.orphans else (_ORPHANED_PODS,)


class APIServiceStrategy(Strategy):
    """Locally served APIServices are available immediately; others after a check."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        if (obj.get("spec") or {}).get("service") is not None:
            return obj
        condition = {
            "type": "Available", "status": "True", "lastTransitionTime": timestamp(context.now), "reason": "Local",
            "message": "Local APIServices are always available",
        }
        return {**obj, "status": {"conditions": [condition]}}


#: Seconds by which a certificate may begin before it is signed.
_BACKDATED: Final = 300


class SigningRequestStrategy(Strategy):
    """The requester is the user of the request; the request itself is immutable."""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        signer = ("signerName",)
        self._requested = Counter(
            "apiserver_certificates_registry_csr_requested_duration_total",
            "Issued certificates whose request names a duration, by signer; those of other domains are \"other\".", signer,
        )  # fmt: skip
        self._honored = Counter(
            "apiserver_certificates_registry_csr_honored_duration_total",
            "Issued certificates with the duration that was requested, by signer; those of other domains are \"other\".", signer,
        )  # fmt: skip
        #: Metrics.
        self.instruments = (self._requested, self._honored)
        self._own_signers = settings.dialect("{long}.io/")

    def observe_update(self, obj: Object, old: Object) -> None:
        seconds = (old.get("spec") or {}).get("expirationSeconds")
        issued = (obj.get("status") or {}).get("certificate")
        if seconds is None or not issued or (old.get("status") or {}).get("certificate"):
            return
        signer = old["spec"].get("signerName", "")
        label = signer if signer.startswith(self._own_signers) else "other"
        self._requested.add(label)
        try:
            chain = load_chain(b64decode(issued))
        except ValueError:
            return
        lifetime = chain[0].not_valid_after_utc - chain[0].not_valid_before_utc if chain else timedelta()
        # Certificates are backdated, and signers round.
        if abs(lifetime.total_seconds() - seconds) < _BACKDATED + seconds / 20:
            self._honored.add(label)

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        user = context.user.as_json()
        spec = {k: v for k, v in (obj.get("spec") or {}).items() if k not in ("username", "uid", "groups", "extra")}
        return {**obj, "spec": {**spec, **user}}

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        kept = {**old, "metadata": obj["metadata"]}
        if context.subresource not in ("approval", "status"):
            return kept
        given, before = obj.get("status") or {}, old.get("status") or {}
        # The approval endpoint changes only conditions. Validation decides which of them may change.
        status = {**(given if context.subresource == "status" else before)}
        status.pop("conditions", None)
        stored, conditions = before.get("conditions") or [], given.get("conditions") or []
        if context.subresource == "status":
            conditions = _preserve(_preserve(conditions, stored, "Approved"), stored, "Denied")
        conditions = _stamp(context, conditions, stored)
        return {**kept, "status": {**status, "conditions": conditions} if conditions else status}


def _preserve(conditions: list[Object], before: list[Object], kind: str) -> list[Object]:
    """`conditions` with those of type `kind` replaced by the stored ones, where both have the same number of them."""
    stored = [c for c in before if c.get("type") == kind]
    if sum(c.get("type") == kind for c in conditions) != len(stored):
        return conditions
    rest = iter(stored)
    return [next(rest) if c.get("type") == kind else c for c in conditions]


def _stamp(context: Context, conditions: list[Object], before: list[Object]) -> list[Object]:
    """Conditions with missing times set."""
    now = timestamp(context.now)
    since = {
        (c.get("type"), c.get("status")): c["lastTransitionTime"] for c in reversed(before) if c.get("lastTransitionTime")
    }
    return [
        {
            **condition,
            "lastUpdateTime": condition.get("lastUpdateTime") or now,
            "lastTransitionTime": (
                condition.get("lastTransitionTime") or since.get((condition.get("type"), condition.get("status"))) or now
            ),
        }
        for condition in conditions
    ]


class DeploymentStrategy(Strategy):
    """Annotations count for the generation; the status endpoint does not change labels."""

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
    """Counts template changes in an annotation; clients can only set its initial value."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        given = int((obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
        return self._with_template_generation(super().prepare_create(context, obj), max(given, 1))

    def raise_generation(self, obj: Object, old: Object) -> Object:
        text = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
        number = integer(text) if is_whole(text) else 0
        changed = (obj.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template")
        # The server's own annotation must not count as a change.
        return super().raise_generation(self._with_template_generation(obj, number + 1 if changed else number), old)

    def _with_template_generation(self, obj: Object, number: int) -> Object:
        metadata = obj["metadata"]
        annotations = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(number)}
        return {**obj, "metadata": {**metadata, "annotations": annotations}}
