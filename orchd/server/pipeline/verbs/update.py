"""PUT: replace an object, or create it where its kind allows that."""

from __future__ import annotations

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext, check_name
from orchd.server.registry.interfaces import Object


async def update(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with the stored object, 201 when it was created."""
    view = tools.present.view(request, target.resource)
    obj, options = await tools.decode_object(request, target.resource, "UpdateOptions")
    check_name(target, obj)
    context = tools.context(request, target, options)

    async def replaced(live: Object | None) -> Object:
        if live is None:
            await tools.authorize(request, "create")
        return await tools.update_managed_fields(context, live, obj)

    creates = tools.registry.strategy(target.resource).creates_on_update and not target.subresource
    uid = (obj.get("metadata") or {}).get("uid") or ""
    entry, created = await tools.registry.update(context, target.name, replaced, create=creates, uid=uid)
    return tools.present.response(view, tools.present.entry(view, entry), code=201 if created else 200)
