"""LIST: all objects of a resource, or a page of them."""

from __future__ import annotations

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.options import check_selected, list_options
from orchd.server.pipeline.verbs.tools import Target, Tools


async def list_(tools: Tools, request: Request, target: Target) -> Response:
    """A list in the form that was asked for; metadata.continue where there is more."""
    view = tools.present.view(request, target.resource)
    options = list_options(request)
    check_selected(request, target.resource, options)
    page, token, chosen = await tools.registry.list(target.resource, target.namespace, options)
    remaining = page.remaining if chosen.everything else None
    body = tools.present.page(view, page.entries, revision=page.revision, token=token, remaining=remaining)
    return tools.present.response(view, body)
