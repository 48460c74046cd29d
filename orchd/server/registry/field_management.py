"""`FieldManagement`: metadata.managedFields of writes, in every version that a manager of the object used.

The algorithms are pure functions (`orchd.kinds.patch.ownership`, `orchd.kinds.patch.apply`). For kinds with a
conversion webhook they run until a conversion is missing, and again when the webhook has made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.named_types import type_of
from orchd.kinds.objects import convert, shape
from orchd.kinds.objects.owner_references import single_owners
from orchd.kinds.patch import apply, decode_result, ownership
from orchd.kinds.patch.ownership import OwnershipTarget
from orchd.kinds.patch.patch_errors import server_error, unconvertible
from orchd.server.registry.interfaces import Context, StrategyOf
from orchd.server.registry.object_store import ObjectStore
from orchd.server.registry.version_translation import (
    ConversionNeededError,
    VersionTranslation,
    type_of_version,
    version_of,
)
from orchd.txkit.compute_thread import ComputeThread

T = TypeVar("T")


class FieldManagement:
    """Computes managers of fields. Objects are in the requested version."""

    def __init__(self, access: ObjectStore, strategies: StrategyOf, compute: ComputeThread) -> None:
        """`compute` runs work on large objects away from the reactor."""
        self._access = access
        self._strategy = strategies
        self._compute = compute
        self._manages = access.settings.feature("ServerSideApply")
        #: Targets of kinds without a conversion webhook, by resource and subresource, as long as `_catalog` is served.
        self._targets: dict[tuple[Resource, str], OwnershipTarget] = {}
        self._catalog: Catalog | None = None

    async def update(self, context: Context, live: Object | None, obj: Object, *, patched: bool = False) -> Object:
        """`obj`, written over `live` (None: created), with its managedFields; without any if the conversion webhook
        fails for a version that they need, as in the reference: the write itself succeeds. For a `patched` object
        duplicate owner references are removed afterwards."""
        if not patched:
            obj = single_owners(obj, context.warn)
        if not context.resource.custom:
            obj = convert.annotated(obj, self._access.catalog())
        if not self._manages:
            owned = _with_entries(obj, None)
        elif context.resource.converter is None:
            owned = await self._compute(context.size, _update, context, live, obj, self._plain_target(context))
        else:
            try:
                owned = await self._convert(context, lambda target: _update(context, live, obj, target))
            except ApiError:
                owned = _with_entries(obj, None)
        return single_owners(owned, context.warn, admitted=True) if patched else owned

    async def apply(self, context: Context, live: Object | None, config: Object, *, force: bool) -> Object:
        """`config` applied to `live` (None: created), with managedFields, before defaulting; `live` itself if nothing
        changes. Raises ApiError as `apply.on_apply`, and 500 for failed conversions."""

        def merge(target: OwnershipTarget) -> Object:
            return apply.on_apply(target, live, config, manager=context.manager, force=force, now=context.now)

        if context.resource.converter is None:
            return await self._compute(context.size, merge, self._plain_target(context))
        return await self._convert(context, merge)

    async def _convert(self, context: Context, work: Callable[[OwnershipTarget], T]) -> T:
        """Run `work` over managed fields whose versions may need a webhook: it is called again with the missing
        conversions. Raises ApiError 500 for failed conversions."""
        translations = VersionTranslation()
        target = self._target(context, translations)
        while True:
            try:
                return await self._compute(context.size, work, target)
            except ConversionNeededError as wanted:
                (converted,) = await self._access.versions.to_requested(wanted.resource, [wanted.object])
                translations.add(wanted, converted)

    def _plain_target(self, context: Context) -> OwnershipTarget:
        """The target of a write of a kind without a conversion webhook: it depends on the endpoint alone."""
        catalog = self._access.catalog()
        if catalog is not self._catalog:
            self._catalog = catalog
            self._targets.clear()
        key = context.resource, context.subresource
        target = self._targets.get(key)
        if target is None:
            target = self._targets[key] = self._target(context, None)
        return target

    def _target(self, context: Context, translations: VersionTranslation | None) -> OwnershipTarget:
        """The inputs of the field management algorithms for a write."""
        catalog, resource = self._access.catalog(), context.resource
        served = _ServedVersions(catalog, resource, translations)
        return OwnershipTarget(
            dialect=self._access.dialect,
            type=resource.type,
            kind=resource.kind,
            api_version=resource.api_version,
            subresource=context.subresource,
            reset=self._strategy(resource).reset_fields(context.subresource),
            resets_all_versions=not resource.custom,
            convert=served.convert,
            types=served.type,
            kinds=lambda kind: type_of(catalog, resource.api_version, kind),
            release=self._access.settings.release,
        )


class _ServedVersions:
    """The versions of a kind that managed fields may name."""

    def __init__(self, catalog: Catalog, resource: Resource, translations: VersionTranslation | None) -> None:
        """Without `translations` versions that a webhook converts count as not served."""
        self._catalog = catalog
        self._resource = resource
        self._translations = translations

    def type(self, version: str) -> Type | None:
        served = self._catalog.kind(version, self._resource.kind)
        return type_of_version(self._resource, version) if served is None else served.type

    def convert(self, obj: Object, version: str) -> Object | None:
        served = self._catalog.kind(version, self._resource.kind) or version_of(self._resource, version)
        if served is None:
            return None
        if served.converter is None:
            # What a custom kind's version does not declare is no reason to prune here: managers may own it in another
            # one.
            return {**obj, "apiVersion": version} if served.custom else self._convert(obj, version)
        return None if self._translations is None else self._translations.find(served, obj)

    def _convert(self, obj: Object, version: str) -> Object:
        """Raises ApiError 500 for a merged object that does not fit its type."""
        api_version, kind = obj["apiVersion"], self._resource.kind
        try:
            if not convert.same_form(kind, api_version, version, self._catalog):
                # Conversions rely on canonical shape, which the result of an apply does not have yet.
                type_ = self.type(api_version)
                obj = obj if type_ is None else decode_result.shape_applied(obj, type_)
            return convert.convert(obj, version, self._catalog)
        except (shape.ShapeError, decode_result.RestoreError) as error:
            raise server_error(
                f"failed to convert new object: {unconvertible(api_version, kind, str(error))}"
            ) from None


def _update(context: Context, live: Object | None, obj: Object, target: OwnershipTarget) -> Object:
    if context.subresource == "ephemeralcontainers" and live is not None:
        return target.release.choose(_EPHEMERAL)(context, live, obj, target)
    return _tracked(context, live, obj, target)


def _untracked(context: Context, live: Object, obj: Object, target: OwnershipTarget) -> Object:
    """Managers of debug containers are not tracked."""
    return _with_entries(obj, live["metadata"].get("managedFields"))


def _tracked(context: Context, live: Object | None, obj: Object, target: OwnershipTarget) -> Object:
    return _with_entries(obj, ownership.on_write(target, live, obj, manager=context.manager, now=context.now))


#: How managers of debug containers are recorded, from a release on.
_EPHEMERAL: Final = (("", _untracked), ("1.25", _tracked))


def _with_entries(obj: Object, entries: list[Object] | None) -> Object:
    """`obj` with these managedFields; without the member if there are none."""
    metadata = dict(fields.metadata(obj))
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)
    return {**obj, "metadata": metadata}
