"""PUT: replace an object, or create it where its kind allows that."""

from __future__ import annotations

from functools import partial

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.registry.operations import Replace, check_name


async def update(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with the stored object, 201 when it was created."""
    view = context.view(request, target)
    obj, options = await context.decode_object(request, target.resource, "UpdateOptions")
    check_name(target.name, target.namespace, obj, context.settings.release)
    operation = Replace(name=target.name, obj=obj, authorize_create=partial(context.authorize, request, "create"))
    written = await context.registry.write(context.write_context(request, target, options), operation)
    return await context.written_response(request, view, written)
