"""pods/eviction: delete a pod if its disruption budget allows it (specification, "Eviction API")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import orjson

from orchd import errors
from orchd.errors import ApiError, Cause
from orchd.kinds import fields
from orchd.kinds.canonical import canonicalize
from orchd.kinds.catalog import Catalog
from orchd.kinds.codec import decode, mediatype
from orchd.kinds.codec.decode import ExpectedKind
from orchd.kinds.conditions import is_true, with_condition
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.times import timestamp
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.options import WriteOptions, delete_options, write_options
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, bare_error, mutate, success
from orchd.server.registry.interfaces import Context
from orchd.server.registry.operations import Delete

#: Maximum attempts when a pod or budget changes concurrently.
_ATTEMPTS = 20
#: Maximum number of evictions in a budget's status that its controller has not processed.
_MOST_DISRUPTED = 2000
_VERSIONS = ("policy/v1", "policy/v1beta1")
_ENDED = ("Succeeded", "Failed")
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


class Budgets(Protocol):
    """Reads and writes disruption budgets as the server itself. Raises ApiError."""

    async def list(self, namespace: str) -> list[Object]: ...

    async def get(self, namespace: str, name: str) -> Object: ...

    async def update_status(self, budget: Object) -> Object: ...


def _refusal(cause: str, retry_after: int) -> ApiError:
    """429; without Retry-After unless `retry_after` is set."""
    details: dict[str, Any] = {"causes": [Cause("DisruptionBudget", cause).as_json()]}
    headers = {}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
        headers["Retry-After"] = str(retry_after)
    return ApiError(429, "TooManyRequests", _REFUSED, details=details, headers=headers)


def _processing_error(name: str) -> ApiError:
    return _refusal(f"The disruption budget {name} is still being processed by the server.", 10)


def _ready(pod: Object) -> bool:
    return is_true(fields.status(pod), "Ready")


def take_disruption(budget: Object, pod: str, now: str) -> Object:
    """The status of a budget after evicting `pod`. Raises ApiError 429 or 403 when that is not allowed."""
    name, status = budget["metadata"]["name"], fields.status(budget)
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        raise _processing_error(name)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise errors.forbidden("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    pods = status.get("disruptedPods") or {}
    if len(pods) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.forbidden("policy", "poddisruptionbudget", name, why)
    if allowed == 0:
        healthy, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
        raise _refusal(f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently", 0)
    out = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": {**pods, pod: now}}
    if allowed == 1:
        out["conditions"] = _insufficient(status, now)
    return out


def _insufficient(status: Mapping[str, Any], now: str) -> list[Any]:
    """Conditions that report insufficient pods."""
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": status.get("observedGeneration") or 0,
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    return with_condition(status.get("conditions") or (), condition)


def _with_target(pod: Object, now: str) -> Object:
    """The pod with the condition that says why it is about to be deleted."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    status = fields.status(pod)
    return {**pod, "status": {**status, "conditions": with_condition(status.get("conditions") or (), condition)}}


