"""PATCH in its four media types: JSON patch, merge patch, strategic merge patch, apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from orchd import errors
from orchd.kinds.catalog import Resource
from orchd.kinds.codec import decode, json_, yaml_
from orchd.kinds.codec.mediatype import APPLY_PATCH, MERGE_PATCH, STRATEGIC_PATCH, patch_type
from orchd.kinds.patch import gotext, json_patch, merge_patch, ownership, refusals, restore, strategic
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.options import WriteOptions, write_options
from orchd.server.pipeline.verbs.tools import Target, Tools, check_name
from orchd.server.registry.interfaces import Context, Object, Transform


async def patch(tools: Tools, request: Request, target: Target) -> Response:
    """200 with the object as stored, 201 when apply made it."""
    sent = patch_type(request.header("content-type"), custom=target.resource.custom)
    view = tools.present.view(request, target.resource)
    data = await tools.body(request)
    options = write_options(tools.dialect, request, "PatchOptions", apply=sent == APPLY_PATCH)
    context = tools.context(request, target, options)
    if sent == APPLY_PATCH:
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


@dataclass(frozen=True, slots=True)
class Change:
    """What a patch does to an object, and how a result that fits no type is shown: the object, or the patch itself."""

    make: Callable[[Object], Object]
    shown: Callable[[Object], str]


def changing(sent: str, data: bytes, resource: Resource) -> Change:
    """The change that a patch describes. Raises ApiError 400 for a patch that cannot be read."""
    if sent == STRATEGIC_PATCH:
        return Change(partial(_strategic, data, resource), lambda result: gotext.plain(strategic.parse(data)))
    if sent == MERGE_PATCH:
        return Change(lambda live: merge_patch.apply(live, data), _as_json)
    operations = json_patch.parse(data)
    return Change(lambda live: json_patch.apply(live, operations), _as_json)


def _as_json(result: Object) -> str:
    return json_.encode(result).decode()


def _strategic(data: bytes, resource: Resource, live: Object) -> Object:
    merged = strategic.apply(live, data, resource.type)
    why = restore.problem(merged, resource.type)
    if why:
        raise refusals.unusable_result(gotext.plain(strategic.parse(data)), why)
    return merged


async def _patched(
    tools: Tools, target: Target, context: Context, change: Change, live: Object | None
) -> Object:
    assert live is not None
    raw = change.make(live)
    changed = tools.settled(raw, target.resource, patched=lambda: change.shown(raw))
    check_name(target, changed)
    return await tools.owning(context, live, changed)


def _config(data: bytes) -> Object:
    """The applied configuration. Raises ApiError 400."""
    try:
        config = yaml_.decode(data)
    except yaml_.YAMLError as error:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if not isinstance(config, dict):
        raise errors.bad_request(f"error decoding YAML: json: cannot unmarshal {decode.json_kind(config)} into an object")
    return config


def applying(
    tools: Tools, request: Request, target: Target, context: Context, options: WriteOptions, data: bytes
) -> Transform:
    """The transform of a server-side apply."""
    config = _config(data)
    resource = target.resource

    async def applied(live: Object | None) -> Object:
        if live is None:
            await tools.authorize(request, "create")

        def merge(target: ownership.Target) -> Object:
            return ownership.on_apply(
                target, live, config, manager=options.manager, force=bool(options.force), now=context.now
            )

        merged = await tools.tracking(context, merge)
        if merged is live:
            return merged
        check_name(target, merged)
        return tools.settled(merged, resource)

    return applied
