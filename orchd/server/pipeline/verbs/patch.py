"""PATCH in its four media types: JSON patch, merge patch, strategic merge patch, apply."""

from __future__ import annotations

from functools import partial
from typing import Final

from orchd import errors
from orchd.kinds import bounds
from orchd.kinds.catalog import Resource
from orchd.kinds.codec import decode, json_, yaml_
from orchd.kinds.codec.mediatype import APPLY_PATCH, patch_type
from orchd.kinds.patch import ownership
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.changes import Change
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext, check_name
from orchd.server.pipeline.verbs.options import WriteOptions, write_options
from orchd.server.pipeline.verbs.strictness import Strictness
from orchd.server.registry.interfaces import Context, Object, Transform

_TOO_DEEP: Final = f"yaml: exceeded max depth of {yaml_.MAX_DEPTH}"


async def patch(tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
    """200 with the stored object, 201 when apply created it."""
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
        change = Change.of(sent, data, target.resource, tools.strictness(options, context.warn))
        entry, created = await tools.registry.update(context, target.name, partial(_apply_patch, tools, target, context, change))
    return tools.present.response(view, tools.present.entry(view, entry), code=201 if created else 200)


async def _apply_patch(
    tools: VerbContext, target: ResourceTarget, context: Context, change: Change, live: Object | None
) -> Object:
    assert live is not None
    changed = change.apply(tools, live)
    check_name(target, changed)
    return await tools.update_managed_fields(context, live, changed, patched=True)


def _config(data: bytes) -> Object:
    """The applied configuration. Raises ApiError 400."""
    try:
        config = yaml_.decode(data)
    except yaml_.YAMLError as error:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if json_.too_deep(config):
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {_TOO_DEEP}")
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise errors.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{decode.json_kind(config)} into Go value of type map[string]interface {{}}"
        )
    return config


def _check_repeated(data: bytes, strictness: Strictness) -> None:
    """Report duplicate keys in an applied configuration; apply itself rejects unknown fields."""
    repeated = yaml_.duplicates(data)
    if not repeated:
        return
    problem = f"error converting YAML to JSON: {repeated}"
    if strictness.mode == "Strict":
        raise errors.bad_request(f"error strict decoding YAML: {problem}")
    strictness.add_warnings([problem])


def _check_new(resource: Resource, target: ResourceTarget, obj: Object) -> None:
    """An object that apply creates must not have a uid. Raises ApiError 409."""
    uid = (obj.get("metadata") or {}).get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise errors.conflict(resource.group, resource.plural, target.name, why)


def applying(
    tools: VerbContext, request: Request, target: ResourceTarget, context: Context, options: WriteOptions, data: bytes
) -> Transform:
    """The transform of a server-side apply."""
    resource = target.resource
    strictness = tools.strictness(options, context.warn)

    async def applied(live: Object | None) -> Object:
        # A missing object is reported before errors in the configuration.
        config = await tools.aside(len(data), _config, data)
        if live is None:
            await tools.authorize(request, "create")

        def merge(target: ownership.OwnershipTarget) -> Object:
            return ownership.on_apply(
                target, live, config, manager=options.manager, force=bool(options.force), now=context.now
            )

        merged = await tools.run_with_conversions(context, merge)
        if strictness.looks:
            _check_repeated(data, strictness)
        if merged is live:
            return merged
        bounds.check_json(json_.encode(merged))
        if live is None:
            _check_new(resource, target, merged)
        check_name(target, merged)
        return tools.canonicalize(merged, resource)

    return applied
