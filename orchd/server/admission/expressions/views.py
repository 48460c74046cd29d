"""The variables of expressions about a write."""

from __future__ import annotations

from typing import Any

from orchd.cel.libraries.authorizer import Question
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.expressions.evaluation import View
from orchd.server.admission.interfaces import PluginContext, Review
from orchd.server.admission.selection import in_version
from orchd.server.admission.webhooks import reviews


async def view_of(context: PluginContext, review: Review, target: Resource, namespace: Object | None) -> View:
    """A write as seen in the version of `target`, with the namespace that it is in. Raises ApiError 500 if a conversion
    webhook failed."""
    document = reviews.build_review(review, target, None, None, uid="", version="v1", dialect=context.settings.dialect)
    return View(
        variables={
            "object": await _in_version(context, review, target, review.object),
            "oldObject": await _in_version(context, review, target, review.old_object),
            "request": document["request"],
            "namespaceObject": namespace,
        },
        request_resource=Question(
            group=review.resource.group,
            resource=review.resource.plural,
            subresource=review.subresource,
            namespace=review.namespace,
            name=review.name,
        ),
    )


async def _in_version(
    context: PluginContext, review: Review, target: Resource, obj: dict[str, Any] | None
) -> dict[str, Any] | None:
    if obj is None or review.kind is not None:
        return obj
    return await in_version(context, target, obj)
