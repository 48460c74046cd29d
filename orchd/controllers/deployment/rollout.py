"""One reconcile of a deployment: its replica sets, their sizes, its status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from orchd.client.interfaces import IClient
from orchd.controllers.deployment import conditions, sizing
from orchd.controllers.deployment.sizing import alive, by_age, count, desired_replicas, total
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.naming import template_hash
from orchd.controllers.objects import DEPLOYMENTS, REPLICA_SETS
from orchd.controllers.write_errors import ignore_missing, terminating_namespace
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition, find_in
from orchd.kinds.fields import (
    annotations_of,
    deleting,
    name,
    namespace,
    owner,
    owner_reference,
    spec,
    status,
    uid,
    with_metadata,
    with_spec,
    with_status,
)
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of

#: Maximum length of the revision history annotation.
_HISTORY = 2000
HASH_LABEL = "pod-template-hash"


#: The note about a set whose size changes, by the first release that writes it.
_SCALING_NOTES: Final = (
    ("", "Scaled {direction} replica set {called} to {size}"),
    ("1.29", "Scaled {direction} replica set {called} from {before} to {size}"),
)


class Keys:
    """Names of annotations in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.revision = dialect("deployment.{long}.io/revision")
        self.history = dialect("deployment.{long}.io/revision-history")
        self.desired = dialect("deployment.{long}.io/desired-replicas")
        self.most = dialect("deployment.{long}.io/max-replicas")
        #: Not copied from a deployment to its sets.
        self.own = frozenset(
            (
                dialect.last_applied,
                self.revision,
                self.history,
                self.desired,
                self.most,
                "deprecated.deployment.rollback.to",
            )
        )


def same_template(one: Object, other: Object) -> bool:
    """True if two templates are equal except for the pod-template-hash label."""
    return _unhashed(spec(one)["template"]) == _unhashed(spec(other)["template"])


def _unhashed(template: dict[str, Any]) -> dict[str, Any]:
    metadata = fields.metadata(template)
    pairs = {k: v for k, v in (metadata.get("labels") or {}).items() if k != HASH_LABEL}
    kept = {k: v for k, v in metadata.items() if k not in ("labels", "creationTimestamp")}
    if pairs:
        kept["labels"] = pairs
    return {**template, "metadata": kept}


