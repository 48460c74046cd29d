"""A complete subresource that writes: ``POST /api/v1/nodes/NAME/cordon`` with ``{"unschedulable": false}``, or true by
default.

See docs/extending/subresource.md.
"""

from __future__ import annotations

import orjson

from orchd import errors
from orchd.kinds.jsonvalues import Object
from orchd.kinds.rows import Subresource
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.options import write_options
from orchd.server.registry.operations import Edit

#: In `subresources` of the row of Node. The verb changes the spec, which other writes of subresources must not.
ROW = Subresource(name="cordon", verbs=("create",), served_by="cordon of a node", resets=())


async def cordon(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with the node. Raises ApiError 404 where there is no such node, 400 for a body of another form."""
    view = context.present.view(request, target.resource)
    options = write_options(context.settings, request, "UpdateOptions")
    wanted = _unschedulable(await context.body(request))

    async def change(node: Object) -> Object:
        return {**node, "spec": {**(node.get("spec") or {}), "unschedulable": wanted}}

    operation = Edit(name=target.name, change=change)
    written = await context.registry.write(context.write_context(request, target, options), operation)
    return await context.written_response(request, view, written)


def _unschedulable(data: bytes) -> bool:
    try:
        body = orjson.loads(data or b"{}")
    except orjson.JSONDecodeError as error:
        raise errors.bad_request(f"the body is not JSON: {error}") from None
    wanted = body.get("unschedulable", True) if isinstance(body, dict) else None
    if not isinstance(wanted, bool):
        raise errors.bad_request("the body must be an object, and its unschedulable true or false")
    return wanted
