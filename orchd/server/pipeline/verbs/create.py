"""POST to a collection."""

from __future__ import annotations

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.registry.operations import Create


async def create(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """Store the sent object; 201 with the stored object."""
    view = context.present.view(request, target.resource)
    obj, options = await context.decode_object(request, target.resource, "CreateOptions")
    written = await context.registry.write(context.write_context(request, target, options), Create(obj=obj))
    return await context.written_response(request, view, written)
