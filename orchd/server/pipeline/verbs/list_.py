"""LIST: all objects of a resource, or a page of them."""

from __future__ import annotations

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.options import list_query


async def list_(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with a list in the negotiated representation; metadata.continue if there are more items."""
    view = tools.present.view(request, target.resource)
    page = await tools.registry.list(list_query(tools.dialect, request, target.resource, target.namespace))
    return tools.present.response(view, await tools.encode_page(view, page))
