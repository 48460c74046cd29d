"""pods/binding and the bindings resource: assign a pod to a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchd import errors
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate import dispatch as validation
from orchd.kinds.times import timestamp
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, bare_error, mutate, success
from orchd.server.registry.interfaces import Context
from orchd.server.registry.operations import Create, Edit


class Bindings:
    """The two endpoints that accept a Binding."""

    def __init__(
        self,
        catalog: Catalog,
        foreign: ForeignBodyContext,
        *,
        copies_labels: bool = False,
        clears_nomination: bool = False,
    ) -> None:
        """`copies_labels`: pods get the labels of the Binding, as they get its annotations. `clears_nomination`: bound
        pods lose the node that they were nominated for."""
        self._clears_nomination = clears_nomination
        self._copies_labels = copies_labels
        self._kind = catalog.body_kind("core/v1", "Binding")
        self._foreign = foreign

    async def create(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """POST to pods/binding: 201 with a Status."""
        return await self._bind(context, request, target, named=True)

    async def create_legacy(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """POST to bindings: the same, the pod is named by the Binding."""
        return await self._bind(context, request, target, named=False)

    async def _bind(self, context: VerbContext, request: Request, target: ResourceTarget, *, named: bool) -> Response:
        view = context.present.view(request, self._kind, table=False)
        binding, options = await context.decode_object(request, self._kind, "CreateOptions")
        write_context = context.write_context(request, target, options)
        binding = self._foreign.prepare(binding, target.namespace, named)
        binding = await context.registry.transform(
            replace(write_context, resource=self._kind), Create(obj=binding), None
        )
        # Mutating admission runs before the endpoint reads the body's fields, as for every POST.
        review = self._foreign.admission.review(write_context, "CREATE", None, name=target.name)
        binding = await mutate(context, review, self._kind, binding)
        metadata = fields.metadata(binding)
        name = metadata.get("name", "")
        if named and name != target.name:
            raise errors.bad_request("name in URL does not match name in Binding object")
        causes = validation.validate_create(binding, self._kind, context.settings)
        if causes:
            texts = [f"{cause.field}: {cause.message}" for cause in causes]
            raise bare_error(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        await review.validate(binding)
        if not name:
            raise errors.bad_request("Name parameter required.")
        pods = context.catalog().resource("", "v1", "pods")
        assert pods is not None
        inner = replace(write_context, resource=pods, subresource="binding")

        copied = ("annotations", "labels") if self._copies_labels else ("annotations",)

        async def assign(live: Object) -> Object:
            bound = bound_pod(inner, live, binding, copied=copied)
            return _without_nomination(bound) if self._clears_nomination else bound

        await self._foreign.registry.write(inner, Edit(name=name, change=assign))
        return success(context, view)


def bound_pod(context: Context, pod: Object, binding: Object, *, copied: Sequence[str] = ("annotations",)) -> Object:
    """The pod assigned to the node, with the `copied` maps of the Binding's metadata added to its own. Raises ApiError
    409 when its uid or version differs, it is being deleted or already assigned, or it has scheduling gates."""
    metadata, binding_metadata = pod["metadata"], fields.metadata(binding)
    name = metadata["name"]
    if binding_metadata.get("uid") and binding_metadata["uid"] != metadata["uid"]:
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/pods/{metadata['namespace']}/{name}, "
            "ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {binding_metadata['uid']}, "
            f"UID in object meta: {metadata['uid']}"
        )
        raise errors.conflict("", "pods", name, why)
    node = fields.spec(pod).get("nodeName")
    if metadata.get("deletionTimestamp"):
        raise errors.conflict("", "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if node:
        raise errors.conflict("", "pods/binding", name, f'pod {name} is already assigned to node "{node}"')
    if fields.spec(pod).get("schedulingGates"):
        raise errors.conflict("", "pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
    # The write checks the resourceVersion of the Binding.
    changed = {**metadata, "resourceVersion": binding_metadata.get("resourceVersion") or ""}
    for name in copied:
        if binding_metadata.get(name):
            changed[name] = {**(metadata.get(name) or {}), **binding_metadata[name]}
    status = dict(fields.status(pod))
    status["conditions"] = _with_scheduled(status.get("conditions") or [], timestamp(context.now))
    return {
        **pod,
        "metadata": changed,
        "spec": {**pod["spec"], "nodeName": binding["target"]["name"]},
        "status": status,
    }


def _without_nomination(pod: Object) -> Object:
    return {**pod, "status": {k: v for k, v in pod["status"].items() if k != "nominatedNodeName"}}


def _with_scheduled(conditions: list[Any], now: str) -> list[Any]:
    """`conditions` with PodScheduled true."""
    condition: dict[str, Any] = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    out = []
    for old in conditions:
        if old.get("type") == "PodScheduled":
            if old.get("status") == "True":
                condition["lastTransitionTime"] = old.get("lastTransitionTime")
        else:
            out.append(old)
    return [*out, condition]
