"""The horizontal pod autoscaler controller: reconciles each autoscaler once per sync period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.autoscaling.evaluation import EvaluationError, Evaluator, Proposal, Target
from orchd.controllers.autoscaling.metrics import MetricsClient, milli
from orchd.controllers.autoscaling.normalization import Bounds, History, normalize
from orchd.controllers.autoscaling.observations import AutoscalerMetrics
from orchd.controllers.autoscaling.replicas import Tuning
from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import PODS
from orchd.errors import ApiError
from orchd.kinds.catalog import split_group_version
from orchd.kinds.conditions import with_condition
from orchd.kinds.fields import labels, mapping, namespace, spec, status, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.times import timestamp

AUTOSCALERS: Final = ResourceRef("autoscaling", "v2", "horizontalpodautoscalers")
_ABLE, _ACTIVE, _LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"


class _StoppedError(Exception):
    """An autoscaler cannot be evaluated now; its status has the reason."""


class _Draft:
    """Builder of an autoscaler's status."""

    def __init__(self, autoscaler: Object, now: float) -> None:
        self._before = status(autoscaler)
        self._now = now
        self.conditions = [dict(each) for each in self._before.get("conditions") or ()]
        #: By how much the number of replicas was changed, and whether it could not be determined or changed.
        self.change, self.failed = 0, False

    def set(self, type_: str, value: bool, reason: str, message: str) -> None:
        """Set a condition; its transition time changes with its status only."""
        text = "True" if value else "False"
        fresh = {
            "type": type_,
            "status": text,
            "reason": reason,
            "message": message,
            "lastTransitionTime": timestamp(self._now),
        }
        self.conditions = with_condition(self.conditions, fresh)

    def finish(
        self, current: int, desired: int, metrics: list[dict[str, Any]] | None, rescaled: bool
    ) -> dict[str, Any]:
        """The whole status."""
        fresh: dict[str, Any] = {"desiredReplicas": desired, "conditions": self.conditions}
        if current:
            fresh["currentReplicas"] = current
        if metrics is not None and [m for m in metrics if m]:
            fresh["currentMetrics"] = [m or {"type": ""} for m in metrics]
        scaled_at = timestamp(self._now) if rescaled else self._before.get("lastScaleTime")
        if scaled_at:
            fresh["lastScaleTime"] = scaled_at
        return fresh


@dataclass(frozen=True, slots=True)
class _TargetScale:
    """The Scale of an autoscaler's target, a resource of `ref`."""

    ref: ResourceRef
    obj: Object

    @property
    def replicas(self) -> int:
        return int(spec(self.obj).get("replicas") or 0)


