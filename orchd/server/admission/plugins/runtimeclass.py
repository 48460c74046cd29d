"""RuntimeClass: sets pod overhead and scheduling constraints from the runtime class."""

from __future__ import annotations

from typing import Any

from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.fields import mapping, spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity
from orchd.server.admission.interfaces import CREATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.admission.plugins.tolerations import merge

_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


@implementer(IMutatingPlugin, IValidatingPlugin)
class RuntimeClass(Plugin):
    name = "RuntimeClass"
    help = "Sets overhead, node selector and tolerations of pods from their runtime class."
    operations = (CREATE,)
    resources = ("pods",)
    informers = (("node.{abbr}.io", "v1", "runtimeclasses"),)

    async def admit(self, review: Review) -> None:
        pod = review.written
        runtime_class = await self._class(review)
        if runtime_class is None:
            return
        fixed = mapping(runtime_class, "overhead").get("podFixed")
        if fixed and self._has_overhead:
            held = spec(pod).get("overhead")
            if held is not None and not _same(held, fixed):
                raise refuse(review, _MISMATCH)
            pod = with_spec(pod, overhead=fixed)
        scheduling = runtime_class.get("scheduling")
        if scheduling:
            pod = self._with_scheduling(review, pod, scheduling)
        review.object = pod

    def _with_scheduling(self, review: Review, pod: Object, scheduling: dict[str, Any]) -> Object:
        selector = dict(mapping(spec(pod), "nodeSelector"))
        for key, value in mapping(scheduling, "nodeSelector").items():
            if selector.get(key, value) != value:
                raise refuse(
                    review,
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                    f"pod.spec.nodeSelector[{key}] = {selector[key]}",
                )
            selector[key] = value
        changes: dict[str, Any] = {"nodeSelector": selector} if selector else {}
        tolerations = merge(spec(pod).get("tolerations") or (), scheduling.get("tolerations") or ())
        if tolerations:
            changes["tolerations"] = tolerations
        return with_spec(pod, **changes)

    @property
    def _has_overhead(self) -> bool:
        return "PodOverhead" not in self.context.settings.disabled

    async def validate(self, review: Review) -> None:
        if not self._has_overhead:
            return
        held = spec(review.object).get("overhead")
        runtime_class = await self._class(review)
        fixed = mapping(runtime_class, "overhead").get("podFixed")
        if fixed:
            if held is None or not _same(held, fixed):
                raise refuse(review, _MISMATCH)
        elif held:
            raise refuse(review, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")

    async def _class(self, review: Review) -> Object | None:
        name = spec(review.object).get("runtimeClassName")
        if name is None:
            return None
        await self.wait_ready(review)
        cached = self.informer("runtimeclasses").get("", name)
        if cached is not None:
            return cached
        try:
            ref = ResourceRef(self.dialect("node.{abbr}.io"), "v1", "runtimeclasses")
            live: Object = await self.context.api.client.get(ref, "", name)
        except ApiError as error:
            if error.code != 404:
                raise
            raise refuse(review, f'pod rejected: RuntimeClass "{name}" not found') from error
        return live


def _same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(Quantity.parse(left[k]).same(Quantity.parse(right[k])) for k in left)