@dataclass(frozen=True, slots=True)
class _Round:
    """One eviction: user, pod and DeleteOptions."""

    write_context: Context
    name: str
    options: Mapping[str, Any]

    @property
    def guarded(self) -> bool:
        """True if the client set a resourceVersion precondition."""
        return bool((self.options.get("preconditions") or {}).get("resourceVersion"))

    def only(self, pod: Object) -> Mapping[str, Any]:
        """The options with the version of the pod as read."""
        guard = {**(self.options.get("preconditions") or {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        return {**self.options, "preconditions": guard}


class Evictions:
    """The eviction endpoint."""

    def __init__(
        self, catalog: Catalog, foreign: ForeignBodyContext, budgets: Budgets, *, announces: bool = False
    ) -> None:
        """`announces`: pods get the condition DisruptionTarget before they are deleted."""
        self._announces = announces
        self._kind = catalog.body_kind("policy/v1", "Eviction")
        self._foreign = foreign
        self._budgets = budgets

    async def create(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """201 with a Status, 429 when a budget forbids it now."""
        view = context.present.view(request, self._kind, table=False)
        eviction, options = await self._decode(context, request)
        write_context = context.write_context(request, target, options)
        eviction = self._foreign.prepare(eviction, target.namespace, True)
        review = self._foreign.admission.review(write_context, "CREATE", None, name=target.name)
        eviction = await mutate(context, review, self._kind, eviction)
        name = fields.metadata(eviction).get("name", "")
        if name != target.name:
            raise errors.bad_request("name in URL does not match name in Eviction object")
        body = dict(eviction.get("deleteOptions") or {})
        if options.dry_run:
            body["dryRun"] = body.get("dryRun") or ["All"]
        body = delete_options(context.settings, request, body)
        dry_run = bool(body.get("dryRun"))
        await review.validate(eviction)
        inner = replace(write_context, subresource="", dry_run=dry_run, options=body)
        await self._evict(_Round(inner, name, body))
        return success(context, view)

    async def _decode(self, context: VerbContext, request: Request) -> tuple[Object, WriteOptions]:
        form = mediatype.body_form(request.header("content-type"), dialect=context.dialect)
        data = await context.body(request)
        options = write_options(context.settings, request, "CreateOptions")

        def decode_as(any_version: bool) -> Object:
            expected = ExpectedKind(
                api_version=self._kind.api_version, kind="Eviction", type=self._kind.type, any_version=any_version
            )
            return decode.decode_object(data, form, expected, catalog=context.catalog())

        eviction = decode_as(True)
        if eviction["apiVersion"] not in _VERSIONS:
            eviction = decode_as(False)
        # Admission sees evictions in one version, whichever was sent.
        settled = canonicalize({**eviction, "apiVersion": self._kind.api_version}, self._kind, context.settings)
        context.check_fields(request, options, data, form, eviction, self._kind)
        return settled, options

    async def _evict(self, asked: _Round) -> None:
        pod = await self._without_budget(asked)
        if pod is None:
            return
        budget = await self._budget(pod)
        guard = False
        if budget is not None:
            status = fields.status(budget)
            desired = status.get("desiredHealthy") or 0
            healthy_budget = (status.get("currentHealthy") or 0) >= desired > 0
            always = fields.spec(budget).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
            if not _ready(pod) and (healthy_budget or always):
                # An unhealthy pod takes nothing from the budget while it stays unhealthy.
                guard = True
            else:
                await self._take(asked, budget)
        try:
            options = asked.only(pod) if guard else asked.options
            await self._delete(asked, options)
        except ApiError as error:
            if error.reason == "Conflict" and guard and not asked.guarded and budget is not None:
                raise _processing_error(budget["metadata"]["name"]) from None
            raise

    async def _without_budget(self, asked: _Round) -> Object | None:
        """Delete a pod that no budget protects; returns the pod if a budget may apply."""
        write_context = asked.write_context
        for attempt in range(_ATTEMPTS):
            entry = await self._foreign.registry.get(write_context.resource, write_context.namespace, asked.name)
            pod: Object = orjson.loads(entry.json)
            phase = fields.status(pod).get("phase")
            going = bool(pod["metadata"].get("deletionTimestamp"))
            if phase not in (*_ENDED, "Pending") and not going:
                return pod
            # A pending pod may become ready concurrently, and would then count.
            racing = phase not in _ENDED and not going and not asked.guarded
            try:
                options = asked.only(pod) if racing else asked.options
                await self._delete(asked, options)
            except ApiError as error:
                if error.reason != "Conflict" or asked.guarded or not racing or attempt == _ATTEMPTS - 1:
                    raise
                continue
            return None
        raise AssertionError("the last attempt returns or raises")

    async def _delete(self, asked: _Round, options: Mapping[str, Any]) -> None:
        """Delete the pod. Raises ApiError."""
        context = asked.write_context
        announce = partial(_with_target, now=timestamp(context.now)) if self._announces else None
        # Admission has reviewed the eviction, not the deletion.
        delete = Delete(name=asked.name, options=options, announce=announce, reviewed=False)
        await self._foreign.registry.delete(context, delete)

    async def _budget(self, pod: Object) -> Object | None:
        """The budget that matches the pod. Raises ApiError 500 when several do."""
        labels = pod["metadata"].get("labels")
        budgets = [
            b for b in await self._budgets.list(pod["metadata"]["namespace"])
            if LabelSelector.from_object(fields.spec(b).get("selector")).matches(labels)
        ]  # fmt: skip
        if len(budgets) > 1:
            raise bare_error(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
        return budgets[0] if budgets else None

    async def _take(self, asked: _Round, budget: Object) -> None:
        """Take one disruption from the budget, or raise ApiError."""
        now = timestamp(asked.write_context.now)
        namespace, name = budget["metadata"]["namespace"], budget["metadata"]["name"]
        for _ in range(_ATTEMPTS):
            status = take_disruption(budget, asked.name, now)
            if asked.write_context.dry_run:
                return
            try:
                await self._budgets.update_status({**budget, "status": status})
                return
            except ApiError as error:
                if error.reason != "Conflict":
                    raise
            budget = await self._budgets.get(namespace, name)
        raise errors.timeout(f'couldn\'t update PodDisruptionBudget "{name}" due to conflicts', retry_after=10)
