"""PATCH in its four media types: JSON patch, merge patch, strategic merge patch, apply."""

from __future__ import annotations

from functools import partial

from orchd.kinds.codec.mediatype import APPLY_PATCH
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.options import WriteOptions, write_options
from orchd.server.registry.operations import Apply, Patch


async def patch(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with the stored object, 201 when apply created it."""
    sent = context.patch_type(request, target)
    view = context.view(request, target)
    data = await context.body(request)
    options = write_options(context.settings, request, "PatchOptions", apply=sent == APPLY_PATCH)
    operation = patch_operation(context, request, target.name, sent, data, options)
    written = await context.registry.write(context.write_context(request, target, options), operation)
    return await context.written_response(request, view, written)


def patch_operation(
    context: VerbContext, request: Request, name: str, media_type: str, data: bytes, options: WriteOptions
) -> Patch | Apply:
    """The operation of a PATCH request."""
    strictness = context.strictness(request, options)
    if media_type != APPLY_PATCH:
        return Patch(name=name, media_type=media_type, data=data, strictness=strictness)
    may_create = partial(context.authorize, request, "create")
    return Apply(name=name, data=data, force=bool(options.force), strictness=strictness, authorize_create=may_create)
