"""GET of one object."""

from __future__ import annotations

from orchd import errors
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.options import boolean


def refuse_export(request: Request) -> None:
    """Raise ApiError 400 for a parameter that a GET of one object had in earlier releases."""
    if boolean(request, "export"):
        raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")


async def get(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with one object in the negotiated representation."""
    view = context.view(request, target)
    refuse_export(request)
    entry = await context.registry.get(
        target.resource, target.namespace, target.name, resource_version=request.param("resourceVersion")
    )
    return context.present.response(view, await context.encode_entry(view, entry))
