"""LIST: all objects of a resource, or a page of them."""

from __future__ import annotations

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.options import check_selected, list_options


async def list_(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with a list in the negotiated representation; metadata.continue if there are more items."""
    view = tools.present.view(request, target.resource)
    options = list_options(request)
    check_selected(request, target.resource, options)
    page, token, chosen = await tools.registry.list(target.resource, target.namespace, options)
    remaining = page.remaining if chosen.everything else None
    body = tools.present.page(view, page.entries, revision=page.revision, token=token, remaining=remaining)
    return tools.present.response(view, body)
