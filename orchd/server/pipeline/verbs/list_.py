"""LIST: all objects of a resource, or a page of them."""

from __future__ import annotations

from dataclasses import replace

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext


async def list_(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with a list in the negotiated representation; metadata.continue if there are more items."""
    view = await context.list_view(request, target)
    query = await context.list_query(request, target)
    off = context.settings.disabled
    if "APIListChunking" in off:
        query = query.unpaged()
    page = await context.registry.list(query)
    if "RemainingItemCount" in off:
        page = replace(page, remaining=None)
    return context.present.response(view, await context.encode_page(view, page))
