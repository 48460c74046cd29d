"""`Transformer`: the object that an operation makes of the current one, in the requested version, before admission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import assert_never

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds import bounds, fields
from orchd.kinds.canonical import canonicalize
from orchd.kinds.catalog import Resource
from orchd.kinds.fields import with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.patch import decode_result
from orchd.kinds.patch.patch_errors import describe, server_error, unconvertible
from orchd.server.registry.apply_configuration import check_duplicates, decode_configuration
from orchd.server.registry.field_management import FieldManagement
from orchd.server.registry.interfaces import Context, StrategyOf
from orchd.server.registry.object_store import ObjectStore
from orchd.server.registry.operations import Apply, Create, Edit, Patch, Replace, Write, check_name
from orchd.server.registry.patches import apply_patch
from orchd.txkit.compute_thread import ComputeThread


class Transformer:
    """Operations as functions of the current object. Nothing is stored; objects are in the requested version."""

    def __init__(self, access: ObjectStore, strategies: StrategyOf, compute: ComputeThread) -> None:
        self._access = access
        self._compute = compute
        self._fields = FieldManagement(access, strategies, compute)
        self._custom_applied = replace(access.settings, keep_nulls=True)

    async def transform(self, context: Context, operation: Write, live: Object | None) -> Object:
        """The new object with canonical shape, defaults and managedFields. `live` is None if the object does not exist,
        which Create, Replace and Apply accept. Raises ApiError."""
        match operation:
            case Create():
                return await self._fields.update(context, None, operation.obj)
            case Replace():
                return await self._fields.update(context, live, operation.obj)
            case Patch():
                return await self._patch(context, operation, live)
            case Apply():
                return await self._apply(context, operation, live)
            case Edit():
                assert live is not None
                return await operation.change(live)
        assert_never(operation)

    async def _patch(self, context: Context, operation: Patch, live: Object | None) -> Object:
        assert live is not None
        access = self._access
        earlier = live if context.stored_canonical else None
        changed = await self._compute(
            context.size, apply_patch, operation, context.resource, live, access.catalog(), access.settings, earlier
        )
        check_name(operation.name, context.namespace, changed, access.settings.release)
        return await self._fields.update(context, live, changed, patched=True)

    async def _apply(self, context: Context, operation: Apply, live: Object | None) -> Object:
        # A missing object is reported before errors in the configuration.
        config = await self._compute(len(operation.data), decode_configuration, operation.data)
        merged = await self._fields.apply(context, live, config, force=operation.force)
        if operation.strictness.checks:
            await self._compute(len(operation.data), check_duplicates, operation.data, operation.strictness)
        if merged is live:
            return merged
        await self._compute(context.size, bounds.check_object, merged)
        if live is None:
            _check_new(context, operation, merged)
        check_name(operation.name, context.namespace, merged, self._access.settings.release)
        earlier, resource = live if context.stored_canonical else None, context.resource

        def refuse(why: str) -> ApiError:
            reason = unconvertible(resource.api_version, resource.kind, why)
            return server_error(
                f"failed to convert new object ({describe(resource.api_version, config)}) to proper version: {reason}"
            )

        if resource.custom:
            return await self._compute(
                context.size, _canonicalize_custom, merged, resource, self._custom_applied, earlier
            )
        canonical = partial(_canonicalize_applied, config, refuse=refuse)
        return await self._compute(context.size, canonical, merged, resource, self._access.settings, earlier)


def _canonicalize_custom(
    merged: Object, resource: Resource, settings: ObjectSettings, earlier: Object | None
) -> Object:
    """The canonical form of an applied custom object, without the members of its metadata that do not fit their types.
    Nulls without a default remain, where bodies of other requests lose those that their schemas do not allow."""
    try:
        return canonicalize(merged, resource, settings, earlier)
    except ApiError:
        merged_metadata = merged["metadata"]
        metadata = {k: v for k, v in merged_metadata.items() if shape.fits({"metadata": {k: v}}, resource.type)}
        if len(metadata) == len(merged_metadata):
            raise
        return canonicalize({**merged, "metadata": metadata}, resource, settings, earlier)


def _canonicalize_applied(
    config: Object,
    merged: Object,
    resource: Resource,
    settings: ObjectSettings,
    earlier: Object | None,
    *,
    refuse: Callable[[str], ApiError],
) -> Object:
    """The canonical form of an object after `config` was applied. Its numbers are converted as those of a patched one:
    integers lose what exceeds their size. Raises what `refuse` makes of the reason why it does not fit its type."""
    sent = fields.metadata(config).get("managedFields")
    if sent:
        # Only what cannot be decoded comes this far.
        canonicalize(with_metadata(merged, managedFields=sent), resource, settings, refuse=refuse)
    try:
        return canonicalize(merged, resource, settings, earlier, refuse=refuse)
    except ApiError:
        try:
            restored = decode_result.restore(merged, resource.type)
        except decode_result.RestoreError as error:
            raise refuse(str(error)) from None
        if restored is merged:
            raise
        return canonicalize(restored, resource, settings, earlier, refuse=refuse)


def _check_new(context: Context, operation: Apply, obj: Object) -> None:
    """An object that apply creates must not have a uid. Raises ApiError 409."""
    uid = fields.metadata(obj).get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise errors.conflict(context.resource.group, context.resource.plural, operation.name, why)