class HorizontalPodAutoscalerController(Controller):
    name = "horizontalpodautoscaling"
    account = "horizontal-pod-autoscaler"
    component = "horizontal-pod-autoscaler"
    subject = ("autoscaling/v2", "HorizontalPodAutoscaler")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        self._autoscalers = self.follow(AUTOSCALERS, self._changed, primary=True)
        self._pods = self.follow(PODS)
        #: True if the status shows metrics of which none is available.
        self._shows_unavailable = env.release.includes("1.29")
        self._evaluator = Evaluator(MetricsClient(self.client, env.dialect, env.catalog), env.release)
        self._histories: dict[Key, History] = {}
        self._metrics = AutoscalerMetrics(env.release, self._desired)
        self.instruments = self._metrics.instruments

    def _desired(self) -> dict[tuple[str, ...], float]:
        """Desired replicas by namespace and name."""
        return {key_of(each): float(status(each).get("desiredReplicas") or 0) for each in self._autoscalers.list()}

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._histories.pop(key_of(old), None)
        elif new is not None and (old is None or spec(old) != spec(new)):
            self.queue.add(key_of(new))

    async def reconcile(self, key: Key) -> float | None:
        autoscaler = self._autoscalers.get(*key)
        if autoscaler is None:
            self._histories.pop(key, None)
            return None
        draft = _Draft(autoscaler, self.env.wall())
        began = self.env.clock.seconds()
        try:
            fresh = await self._evaluate(key, autoscaler, draft)
        except _StoppedError:
            draft.failed = True
            before = status(autoscaler)
            fresh = draft.finish(
                int(before.get("currentReplicas") or 0),
                int(before.get("desiredReplicas") or 0),
                before.get("currentMetrics"),
                False,
            )
            if "observedGeneration" in before:
                fresh["observedGeneration"] = before["observedGeneration"]
        self._metrics.reconciled(draft.change, self.env.clock.seconds() - began, failed=draft.failed)
        await self.write_status(AUTOSCALERS, autoscaler, fresh)
        return float(self.env.settings.horizontal_pod_autoscaler_sync_period)

    # -- one look

    async def _evaluate(self, key: Key, autoscaler: Object, draft: _Draft) -> dict[str, Any]:
        scale = await self._scale(autoscaler, draft)
        current = scale.replicas
        bounds = Bounds(int(spec(autoscaler).get("minReplicas", 1)), int(spec(autoscaler).get("maxReplicas") or 0))
        history = self._histories.setdefault(key, History())
        if not history.recommendations:
            history.recommendations.append((self.env.clock.seconds(), current))
        if current == 0 and bounds.least != 0:
            draft.set(
                _ACTIVE, False, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero"
            )
            return draft.finish(current, 0, None, False)
        metrics: list[dict[str, Any]] | None = None
        if current > bounds.most:
            desired, why = bounds.most, "Current number of replicas above Spec.MaxReplicas"
        elif current < bounds.least:
            desired, why = bounds.least, "Current number of replicas below Spec.MinReplicas"
        else:
            proposal, metrics = await self._propose(autoscaler, scale.obj, draft)
            if proposal is None:
                draft.failed = True
                before = status(autoscaler)
                if not self._shows_unavailable:
                    metrics = before.get("currentMetrics")
                return draft.finish(current, int(before.get("desiredReplicas") or 0), metrics, False)
            why = f"{proposal.metric} above target" if proposal.size > current else "All metrics below target"
            desired = self._normalize(history, autoscaler, draft, current, proposal.size, bounds)
        if desired == current:
            return draft.finish(current, current, metrics, False)
        return await self._rescale(autoscaler, draft, scale, desired, why, history, metrics)

    async def _scale(self, autoscaler: Object, draft: _Draft) -> _TargetScale:
        """The Scale of the target. Raises _StoppedError."""
        target = mapping(spec(autoscaler), "scaleTargetRef")
        # The version does not matter: the Scale is the same in each.
        version, kind = str(target.get("apiVersion") or ""), str(target.get("kind", ""))
        group = split_group_version(version)[0]
        resource = self.env.catalog().kind_of_group(group, kind)
        try:
            if version.count("/") > 1:
                raise ApiError(400, "BadRequest", f"unexpected GroupVersion string: {version}")
            if resource is None:
                raise ApiError(404, "NotFound", f'no matches for kind "{kind}" in group "{group}"')
            ref = ResourceRef(resource.group, resource.version, resource.plural)
            scale = await self.client.get(ref, namespace(autoscaler), str(target.get("name", "")), subresource="scale")
        except ApiError as error:
            self.record(autoscaler, WARNING, "FailedGetScale", error.message)
            note = f"the HPA controller was unable to get the target's current scale: {error.message}"
            draft.set(_ABLE, False, "FailedGetScale", note)
            raise _StoppedError from error
        draft.set(_ABLE, True, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
        return _TargetScale(ref, scale)

    async def _propose(
        self, autoscaler: Object, scale: Object, draft: _Draft
    ) -> tuple[Proposal | None, list[dict[str, Any]]]:
        """The largest size that any metric requests; None if an unavailable metric might request more."""
        target = self._target(autoscaler, scale, draft)
        if target is None:
            return None, []
        settings = self.env.settings
        tuning = Tuning(
            now=self.env.wall(),
            shrinking=self._tolerance(autoscaler, "scaleDown"),
            growing=self._tolerance(autoscaler, "scaleUp"),
            sums=self.env.release.includes("1.33"),
            cpu_initialization=settings.horizontal_pod_autoscaler_cpu_initialization_period,
            initial_readiness=settings.horizontal_pod_autoscaler_initial_readiness_delay,
        )
        best: Proposal | None = None
        statuses: list[dict[str, Any]] = []
        errors: list[EvaluationError] = []
        metrics = spec(autoscaler).get("metrics") or ()
        for metric in metrics:
            began, failed, change = self.env.clock.seconds(), True, 0
            try:
                proposal = await self._evaluator.evaluate(metric, target, tuning)
                failed, change = False, proposal.size - int(status(autoscaler).get("currentReplicas") or 0)
            except EvaluationError as error:
                self.record(autoscaler, WARNING, error.reason, error.cause)
                errors.append(error)
                statuses.append({"type": ""})
                continue
            finally:
                seconds = self.env.clock.seconds() - began
                self._metrics.computed(str(metric.get("type") or ""), change, seconds, failed=failed)
            statuses.append(proposal.status)
            if best is None or proposal.size > best.size:
                best = proposal
        if best is None or (errors and best.size < target.desired):
            first = errors[0] if errors else EvaluationError("InvalidMetricSourceType", "no metrics")
            draft.set(_ACTIVE, False, first.reason, f"the HPA was unable to compute the replica count: {first.cause}")
            note = f"invalid metrics ({len(errors)} invalid out of {len(metrics)}), first error is: {first}"
            self.record(autoscaler, WARNING, "FailedComputeMetricsReplicas", note)
            return None, statuses
        note = f"the HPA was able to successfully calculate a replica count from {best.metric}"
        draft.set(_ACTIVE, True, "ValidMetricFound", note)
        return best, statuses

    def _tolerance(self, autoscaler: Object, direction: str) -> float:
        """The deviation that causes no change in a direction: that of the autoscaler, or of the flag."""
        own = (mapping(spec(autoscaler), "behavior").get(direction) or {}).get("tolerance")
        if own is None or not self.env.feature("HPAConfigurableTolerance"):
            return self.env.settings.horizontal_pod_autoscaler_tolerance
        return milli(own) / 1000

    def _target(self, autoscaler: Object, scale: Object, draft: _Draft) -> Target | None:
        """The scale target and its pods; None if the Scale has no selector."""
        text = status(scale).get("selector")
        if not text:
            self._refuse(
                autoscaler,
                draft,
                "SelectorRequired",
                "selector is required",
                "the HPA target's scale is missing a selector",
            )
            return None
        try:
            selector = LabelSelector.parse(str(text))
        except ApiError as error:
            note = f"couldn't convert selector into a corresponding internal selector object: {error.message}"
            self._refuse(autoscaler, draft, "InvalidSelector", note, note)
            return None
        pods_of_labels = self._pods.list(namespace(autoscaler), labels=selector.exact)
        pods = [pod for pod in pods_of_labels if selector.matches(labels(pod))]
        return Target(
            namespace(autoscaler),
            int(spec(scale).get("replicas") or 0),
            int(status(scale).get("replicas") or 0),
            selector,
            pods,
        )

    def _refuse(self, autoscaler: Object, draft: _Draft, reason: str, note: str, message: str) -> None:
        self.record(autoscaler, WARNING, reason, note)
        draft.set(_ACTIVE, False, "InvalidSelector", message)
        self.record(autoscaler, WARNING, "FailedComputeMetricsReplicas", note)

    def _normalize(
        self, history: History, autoscaler: Object, draft: _Draft, current: int, desired: int, bounds: Bounds
    ) -> int:
        normalized = normalize(
            history,
            spec(autoscaler).get("behavior"),
            current=current,
            desired=desired,
            bounds=bounds,
            now=self.env.clock.seconds(),
            window=self.env.settings.horizontal_pod_autoscaler_downscale_stabilization,
        )
        draft.set(_ABLE, True, *normalized.able)
        draft.set(_LIMITED, normalized.limited, *normalized.limit)
        return normalized.size

    async def _rescale(
        self,
        autoscaler: Object,
        draft: _Draft,
        scale: _TargetScale,
        desired: int,
        why: str,
        history: History,
        metrics: list[dict[str, Any]] | None,
    ) -> dict[str, Any]:
        current = scale.replicas
        changed = with_spec(scale.obj, replicas=desired)
        target = str(spec(autoscaler)["scaleTargetRef"]["name"])
        try:
            await self.client.update(
                scale.ref, namespace(autoscaler), target, changed, subresource="scale", need_response=False
            )
        except ApiError as error:
            note = f"New size: {desired}; reason: {why}; error: {error.message}"
            self.record(autoscaler, WARNING, "FailedRescale", note)
            note = f"the HPA controller was unable to update the target scale: {error.message}"
            draft.set(_ABLE, False, "FailedUpdateScale", note)
            draft.failed = True
            before = status(autoscaler)
            return draft.finish(current, int(before.get("desiredReplicas") or 0), before.get("currentMetrics"), False)
        note = f"the HPA controller was able to update the target scale to {desired}"
        draft.set(_ABLE, True, "SucceededRescale", note)
        self.record(autoscaler, NORMAL, "SuccessfulRescale", f"New size: {desired}; reason: {why}")
        draft.change = desired - current
        history.store_change(spec(autoscaler).get("behavior"), current, desired, self.env.clock.seconds())
        return draft.finish(current, desired, metrics, True)
