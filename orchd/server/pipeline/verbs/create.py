"""POST to a collection."""

from __future__ import annotations

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext


async def create(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """Store the sent object; 201 with the stored object."""
    view = tools.present.view(request, target.resource)
    obj, options = await tools.decode_object(request, target.resource, "CreateOptions")
    context = tools.context(request, target, options)
    entry = await tools.registry.create(context, await tools.update_managed_fields(context, None, obj))
    return tools.present.response(view, tools.present.entry(view, entry), code=201)
