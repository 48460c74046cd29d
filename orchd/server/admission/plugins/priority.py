"""Priority: sets a pod's priority from its class, and allows only one default class."""

from __future__ import annotations

from typing import Any

from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.fields import spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CREATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse

_LOWER = "PreemptLowerPriority"
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"
#: Index of the default classes.
_DEFAULTS = "default"


def _default_values(obj: Object) -> tuple[str, ...]:
    return ("true",) if obj.get("globalDefault") else ()


@implementer(IMutatingPlugin, IValidatingPlugin)
class Priority(Plugin):
    name = "Priority"
    help = "Sets priority and preemption policy of pods from their priority class."
    resources = ("pods", "priorityclasses.scheduling.{abbr}.io")
    informers = (("scheduling.{abbr}.io", "v1", "priorityclasses"),)

    def setup(self) -> None:
        self.informer("priorityclasses").add_index(_DEFAULTS, _default_values)

    async def admit(self, review: Review) -> None:
        pod = review.written
        if review.resource.plural != "pods":
            return
        await self.wait_ready(review)
        if review.operation == CREATE:
            review.object = with_spec(pod, **await self._resolve_priority(review, spec(pod)))
            return
        kept = {
            key: spec(review.old_object)[key]
            for key in ("priority", "preemptionPolicy")
            if spec(pod).get(key) is None and spec(review.old_object).get(key) is not None
        }
        if kept:
            review.object = with_spec(pod, **kept)

    async def _resolve_priority(self, review: Review, pod: dict[str, Any]) -> dict[str, Any]:
        name = pod.get("priorityClassName") or ""
        changes: dict[str, Any] = {}
        if name:
            priority_class = await self._class(review, name)
        else:
            default = self._default()
            priority_class = default or {"value": 0, "preemptionPolicy": _LOWER}
            if default is not None:
                changes["priorityClassName"] = default["metadata"]["name"]
        value, policy = priority_class.get("value", 0), priority_class.get("preemptionPolicy")
        priority = pod.get("priority")
        if priority is not None and priority != value:
            raise refuse(
                review,
                f"the integer value of priority ({priority}) {_COMPUTED} {value} from the given PriorityClass name",
            )
        changes["priority"] = value
        if policy is not None:
            wish = pod.get("preemptionPolicy")
            if wish is not None and wish != policy:
                raise refuse(
                    review,
                    f"the string value of PreemptionPolicy ({wish}) {_COMPUTED} {policy} "
                    "from the given PriorityClass name",
                )
            changes["preemptionPolicy"] = policy
        return changes

    async def _class(self, review: Review, name: str) -> Object:
        cached = self.informer("priorityclasses").get("", name)
        if cached is not None:
            return cached
        try:
            # The informer may lag behind a class created just now.
            ref = ResourceRef(self.dialect("scheduling.{abbr}.io"), "v1", "priorityclasses")
            live: Object = await self.context.api.client.get(ref, "", name)
        except ApiError as error:
            if error.code != 404:
                raise
            raise refuse(review, f"no PriorityClass with name {name} was found") from error
        return live

    def _default(self) -> Object | None:
        """The default class; of several, which only a race can create, the lowest."""
        defaults = list(self.informer("priorityclasses").by_index(_DEFAULTS, "true"))
        return min(defaults, key=lambda c: c.get("value", 0)) if defaults else None

    async def validate(self, review: Review) -> None:
        if review.resource.plural != "priorityclasses" or not review.written.get("globalDefault"):
            return
        await self.wait_ready(review)
        default = self._default()
        if default is None:
            return
        name = default["metadata"]["name"]
        if review.operation == CREATE or name != review.name:
            raise refuse(review, f"PriorityClass {name} is already marked as default. Only one default can exist")
