"""PATCH in its four media types: JSON patch, merge patch, strategic merge patch, apply."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from orchd import errors
from orchd.kinds.catalog import Resource
from orchd.kinds.codec import json_, yaml_
from orchd.kinds.objects import convert
from orchd.kinds.patch import json_patch, managed, merge_patch, strategic
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.options import WriteOptions, write_options
from orchd.server.pipeline.verbs.tools import Target, Tools, check_name
from orchd.server.registry.interfaces import Context, Object, Transform

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def accepted(resource: Resource) -> tuple[str, ...]:
    """The patch media types of a resource; custom kinds have no merge keys."""
    return (JSON, MERGE, APPLY) if resource.custom else (JSON, MERGE, STRATEGIC, APPLY)


def media_type(request: Request, resource: Resource) -> str:
    """The patch type of a request. Raises ApiError 415."""
    sent = request.header("content-type").partition(";")[0].strip()
    if sent not in accepted(resource):
        raise errors.unsupported_media_type(accepted(resource))
    return sent


async def patch(tools: Tools, request: Request, target: Target) -> Response:
    """200 with the object as stored, 201 when apply made it."""
    sent = media_type(request, target.resource)
    view = tools.present.view(request, target.resource)
    data = await tools.body(request)
    options = write_options(tools.dialect, request, "PatchOptions", apply=sent == APPLY)
    context = tools.context(request, target, options)
    if sent == APPLY:
        entry, created = await tools.registry.update(
            context,
            target.name,
            applying(tools, request, target, context, options, data),
            create=not target.subresource,
        )
    else:
        change = changing(sent, data, target.resource)
        entry, created = await tools.registry.update(context, target.name, partial(_patched, tools, target, context, change))
    return tools.present.response(view, tools.present.entry(view, entry), code=201 if created else 200)


def changing(sent: str, data: bytes, resource: Resource) -> Callable[[Object], Object]:
    """The change that a patch describes. Raises ApiError 400 for a patch that cannot be read."""
    if sent == JSON:
        operations = json_patch.parse(data)
        return lambda live: json_patch.apply(live, operations)
    document = json_.decode_patch(data)
    if sent == MERGE:
        return lambda live: merge_patch.apply(live, document)
    return lambda live: strategic.apply(live, document, resource.type)


async def _patched(
    tools: Tools, target: Target, context: Context, change: Callable[[Object], Object], live: Object | None
) -> Object:
    assert live is not None
    changed = tools.settled(change(live), target.resource)
    check_name(target, changed)
    return tools.owned(context, live, changed)


def applying(
    tools: Tools, request: Request, target: Target, context: Context, options: WriteOptions, data: bytes
) -> Transform:
    """The transform of a server-side apply."""
    config = yaml_.decode_apply(data)
    resource = target.resource

    def converted(obj: Object, api_version: str) -> Object:
        return convert.convert(obj, api_version, tools.catalog())

    async def applied(live: Object | None) -> Object:
        if live is None:
            await tools.authorize(request, "create")
        merged = managed.on_apply(
            live,
            config,
            type=resource.type,
            manager=options.manager,
            force=bool(options.force),
            api_version=resource.api_version,
            kind=resource.kind,
            subresource=target.subresource,
            now=context.now,
            convert=converted,
        )
        check_name(target, merged)
        return tools.settled(merged, resource)

    return applied


