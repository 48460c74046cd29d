"""Selection of writes for webhooks and policies: selectors of namespaces and objects, and the version they are
shown in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.client.interfaces import IInformer, ResourceRef
from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import convert
from orchd.kinds.objects.selectors import LabelSelector
from orchd.server.admission.interfaces import CREATE, UPDATE, PluginContext, Review

NAMESPACES: Final = ResourceRef("", "v1", "namespaces")


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces of writes. `informer` follows them."""

    context: PluginContext
    informer: IInformer

    async def get(self, name: str) -> Object:
        """A namespace, which the informer may not know yet. Raises ApiError 404."""
        return self.informer.get("", name) or await self.context.api.client.get(NAMESPACES, "", name)

    async def match(self, selector: LabelSelector, review: Review) -> bool:
        """True if a selector matches the namespace of a write, or the write has none. Raises ApiError 404."""
        if selector.everything:
            return True
        labels = await self._labels(review)
        return labels is None or selector.matches(labels)

    async def _labels(self, review: Review) -> Mapping[str, str] | None:
        """Labels of the namespace of a write; None for cluster-scoped ones."""
        name, own = review.namespace, review.resource.plural == "namespaces" and not review.resource.group
        if own:
            if not review.subresource and review.operation in (CREATE, UPDATE):
                return fields.labels(review.object)
            name = review.name
        return fields.labels(await self.get(name)) if name else None


def objects_match(selector: LabelSelector, review: Review) -> bool:
    """True if a selector matches the new or the old object. An object without labels matches only the empty
    selector."""
    if selector.everything:
        return True
    return any(
        obj is not None and "metadata" in obj and selector.matches(fields.labels(obj))
        for obj in (review.object, review.old_object)
    )


async def in_version(context: PluginContext, resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Convert an object to the version of a resource of its kind. Raises ApiError 500 if a conversion webhook
    failed."""
    if resource.converter is not None:
        assert context.outbound.webhooks is not None
        return (await context.outbound.webhooks.translate(resource, (obj,)))[0]
    return convert.convert(obj, resource.api_version, context.api.catalog())
