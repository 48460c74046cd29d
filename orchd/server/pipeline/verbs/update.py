"""PUT: replace an object, or create it where its kind allows that."""

from __future__ import annotations

from functools import partial

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.registry.operations import Replace, check_name


async def update(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with the stored object, 201 when it was created."""
    view = tools.present.view(request, target.resource)
    obj, options = await tools.decode_object(request, target.resource, "UpdateOptions")
    check_name(target.name, target.namespace, obj)
    operation = Replace(name=target.name, obj=obj, authorize_create=partial(tools.authorize, request, "create"))
    written = await tools.registry.write(tools.context(request, target, options), operation)
    return await tools.written_response(request, view, written)