class Rollout:
    """`deployment`, `newest` and `old` are replaced by the results of writes.

    `record(deployment, type, reason, note)` records an Event.
    """

    def __init__(
        self,
        client: IClient,
        keys: Keys,
        deployment: Object,
        sets: Iterable[Object],
        *,
        record: Callable[[Object, str, str, str], None],
        env: Environment,
    ) -> None:
        self._client = client
        self._keys = keys
        self._now = env.wall
        self._record = record
        self._env = env
        self.deployment = deployment
        sets = list(sets)
        matching = [each for each in by_age(sets) if same_template(each, deployment)]
        self.newest: Object | None = matching[0] if matching else None
        self.old: list[Object] = [each for each in sets if each is not self.newest]

    @property
    def every(self) -> list[Object]:
        return self.old if self.newest is None else [*self.old, self.newest]

    @property
    def failed_message(self) -> str:
        return (
            f'ReplicaSet "{name(self.newest)}"' if self.newest is not None else f'Deployment "{name(self.deployment)}"'
        )

    # -- the newest set

    async def ensure_newest(self, *, create: bool) -> bool:
        """Update the annotations of the new ReplicaSet, or create it if `create`. False if its creation has to be
        retried."""
        last = max((sizing.number(annotations_of(s).get(self._keys.revision)) or 0 for s in self.old), default=0)
        if self.newest is not None:
            await self._refresh(str(last + 1))
            return True
        return await self._create(str(last + 1)) if create else True

    async def _refresh(self, revision: str) -> None:
        assert self.newest is not None
        notes = self._notes(annotations_of(self.newest), revision, exists=True)
        ready = spec(self.deployment).get("minReadySeconds") or 0
        if notes != annotations_of(self.newest) or (spec(self.newest).get("minReadySeconds") or 0) != ready:
            changed = with_spec(with_metadata(self.newest, annotations=notes), minReadySeconds=ready)
            self.newest = await self._update_set(changed)
        await self._mark_revision(
            annotations_of(self.newest)[self._keys.revision],
            "FoundNewReplicaSet",
            f'Found new replica set "{name(self.newest)}"',
            replace=False,
        )

    async def _mark_revision(self, revision: str, reason: str, message: str, *, replace: bool) -> None:
        deployment = self.deployment
        current_conditions = fields.conditions(deployment)
        marked = annotations_of(deployment).get(self._keys.revision) == revision
        recorded = not sizing.has_deadline(deployment) or (
            not replace and find_in(current_conditions, "Progressing") is not None
        )
        if marked and recorded:
            return
        changed = with_metadata(deployment, annotations={**annotations_of(deployment), self._keys.revision: revision})
        if not recorded:
            fresh = conditions.make("Progressing", "True", reason, message, self._now())
            changed = with_status(changed, conditions=conditions.with_(current_conditions, fresh))
        await self._update_status(changed)

    def _notes(self, current: dict[str, str], revision: str, *, exists: bool) -> dict[str, str]:
        """Annotations of the newest set: the deployment's, the revision and those before it, its scale."""
        keys = self._keys
        notes = dict(current)
        notes.update({k: v for k, v in annotations_of(self.deployment).items() if k not in keys.own})
        before = notes.get(keys.revision)
        if (sizing.number(before) or 0) < int(revision):
            notes[keys.revision] = revision
            if exists and before:
                past = [p for p in notes.get(keys.history, "").split(",") if p]
                while past and len(",".join([*past, before])) > _HISTORY:
                    past.pop(0)
                notes[keys.history] = ",".join([*past, before])
        if not exists:
            notes.update(self._scale_notes())
        return notes

    def _scale_notes(self) -> dict[str, str]:
        size = desired_replicas(self.deployment)
        return {self._keys.desired: str(size), self._keys.most: str(size + sizing.max_surge(self.deployment))}

    async def _create(self, revision: str) -> bool:
        deployment = self.deployment
        template = spec(deployment)["template"]
        hashed = template_hash(template, status(deployment).get("collisionCount"))
        metadata = fields.metadata(template)
        tags = {**(metadata.get("labels") or {}), HASH_LABEL: hashed}
        selector = spec(deployment).get("selector") or {}
        fresh: Object = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name(deployment)}-{hashed}",
                "namespace": namespace(deployment),
                "labels": tags,
                "ownerReferences": [owner_reference(deployment, "apps/v1", "Deployment")],
                "annotations": self._notes({}, revision, exists=False),
            },
            "spec": {
                "replicas": sizing.new_size(deployment, self.old, 0),
                "minReadySeconds": spec(deployment).get("minReadySeconds") or 0,
                "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hashed}},
                "template": {**template, "metadata": {**metadata, "labels": tags}},
            },
        }
        existed = False
        try:
            self.newest = await self._client.create(REPLICA_SETS, namespace(deployment), fresh)
        except ApiError as error:
            if terminating_namespace(error):
                return False
            if error.reason != "AlreadyExists":
                await self._report_create_failure(name(fresh), error)
                raise
            self.newest = await self._collide(name(fresh), error)
            existed = True
        if not existed and desired_replicas(fresh):
            self._record_scaling(self.newest, 0, desired_replicas(fresh))
        await self._mark_revision(
            revision, "NewReplicaSetCreated", f'Created new replica set "{name(self.newest)}"', replace=not existed
        )
        return True

    async def _collide(self, set_name: str, error: ApiError) -> Object:
        """Handle a name conflict: use our own set that the informer does not show yet, or count a collision."""
        deployment = self.deployment
        replica_set: Object = await self._client.get(REPLICA_SETS, namespace(deployment), set_name)
        above = owner(replica_set)
        if above is not None and above.get("uid") == uid(deployment) and same_template(replica_set, deployment):
            return replica_set
        collisions = int(status(deployment).get("collisionCount") or 0) + 1
        changed = {**status(deployment), "collisionCount": collisions}
        await self._update_status({**deployment, "status": changed})
        raise error

    async def _report_create_failure(self, set_name: str, error: ApiError) -> None:
        message = f'Failed to create new replica set "{set_name}": {error.message}'
        self._record(self.deployment, WARNING, "ReplicaSetCreateError", message)
        if not sizing.has_deadline(self.deployment):
            return
        fresh = conditions.make("Progressing", "False", "ReplicaSetCreateError", message, self._now())
        current_conditions = fields.conditions(self.deployment)
        changed = {**status(self.deployment), "conditions": conditions.with_(current_conditions, fresh)}
        await self._update_status({**self.deployment, "status": changed})

    # -- sizes

    async def _update_set(self, changed: Object) -> Object:
        updated: Object = await self._client.update(REPLICA_SETS, namespace(changed), name(changed), changed)
        return updated

    async def scale(self, each: Object, size: int) -> bool:
        """Set size and scale annotations of a set. True if its size changed."""
        notes = {**annotations_of(each), **self._scale_notes()}
        resized = desired_replicas(each) != size
        if not resized and notes == annotations_of(each):
            return False
        changed = with_metadata(each, annotations=notes)
        updated = await self._update_set(with_spec(changed, replicas=size))
        if each is self.newest:
            self.newest = updated
        else:
            self.old = [updated if one is each else one for one in self.old]
        if resized:
            self._record_scaling(each, desired_replicas(each), size)
        return resized

    def _record_scaling(self, each: Object, before: int, size: int) -> None:
        direction = "up" if size > before else "down"
        note = self._env.release.choose(_SCALING_NOTES)
        note = note.format(direction=direction, called=name(each), before=before, size=size)
        self._record(self.deployment, NORMAL, "ScalingReplicaSet", note)

    def scaling(self) -> bool:
        """True if the deployment was scaled after its replica sets were last updated."""
        for each in alive(self.every):
            desired = sizing.number(annotations_of(each).get(self._keys.desired))
            if desired is not None and desired != desired_replicas(self.deployment):
                return True
        return False

    async def rescale(self) -> None:
        """Apply a change of scale: to the single active set, or in proportion to several."""
        deployment = self.deployment
        live = alive(self.every)
        if len(live) <= 1:
            one = live[0] if live else self.newest
            if one is None and self.old:
                one = by_age(self.old)[-1]
            if one is not None:
                await self.scale(one, desired_replicas(deployment))
            return
        if self._saturated():
            for each in alive(self.old):
                await self.scale(each, 0)
        elif sizing.rolling(deployment):
            for each, size in sizing.proportions(deployment, live, max_annotation=self._keys.most):
                await self.scale(each, size)

    def _saturated(self) -> bool:
        size = desired_replicas(self.deployment)
        newest = self.newest
        if newest is None or sizing.number(annotations_of(newest).get(self._keys.desired)) != size:
            return False
        return desired_replicas(newest) == size and count(newest, "availableReplicas") == size

    async def roll(self) -> None:
        """One step of a rolling update: scale the new set up, or old ones down."""
        assert self.newest is not None
        size = desired_replicas(self.deployment)
        if desired_replicas(self.newest) > size:
            moved = await self.scale(self.newest, size)
        else:
            moved = await self.scale(self.newest, sizing.new_size(self.deployment, self.every, self.newest))
        if not moved and total(self.old):
            await self._shrink_old()

    async def _shrink_old(self) -> None:
        assert self.newest is not None
        least = desired_replicas(self.deployment) - sizing.max_unavailable(self.deployment)
        unavailable = desired_replicas(self.newest) - count(self.newest, "availableReplicas")
        most = total(self.every) - least - unavailable
        if most <= 0:
            return
        # Unhealthy pods first.
        gone = 0
        for each in by_age(self.old):
            broken = desired_replicas(each) - count(each, "availableReplicas")
            fewer = max(0, min(most - gone, broken))
            if fewer:
                await self.scale(each, desired_replicas(each) - fewer)
                gone += fewer
        spare = sizing.total_status(self.every, "availableReplicas") - least
        for each in by_age(self.old):
            fewer = min(desired_replicas(each), max(0, spare))
            if fewer:
                await self.scale(each, desired_replicas(each) - fewer)
                spare -= fewer

    async def stop_old(self) -> bool:
        """Scale all old sets to 0 (Recreate). True if any was scaled."""
        moved = False
        for each in alive(self.old):
            moved = await self.scale(each, 0) or moved
        return moved

    async def clean_up(self) -> None:
        """Delete old sets beyond the history limit, lowest revisions first."""
        limit = spec(self.deployment).get("revisionHistoryLimit")
        if limit is None or limit == sizing.NO_LIMIT:
            return
        cleanable = [each for each in self.old if not deleting(each)]
        cleanable.sort(key=lambda s: sizing.number(annotations_of(s).get(self._keys.revision)) or 0)
        for each in cleanable[: max(0, len(cleanable) - int(limit))]:
            seen = count(each, "observedGeneration") >= fields.generation(each)
            if count(each, "replicas") or desired_replicas(each) or not seen:
                continue
            with ignore_missing():
                await self._client.delete(REPLICA_SETS, namespace(each), name(each))

    # -- status

    def status(self) -> dict[str, Any]:
        """The status computed from the replica sets."""
        deployment = self.deployment
        available = sizing.total_status(self.every, "availableReplicas")
        numbers = {
            "observedGeneration": fields.generation(deployment),
            "replicas": sizing.total_status(self.every, "replicas"),
            "updatedReplicas": sizing.total_status([self.newest], "replicas"),
            "readyReplicas": sizing.total_status(self.every, "readyReplicas"),
            "availableReplicas": available,
            "unavailableReplicas": max(0, total(self.every) - available),
        }
        fresh: dict[str, Any] = {k: v for k, v in numbers.items() if v}
        terminating = sizing.total_terminating(self.every)
        if terminating is not None and self._env.feature("DeploymentReplicaSetTerminatingReplicas"):
            fresh["terminatingReplicas"] = terminating
        if status(deployment).get("collisionCount"):
            fresh["collisionCount"] = status(deployment)["collisionCount"]
        if available >= desired_replicas(deployment) - sizing.max_unavailable(deployment):
            state = "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
        else:
            state = "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
        condition = conditions.make("Available", *state, self._now())
        fresh["conditions"] = conditions.with_(fields.conditions(deployment), condition)
        return fresh

    async def write_status(self) -> None:
        """Write the status if it changed."""
        await self._write(self.status())

    async def write_progress(self) -> float | None:
        """Write the status with the Progressing condition. Returns seconds until the progress deadline."""
        fresh = self.status()
        deployment = self.deployment
        current = find_condition(status(deployment), "Progressing")
        if not sizing.has_deadline(deployment):
            fresh["conditions"] = conditions.without(fresh["conditions"], "Progressing")
        elif not (
            fresh.get("replicas") == fresh.get("updatedReplicas")
            and current is not None
            and current.get("reason") == "NewReplicaSetAvailable"
        ):
            fresh["conditions"] = self._progress(fresh, current)
        failure = self._replica_failure()
        fresh["conditions"] = (
            conditions.without(fresh["conditions"], "ReplicaFailure")
            if failure is None
            else conditions.with_(fresh["conditions"], failure)
        )
        await self._write(fresh)
        return self._until_deadline(fresh)

    def _progress(self, fresh: dict[str, Any], current: Mapping[str, Any] | None) -> conditions.Conditions:
        conditions_: conditions.Conditions = fresh["conditions"]
        who = self.failed_message

        def progressing_condition(value: str, reason: str, message: str) -> dict[str, Any]:
            return conditions.make("Progressing", value, reason, message, self._now())

        if sizing.complete(self.deployment, fresh):
            return conditions.with_(
                conditions_,
                progressing_condition("True", "NewReplicaSetAvailable", f"{who} has successfully progressed."),
            )
        if sizing.progressing(self.deployment, fresh):
            news = progressing_condition("True", "ReplicaSetUpdated", f"{who} is progressing.")
            if current is None:
                return conditions.with_(conditions_, news)
            if current.get("status") == "True":
                news["lastTransitionTime"] = current.get("lastTransitionTime")
            # Progress restarts the deadline.
            return [*conditions.without(conditions_, "Progressing"), news]
        if self._timed_out(current):
            return conditions.with_(
                conditions_,
                progressing_condition("False", "ProgressDeadlineExceeded", f"{who} has timed out progressing."),
            )
        return conditions_

    def _timed_out(self, current: Mapping[str, Any] | None) -> bool:
        if current is None or current.get("reason") == "NewReplicaSetAvailable":
            return False
        since = seconds_of(current.get("lastUpdateTime")) or 0.0
        return bool(since + int(spec(self.deployment)["progressDeadlineSeconds"]) < self._now())

    def _until_deadline(self, fresh: dict[str, Any]) -> float | None:
        current = find_condition(fresh, "Progressing")
        if current is None or not sizing.has_deadline(self.deployment) or sizing.complete(self.deployment, fresh):
            return None
        if current.get("reason") in ("ProgressDeadlineExceeded", "NewReplicaSetAvailable"):
            return None
        since = seconds_of(current.get("lastUpdateTime")) or 0.0
        left = since + int(spec(self.deployment)["progressDeadlineSeconds"]) - self._now()
        return max(left, 0.0) + 1.0

    def _replica_failure(self) -> dict[str, Any] | None:
        ordered = [self.newest, *self.old] if self.newest is not None else self.old
        for each in ordered:
            failure = find_condition(status(each), "ReplicaFailure")
            if failure is not None and failure.get("status") == "True":
                return {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "lastUpdateTime": failure.get("lastTransitionTime"),
                    "lastTransitionTime": failure.get("lastTransitionTime"),
                    "reason": failure.get("reason", ""),
                    "message": failure.get("message", ""),
                }
        return None

    async def note_pause(self) -> None:
        """Stop the deadline while the deployment is paused, and start it again afterwards."""
        deployment = self.deployment
        if not sizing.has_deadline(deployment):
            return
        current_conditions = fields.conditions(deployment)
        current = find_in(current_conditions, "Progressing")
        if current is not None and current.get("reason") == "ProgressDeadlineExceeded":
            return
        recorded = current is not None and current.get("reason") == "DeploymentPaused"
        paused = bool(spec(deployment).get("paused"))
        if paused == recorded:
            return
        reason, message = (
            ("DeploymentPaused", "Deployment is paused") if paused else ("DeploymentResumed", "Deployment is resumed")
        )
        fresh = conditions.make("Progressing", "Unknown", reason, message, self._now())
        changed = {**status(deployment), "conditions": conditions.with_(current_conditions, fresh)}
        await self._update_status({**deployment, "status": changed})

    async def _write(self, fresh: dict[str, Any]) -> None:
        if fresh != status(self.deployment):
            await self._update_status({**self.deployment, "status": fresh})

    async def _update_status(self, changed: Object) -> None:
        self.deployment = await self._client.update(
            DEPLOYMENTS, namespace(changed), name(changed), changed, subresource="status"
        )
