"""The stateful set controller: creates, replaces and deletes pods in order, one at a time unless podManagementPolicy is
Parallel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from orchd.controllers import revisions
from orchd.controllers.adoption import claim
from orchd.controllers.base import Key
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import BY_CONTROLLER, CLAIMS, PODS, REVISIONS, STATEFUL_SETS, index_by_controller
from orchd.controllers.pods import is_available, is_ready
from orchd.controllers.statefulset import ordinals, retention
from orchd.controllers.statefulset.ordinals import REVISION_LABEL
from orchd.controllers.workload import PodViewController
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.fields import deleting, labels, mapping, name, namespace, spec, status, uid
from orchd.kinds.jsonvalues import Object

#: Maximum number of pods created per pass over a set without order.
_BURST: Final = 500


def _running_and_ready(pod: Object) -> bool:
    return status(pod).get("phase") == "Running" and is_ready(pod)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What differs between releases: the phases after which a pod is replaced, and whether an Event announces that;
    whether a pod counts only after its minimum time; whether lost claims of a pending pod are made again; whether pods
    are labeled with their number; and the owners of claims."""

    replaced: tuple[str, ...]
    announces: bool
    waits_for_available: bool
    restores_claims: bool
    labels_index: bool
    owners: Callable[[Object, Object, Object, int], list[Any] | None]


_RULES: Final = (
    (
        "",
        _Rules(
            replaced=("Failed",),
            announces=True,
            waits_for_available=False,
            restores_claims=False,
            labels_index=False,
            owners=retention.plain_owners,
        ),
    ),
    (
        "1.28",
        _Rules(
            replaced=("Failed", "Succeeded"),
            announces=False,
            waits_for_available=True,
            restores_claims=True,
            labels_index=True,
            owners=retention.controlling_owners,
        ),
    ),
)


#: How Events write the verb that they begin with, by release.
_VERBS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (("", str.lower), ("1.35", str.capitalize))


