"""POST to a collection."""

from __future__ import annotations

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.registry.operations import Create


async def create(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """Store the sent object; 201 with the stored object."""
    view = tools.present.view(request, target.resource)
    obj, options = await tools.decode_object(request, target.resource, "CreateOptions")
    written = await tools.registry.write(tools.context(request, target, options), Create(obj=obj))
    return await tools.written_response(request, view, written)
