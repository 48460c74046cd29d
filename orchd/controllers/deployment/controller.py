"""The deployment controller: event handlers and the reconcile."""

from __future__ import annotations

from orchd.client.informers import key_of
from orchd.controllers.adoption import Parent, claim, controlled_by
from orchd.controllers.base import Controller, Key
from orchd.controllers.deployment import sizing
from orchd.controllers.deployment.rollout import Keys, Rollout
from orchd.controllers.event_objects import WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import BY_CONTROLLER, DEPLOYMENTS, PODS, REPLICA_SETS, index_by_controller
from orchd.controllers.pods import is_finished
from orchd.controllers.selection import index_by_selector, list_selecting
from orchd.errors import ApiError
from orchd.kinds.fields import deleting, generation, labels, mapping, namespace, owner, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector


class DeploymentController(Controller):
    """Reads pods only for the strategy Recreate, which waits for the end of old pods."""

    name = "deployment"
    account = "deployment-controller"
    subject = ("apps/v1", "Deployment")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_deployment_syncs)
        self._keys = Keys(env.dialect)
        self._deployments = self.follow(DEPLOYMENTS, primary=True)
        self._sets = self.follow(REPLICA_SETS, self._set_changed)
        self._pods = self.follow(PODS, self._pod_changed)
        index_by_selector(self._deployments, self._selector)
        index_by_controller(self._sets)
        index_by_controller(self._pods)

    def _set_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        before, after = (None if each is None else owner(each) for each in (old, new))
        for each, reference in ((old, before), (new, after)):
            if each is not None and reference is not None and reference.get("kind") == "Deployment":
                self.queue.add((namespace(each), str(reference["name"])))
        if new is None or after is not None or deleting(new):
            return
        if old is None or before is not None or labels(old) != labels(new):
            for deployment in list_selecting(self._deployments, self._selector, new):
                self.queue.add(key_of(deployment))

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Queue a Recreate deployment after its last old pod was deleted."""
        if new is not None or old is None:
            return
        above = owner(old)
        if above is None or above.get("kind") != "ReplicaSet":
            return
        each = self._sets.get(namespace(old), str(above["name"]))
        top = None if each is None else owner(each)
        if top is None or top.get("kind") != "Deployment":
            return
        deployment = self._deployments.get(namespace(old), str(top["name"]))
        if deployment is not None and not sizing.rolling(deployment):
            self.queue.add(key_of(deployment))

    @staticmethod
    def _selector(deployment: Object) -> LabelSelector:
        return LabelSelector.from_object(mapping(spec(deployment), "selector"))

    async def reconcile(self, key: Key) -> float | None:
        deployment = self._deployments.get(*key)
        if deployment is None:
            return None
        if not spec(deployment).get("selector"):
            return await self._refuse(deployment)
        parent = Parent(deployment, DEPLOYMENTS, self.subject, self._selector(deployment))
        sets = await claim(self.client, parent, REPLICA_SETS, controlled_by(self._sets))
        rollout = Rollout(self.client, self._keys, deployment, sets, record=self.record, env=self.env)
        try:
            return await self._roll_out(rollout)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    async def _refuse(self, deployment: Object) -> float | None:
        """Record a warning Event for a selector that matches everything; such a deployment is not reconciled."""
        self.record(
            deployment,
            WARNING,
            "SelectingAll",
            "This deployment is selecting all pods. A non-empty selector is required.",
        )
        if sizing.count(deployment, "observedGeneration") < generation(deployment):
            fresh = {**status(deployment), "observedGeneration": generation(deployment)}
            await self.write_status(DEPLOYMENTS, deployment, fresh)
        return None

    async def _roll_out(self, rollout: Rollout) -> float | None:
        if deleting(rollout.deployment):
            await rollout.write_status()
            return None
        await rollout.note_pause()
        paused = bool(spec(rollout.deployment).get("paused"))
        if paused or rollout.scaling():
            await rollout.ensure_newest(create=False)
            await rollout.rescale()
            if paused:
                await rollout.clean_up()
            await rollout.write_status()
            return None
        if sizing.rolling(rollout.deployment):
            if not await rollout.ensure_newest(create=True):
                return None
            await rollout.roll()
        elif not await self._recreate(rollout):
            return await rollout.write_progress()
        if sizing.complete(rollout.deployment, status(rollout.deployment)):
            await rollout.clean_up()
        return await rollout.write_progress()

    async def _recreate(self, rollout: Rollout) -> bool:
        """Run the strategy Recreate. False while old pods still exist."""
        await rollout.ensure_newest(create=False)
        if await rollout.stop_old() or self._old_pods_run(rollout):
            return False
        if await rollout.ensure_newest(create=True):
            assert rollout.newest is not None
            await rollout.scale(rollout.newest, sizing.desired_replicas(rollout.deployment))
        return True

    def _old_pods_run(self, rollout: Rollout) -> bool:
        for each in rollout.old:
            for pod in self._pods.by_index(BY_CONTROLLER, uid(each)):
                if not is_finished(pod):
                    return True
        return False