class StatefulSetController(PodViewController):
    """No expectations are needed: pods have fixed names, so a repeated creation fails with 409."""

    name = "statefulset"
    account = "statefulset-controller"
    ref = STATEFUL_SETS
    subject = ("apps/v1", "StatefulSet")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_statefulset_syncs)
        self._rules = env.release.choose(_RULES)
        self._verb = env.release.choose(_VERBS)
        self._index_label = ordinals.index_label(env.dialect)
        self._claims = self.follow(CLAIMS) if env.feature("StatefulSetAutoDeletePVC") else None
        self._hash_label = env.dialect("controller.{long}.io/hash")
        self._pod_name_label = ordinals.pod_name_label(env.dialect)
        self._revisions = self.follow(REVISIONS)
        index_by_controller(self._revisions)

    def _tags(self, called: str, number: int) -> dict[str, str]:
        """The labels that say a pod's name and number."""
        tags = {self._pod_name_label: called}
        return {**tags, self._index_label: str(number)} if self._rules.labels_index else tags

    def adopts(self, each: Object, pod: Object) -> bool:
        return ordinals.ordinal(each, pod) is not None

    async def reconcile(self, key: Key) -> float | None:
        parent = self._owners.get(*key)
        if parent is None:
            return None
        pods = await claim(
            self.client,
            self.as_parent(parent),
            PODS,
            self._views.controlled,
            fits=lambda pod: ordinals.ordinal(parent, pod) is not None,
        )
        history = list(self._revisions.by_index(BY_CONTROLLER, uid(parent)))
        update, collisions = await revisions.newest(
            self.client, parent, "apps/v1", "StatefulSet", history, self._hash_label
        )
        current = next((r for r in history if name(r) == status(parent).get("currentRevision")), update)
        numbered = {n: p for p in pods if (n := ordinals.ordinal(parent, p)) is not None}
        problem: ApiError | None = None
        if not deleting(parent):
            try:
                await self._step(parent, numbered, current, update)
            except ApiError as error:
                if not terminating_namespace(error):
                    problem = error
        await self._write_status(parent, list(numbered.values()), current, update, collisions)
        if problem is not None:
            raise problem
        live = {name(current), name(update), *(labels(p).get(REVISION_LABEL, "") for p in numbered.values())}
        await revisions.truncate(self.client, parent, history, live)
        least = self._min_ready_seconds(parent)
        waiting = any(is_ready(p) and not self._available(parent, p) for p in numbered.values())
        return float(least) if least and waiting else None

    def _available(self, parent: Object, pod: Object) -> bool:
        return _running_and_ready(pod) and is_available(pod, self._min_ready_seconds(parent), self.env.wall())

    def _min_ready_seconds(self, parent: Object) -> int:
        return int(spec(parent).get("minReadySeconds") or 0) if self.env.feature("StatefulSetMinReadySeconds") else 0

    async def _step(self, parent: Object, numbered: dict[int, Object], current: Object, update: Object) -> None:
        """Create missing pods, delete surplus ones and replace outdated ones; with an order, one change per pass. A
        pass creates at most `_BURST` pods; their events trigger the next pass."""
        ordered = spec(parent).get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        numbers = ordinals.ordinals(parent)
        strategy = mapping(spec(parent), "updateStrategy")
        partition = numbers.start + int(mapping(strategy, "rollingUpdate").get("partition") or 0)
        rolling = strategy.get("type", "RollingUpdate") == "RollingUpdate"
        created = 0
        for number in numbers:
            pod = numbered.get(number)
            if pod is not None and status(pod).get("phase") in self._rules.replaced and not deleting(pod):
                if self._rules.announces:
                    note = f"StatefulSet {namespace(parent)}/{name(parent)} is recreating failed Pod {name(pod)}"
                    self.record(parent, WARNING, "RecreatingFailedPod", note)
                await self._delete(parent, pod)
                if ordered or self._rules.announces:
                    return
            elif pod is None:
                if await self._waits_for_claims(parent, number):
                    return
                await self._create(parent, current if rolling and number < partition else update, number)
                created += 1
                if ordered or created == _BURST:
                    return
            else:
                if self._rules.restores_claims and status(pod).get("phase") == "Pending":
                    for claim in ordinals.claims(parent, number):
                        await self._ensure_claim(parent, pod, claim)
                if ordered and (deleting(pod) or not self._available(parent, pod)):
                    return
                if labels(pod).get(self._pod_name_label) != name(pod):
                    await self._identify(parent, pod)
                if await self._set_claim_owners(parent, pod, number):
                    self._record_outcome(parent, "update", pod)
        condemned = sorted((n for n in numbered if n not in numbers), reverse=True)
        for number in condemned:
            await self._set_claim_owners(parent, numbered[number], number)
        unhealthy = [
            n for n in (*numbers, *reversed(condemned)) if n in numbered and not self._healthy(parent, numbered[n])
        ]
        for number in condemned:
            pod = numbered[number]
            if deleting(pod):
                if ordered:
                    return
                continue
            if ordered and not self._healthy(parent, pod) and number != unhealthy[0]:
                return
            await self._delete(parent, pod)
            if ordered:
                return
        if rolling:
            await self._replace(parent, numbered, range(numbers.stop - 1, partition - 1, -1), name(update))

    async def _replace(self, parent: Object, numbered: dict[int, Object], numbers: range, revision: str) -> None:
        """Delete the last pod of another revision, provided that all later pods are healthy."""
        for number in numbers:
            pod = numbered.get(number)
            if pod is None:
                return
            if labels(pod).get(REVISION_LABEL) != revision and not deleting(pod):
                await self._delete(parent, pod)
                return
            if not self._healthy(parent, pod):
                return

    def _healthy(self, parent: Object, pod: Object) -> bool:
        """True if other pods may follow: the pod is ready, or from some release on has been for the minimum time."""
        ready = self._available(parent, pod) if self._rules.waits_for_available else _running_and_ready(pod)
        return ready and not deleting(pod)

    async def _create(self, parent: Object, revision: Object, number: int) -> None:
        called = f"{name(parent)}-{number}"
        pod = ordinals.pod(parent, revisions.template_of(revision), name(revision), number, self._tags(called, number))
        try:
            for claim in ordinals.claims(parent, number):
                await self._ensure_claim(parent, pod, claim)
            created: Object = await self.client.create(PODS, namespace(parent), pod)
            await self._set_claim_owners(parent, created, number, live=True)
        except ApiError as error:
            # The informer has not delivered the pod yet; its event will queue the set again.
            if error.reason != "AlreadyExists":
                self._record_outcome(parent, "create", pod, error)
                raise
        else:
            self._record_outcome(parent, "create", pod)

    async def _ensure_claim(self, parent: Object, pod: Object, claim: Object) -> None:
        if await self.live(CLAIMS, namespace(parent), name(claim)) is not None:
            return
        try:
            await self.client.create(CLAIMS, namespace(parent), claim)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return
            note = (
                f"{self._verb('create')} Claim {name(claim)} for Pod {name(pod)} in StatefulSet "
                f"{name(parent)} failed error: {error.message}"
            )
            self.record(parent, WARNING, "FailedCreate", note)
            raise
        note = f"{self._verb('create')} Claim {name(claim)} Pod {name(pod)} in StatefulSet {name(parent)} success"
        self.record(parent, NORMAL, "SuccessfulCreate", note)

    async def _waits_for_claims(self, parent: Object, number: int) -> bool:
        """True while a claim of the pod of a number belongs to a former pod."""
        if not self._retains_by_policy(parent):
            return False
        pod = f"{name(parent)}-{number}"
        claims = [await self.live(CLAIMS, namespace(parent), name(each)) for each in ordinals.claims(parent, number)]
        return any(each is not None and retention.is_stale(each, pod) for each in claims)

    def _retains_by_policy(self, parent: Object) -> bool:
        return bool(spec(parent).get("persistentVolumeClaimRetentionPolicy")) and self.env.feature(
            "StatefulSetAutoDeletePVC"
        )

    async def _set_claim_owners(self, parent: Object, pod: Object, number: int, *, live: bool = False) -> bool:
        """Make the set or a pod that is scaled down the owner of the pod's claims, as the retention policy says. Claims
        are read from the informer unless `live`. True if a claim changed."""
        changed = False
        if not self._retains_by_policy(parent) or self._claims is None:
            return changed
        for each in ordinals.claims(parent, number):
            key = (namespace(parent), name(each))
            claim = await self.live(CLAIMS, *key) if live else self._claims.get(*key)
            owners = None if claim is None else self._rules.owners(claim, parent, pod, number)
            if claim is not None and owners is not None:
                metadata = {**claim["metadata"], "ownerReferences": owners}
                await self.client.update(
                    CLAIMS, namespace(parent), name(claim), {**claim, "metadata": metadata}, need_response=False
                )
                changed = True
        return changed

    async def _identify(self, parent: Object, pod: Object) -> None:
        """Set the labels of an adopted pod that say its name and number."""
        whole = self._pods.get(namespace(pod), name(pod))
        if whole is None or uid(whole) != uid(pod):
            return
        number = ordinals.ordinal(parent, pod)
        tags = {**labels(whole), **self._tags(name(pod), -1 if number is None else number)}
        metadata = {**whole["metadata"], "labels": tags}
        try:
            await self.client.update(
                PODS, namespace(pod), name(pod), {**whole, "metadata": metadata}, need_response=False
            )
        except ApiError as error:
            self._record_outcome(parent, "update", pod, error)
            raise
        self._record_outcome(parent, "update", pod)

    async def _delete(self, parent: Object, pod: Object) -> None:
        try:
            await self.remove(PODS, namespace(pod), name(pod), uid=uid(pod))
        except ApiError as error:
            self._record_outcome(parent, "delete", pod, error)
            raise
        self._record_outcome(parent, "delete", pod)

    def _record_outcome(self, parent: Object, verb: str, pod: Object, error: ApiError | None = None) -> None:
        what = f"{self._verb(verb)} Pod {name(pod)} in StatefulSet {name(parent)}"
        if error is None:
            self.record(parent, NORMAL, f"Successful{verb.capitalize()}", f"{what} successful")
        else:
            self.record(parent, WARNING, f"Failed{verb.capitalize()}", f"{what} failed error: {error.message}")

    async def _write_status(
        self, parent: Object, pods: list[Object], current: Object, update: Object, collisions: int
    ) -> None:
        def of(revision: Object) -> int:
            return sum(1 for p in pods if not deleting(p) and labels(p).get(REVISION_LABEL) == name(revision))

        size = int(spec(parent).get("replicas", 1))
        ready = sum(1 for p in pods if _running_and_ready(p))
        current_count, updated = of(current), of(update)
        rolling = mapping(spec(parent), "updateStrategy").get("type", "RollingUpdate") == "RollingUpdate"
        if rolling and updated == len(pods) == ready and len(pods) == size:
            current, current_count = update, updated
        fresh: dict[str, Any] = {
            "observedGeneration": fields.generation(parent),
            "replicas": len(pods),
            "availableReplicas": sum(1 for p in pods if self._available(parent, p)),
            "currentRevision": name(current),
            "updateRevision": name(update),
            "collisionCount": collisions,
        }
        fresh.update(
            {
                k: v
                for k, v in (("readyReplicas", ready), ("currentReplicas", current_count), ("updatedReplicas", updated))
                if v
            }
        )
        await self.write_status(STATEFUL_SETS, parent, fresh)
